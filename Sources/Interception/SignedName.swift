import TLS

/// A name that an authority must be able to sign for.
public struct SignedName: Sendable, Hashable {
  /// Of a wildcard the name behind the star: all below it are meant.
  public var host: PeerName
  public var isWildcard: Bool

  public init(host: String, isWildcard: Bool = false) {
    self.host = PeerName(host)
    self.isWildcard = isWildcard
  }

  /// As it is written in a match.
  public var text: String { isWildcard ? "*." + host.text : host.text }
}

extension SigningCAs {
  /// The first that may sign for the name, or for all names below it, and has not expired.
  /// - Parameter now: seconds since 1970.
  public func signer(for name: SignedName, at now: Int64) -> SigningCA? {
    name.isWildcard ? signer(forNamesBelow: name.host.text, at: now) : signer(for: name.host, at: now)
  }
}

extension SignedName {
  /// Whether a CA for it could sign for every host below a top-level domain.
  /// - Parameter isExact: a match is for this very host.
  public func isUnbounded(isExact: Bool) -> Bool { host.address == nil && !host.text.contains(".") && !isExact }
}
