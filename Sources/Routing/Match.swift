/// `[https://]host[:port][/path/prefix]`: the requests that an upstream entry serves.
public struct Match: Sendable, Hashable {
  /// Of the URLs that apps ask for.
  public enum Scheme: String, Sendable, Hashable {
    /// No scheme is written: http:// URLs, and https:// ones that come in the clear.
    case http
    /// https:// URLs, with TLS to the proxy.
    case https
  }
  public var scheme: Scheme
  /// Lower-case, without trailing dot; without `*.` if `isWildcard`.
  public var host: String
  public var isWildcard: Bool
  /// nil: 80, and 443 for https:// targets. Never nil if the scheme is https.
  public var port: UInt16?
  /// "" or "/v1/x": begins with a slash and does not end with one.
  public var pathPrefix: String
  public init(
    scheme: Scheme = .http, host: String, isWildcard: Bool = false, port: UInt16? = nil, pathPrefix: String = ""
  ) {
    self.scheme = scheme
    self.host = host
    self.isWildcard = isWildcard
    self.port = scheme == .https ? port ?? 443 : port
    self.pathPrefix = pathPrefix
  }

  /// Compares the host only; the table compares port and path.
  /// - Parameter host: lower-case, without a trailing dot and brackets.
  public func matches(host bytes: UnsafeRawBufferPointer) -> Bool {
    HostPattern.matches(bytes, host: host, isWildcard: isWildcard)
  }

  public func matches(host: String) -> Bool {
    var host = host
    return host.withUTF8 { matches(host: UnsafeRawBufferPointer($0)) }
  }

  /// Tells it from every other match.
  public var text: String {
    "\(scheme.rawValue)://\(isWildcard ? "*." : "")\(host):\(port.map { String($0) } ?? "")\(pathPrefix)"
  }

  /// The host and port, without the path.
  public var pattern: HostPattern { HostPattern(host: host, isWildcard: isWildcard, port: port) }
}
