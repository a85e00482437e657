import Crypto

/// The key that tokens are bound to (RFC 9449). A configured one never changes. A generated one is in the record beside the
/// refresh token: processes with the same store share it, and it outlives a restart.
extension OAuth2Machine {
  /// What requests send; nil if the token cannot be sent.
  func content(of token: Secret) -> RenderedContent? {
    switch policy.source {
    case .aws?: return AWSKeys(token: token).map { .material(.awsKeys($0)) }
    case .githubApp(let app)? where app.scheme == .basic:
      return (try? CredentialRenderer.basic(username: GitHubApp.userName, password: token)).map { .field($0) }
    case .githubApp?, .cloudIdentity?, nil: break
    }
    guard !lacksKey else { return nil }
    return (try? CredentialRenderer.token(token, as: policy.tokenScheme)).map { .field($0) }
  }

  func proof(for token: Secret) -> TokenProof? { policy.dpop == nil ? nil : dpopKey.map { TokenProof($0, for: token) } }

  /// For the record; nil: a record has none.
  var generatedKey: Secret? { policy.dpop == .generated ? try? dpopKey?.stored() : nil }

  /// Takes over the key of a record whose tokens this machine takes over. If the key is gone or damaged, there is none: the tokens are
  /// not bound to the one that this machine had before.
  mutating func takeKey(of record: TokenRecord) {
    guard policy.dpop == .generated, record.refreshToken != nil || record.accessToken != nil else { return }
    dpopKey = record.dpopKey.flatMap { try? DPoPKey(stored: $0) }
  }

  var lacksKey: Bool { policy.dpop != nil && dpopKey == nil }

  /// Ends a flight that could send the refresh token without a proof only.
  mutating func failWithoutKey(_ now: Int64) {
    let text = "the key that its tokens are bound to (dpop) is lost"
    if hasLogin { return needLogin(text, refused: false) }
    fail("\(TokenFailure.store(text))", retryAfter: nil, needsOperator: true, now)
  }
}
