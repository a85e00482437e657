import HTTPWire

/// A URL to which a secret may go.
public struct EndpointURL: Sendable, Hashable {
  public enum Problem: Error, Sendable, Hashable {
    case malformed
    /// RFC 6749 section 3.2: a token endpoint has no fragment. User information would be another place for secrets.
    case fragmentOrUserInformation
    /// http is allowed on loopback only (RFC 6749 section 3.2 requires TLS).
    case notHTTPS
    /// http, even on loopback, has no place for a client certificate.
    case withoutCertificate
  }

  private let url: HTTPURL

  /// Path and query, from the first `/`; empty if there are none.
  var pathAndQuery: String { url.pathAndQuery }
  var isHTTPS: Bool { url.isHTTPS }
  var origin: String { (url.isHTTPS ? "https://" : "http://") + url.authority }

  public init(_ text: String) throws(Problem) {
    guard text.utf8.count <= 2048, text.utf8.allSatisfy({ $0 != UInt8(ascii: "\\") && $0 != UInt8(ascii: "\"") }) else {
      throw .malformed
    }
    do throws(HeadError) { url = try HTTPURL(text) } catch {
      switch error {
      case .userinfo, .fragment: throw .fragmentOrUserInformation
      case .scheme: throw .notHTTPS
      default: throw .malformed
      }
    }
    guard url.isHTTPS || url.isLoopback else { throw .notHTTPS }
  }
}

extension EndpointURL.Problem: CustomStringConvertible {
  public var description: String {
    switch self {
    case .malformed: "it is not an absolute URL"
    case .fragmentOrUserInformation: "it has a fragment or user information"
    case .notHTTPS: "it is not https, and not loopback"
    case .withoutCertificate: "it is not https, so the client certificate cannot be presented"
    }
  }
}
