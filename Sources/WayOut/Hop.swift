/// What health is remembered of: a parent proxy as it is reached, or one of several origins of an entry. Neither its name nor its
/// credential belongs to it, so two names of one endpoint share their health.
public struct Hop: Sendable, Hashable {
  public enum Scheme: String, Sendable, Hashable {
    case http, https
    /// RFC 1928. The proxy resolves names itself, and asks for addresses.
    case socks5
    /// The same, but the parent resolves names.
    case socks5h
    /// No parent: one of several origins of an entry.
    case origin
  }
  public var scheme: Scheme
  /// Lower-case, without brackets.
  public var host: String
  public var port: UInt16
  /// Of an origin: how it is reached and judged. Where one entry cannot reach an origin, or does not trust it, another may. Empty
  /// for a parent.
  public var manner: [UInt8]
  public init(scheme: Scheme, host: String, port: UInt16, manner: [UInt8] = []) {
    self.scheme = scheme
    self.host = host
    self.port = port
    self.manner = manner
  }
}
