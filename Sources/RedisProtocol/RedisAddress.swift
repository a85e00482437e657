/// Where a server of Redis or Valkey, or a Sentinel, listens.
public enum RedisAddress: Sendable, Hashable, CustomStringConvertible {
  /// In clear. A name, or an IP address without brackets.
  case tcp(host: String, port: UInt16)
  case tls(host: String, port: UInt16)
  case unix(path: String)

  /// Of both kinds of server alike.
  public static let defaultPort: UInt16 = 6379

  public var isTLS: Bool { if case .tls = self { true } else { false } }

  /// `redis://host:6379`, `rediss://host:6379` or `unix:/path`.
  public var description: String {
    switch self {
    case .tcp(let host, let port): "redis://\(Self.bracketed(host)):\(port)"
    case .tls(let host, let port): "rediss://\(Self.bracketed(host)):\(port)"
    case .unix(let path): "unix:\(path)"
    }
  }

  private static func bracketed(_ host: String) -> String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host }

  /// Another server that this one named, in a redirection or as the primary. It is reached as this one is: with TLS if this one is.
  /// - Parameter host: empty: this one's.
  /// - Returns: nil: no such host, or this one's is asked for and has none.
  public func other(host: String, port: UInt16) -> RedisAddress? {
    // Whatever resolves names must not meet spaces, NUL or slashes.
    let isHost = host.utf8.count <= 255 && host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "/") }
    guard isHost, port > 0 else { return nil }
    switch self {
    case .tcp(let own, _): return .tcp(host: host.isEmpty ? own : host, port: port)
    case .tls(let own, _): return .tls(host: host.isEmpty ? own : host, port: port)
    case .unix: return host.isEmpty ? nil : .tcp(host: host, port: port)
    }
  }
}
