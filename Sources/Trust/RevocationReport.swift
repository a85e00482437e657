import TLS

/// An answer about revocation, or its absence, for people and scripts.
public struct RevocationReport: Sendable, Hashable {
  public enum State: String, Sendable, Hashable {
    case good, revoked
    /// A list: it answers for all certificates of its issuer.
    case list
    /// It has expired, and no newer one came.
    case stale
    /// Nobody answered, or the answer was unusable.
    case unknown
  }
  public enum Source: String, Sendable, Hashable { case ocsp, crl }

  public var source: Source
  public var state: State
  /// Subject of the certificate; of a list, its issuer.
  public var subject: String
  /// Scheme, host and port of the URL that was asked.
  public var responder: String
  /// Seconds since 1970; nil: no answer came.
  public var fetched: Int64?
  /// When the answer stops counting.
  public var expires: Int64?
  /// Earliest time of the next attempt; nil: none failed.
  public var retry: Int64?
}

extension RevocationReport {
  /// - Parameter url: its path may be long, and its userinfo secret.
  static func responder(_ url: String) -> String {
    let parts = url.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, parts[1].isEmpty else { return "" }
    let authority = parts[2].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    let host = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
    return "\(parts[0])//\(host)"
  }
}
