import Crypto

extension OAuth2Policy {
  /// `dpop:`.
  public enum DPoP: Sendable, Hashable {
    /// A key of the proxy's own: for a stored grant it is in the token store, otherwise in memory.
    case generated
    case key(DPoPKey)
  }

  /// The key of a login that begins now; nil without `dpop`.
  public func keyForLogin() throws(OpenSSLError) -> DPoPKey? {
    switch dpop {
    case nil: nil
    case .generated?: try .generated()
    case .key(let key)?: key
    }
  }

  /// The key of a process that has seen no record: the configured one, or a new one. A login brings its own. nil without `dpop`.
  public var keyWithoutStore: DPoPKey? {
    switch dpop {
    case nil: nil
    case .generated?: login == nil ? try? .generated() : nil
    case .key(let key)?: key
    }
  }

  /// What `token_type` must be.
  var tokenScheme: TokenScheme { dpop == nil ? .bearer : .dpop }
}
