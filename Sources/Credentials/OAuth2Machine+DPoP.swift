import Crypto

/// The key that tokens are bound to (RFC 9449). A configured one never changes. A generated one is in the record beside the
/// refresh token: processes with the same store share it, and it outlives a restart.
extension OAuth2Machine {
  /// The field that requests send; nil if the token cannot be sent.
  func field(of token: Secret) -> RenderedField? {
    guard policy.dpop == nil || dpopKey != nil else { return nil }
    return try? CredentialRenderer.token(token, as: policy.tokenScheme)
  }

  func proof(for token: Secret) -> TokenProof? { policy.dpop == nil ? nil : dpopKey.map { TokenProof($0, for: token) } }

  /// For the record; nil: a record has none.
  var generatedKey: Secret? { policy.dpop == .generated ? try? dpopKey?.stored() : nil }

  /// Takes over the key of a record whose tokens this machine takes over.
  mutating func takeKey(of record: TokenRecord) {
    guard policy.dpop == .generated, let stored = record.dpopKey, let key = try? DPoPKey(stored: stored) else { return }
    dpopKey = key
  }
}
