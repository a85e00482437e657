import HTTPWire

/// A URL that a secret may be sent to.
public struct EndpointURL: Sendable, Hashable {
  public enum Problem: Error, Sendable, Hashable {
    case malformed
    /// RFC 6749 section 3.2: a token endpoint has no fragment; user information would be a second place for secrets.
    case fragmentOrUserInformation
    /// http is for loopback alone (RFC 6749 section 3.2 demands TLS).
    case notHTTPS
  }

  private let url: HTTPURL

  /// From the first `/` on, with the query; empty where there is none.
  var pathAndQuery: String { url.pathAndQuery }
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
    }
  }
}
