/// `host[:port][/path/prefix]`: the requests that an upstream entry serves.
public struct Match: Sendable, Hashable {
  /// Lower-case, without trailing dot; without `*.` if `isWildcard`.
  public var host: String
  public var isWildcard: Bool
  /// nil: 80, and 443 for https:// targets.
  public var port: UInt16?
  /// "" or "/v1/x": begins with a slash and does not end with one.
  public var pathPrefix: String
  public init(host: String, isWildcard: Bool = false, port: UInt16? = nil, pathPrefix: String = "") {
    self.host = host
    self.isWildcard = isWildcard
    self.port = port
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
}
