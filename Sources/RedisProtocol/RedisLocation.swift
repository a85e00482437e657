/// Where the store's primary is, or who knows it.
public enum RedisLocation: Sendable, Hashable, CustomStringConvertible {
  case server(RedisAddress)
  /// Whoever is the primary of this name, as these Sentinels say; it is reached as they are, with or without TLS.
  case sentinels([RedisAddress], name: String, login: RedisLogin?)

  /// `redis://host:6379` or `sentinel mymaster`.
  public var description: String {
    switch self {
    case .server(let address): "\(address)"
    case .sentinels(_, let name, _): "sentinel \(name)"
    }
  }

  /// Whether servers are spoken to over TLS: all have one scheme.
  public var isTLS: Bool {
    switch self {
    case .server(let address): address.isTLS
    case .sentinels(let addresses, _, _): addresses.contains(where: \.isTLS)
    }
  }
}
