import Credentials

/// `http_version` of an entry: what ALPN offers its origin, and whether it offers HTTP/2 to apps in intercepted TLS. The origin chooses for
/// each connection, so this says nothing about one.
public enum HTTPVersion: String, Sendable, Hashable, CaseIterable {
  /// HTTP/2 is never offered.
  case http1 = "1.1"
  /// Both are offered.
  case auto
  /// Only HTTP/2 is offered; an origin without it is an error.
  case http2 = "2"
}

extension UpstreamSettings {
  /// What holds for the entry's connections: HTTP/2 needs TLS, and no credential that is bound to its connection.
  /// - Parameter credential: the entry's.
  public func httpVersion(with credential: CredentialPolicy?) -> HTTPVersion {
    guard origin.scheme == .https else { return .http1 }
    if case .negotiate? = credential?.kind { return .http1 }
    return httpVersion
  }
}
