/// What a `via` says.
public enum Via: Sendable, Hashable {
  /// In the order of preference, at least one.
  case ways([WayTable.Name])
  /// What the variables of the proxy's own process said when the configuration was loaded.
  case environment
}

/// Which ways a host takes. Built once from the configuration.
public struct WayTable: Sendable, Hashable {
  public enum Name: Sendable, Hashable {
    case direct
    /// Index in `Settings.parents`.
    case parent(Int)
  }

  /// An item of `routes`.
  public struct Route: Sendable, Hashable {
    public var patterns: [WayPattern]
    public var via: Via
    public init(patterns: [WayPattern], via: Via) {
      self.patterns = patterns
      self.via = via
    }
  }

  /// What decided, for `explain`.
  public struct Rule: Sendable, Hashable {
    public enum Key: Sendable, Hashable {
      /// `via` of the entry.
      case entry
      /// This item of `routes`.
      case route(Int)
      /// `via` of the file, or its default.
      case via
    }
    public var key: Key
    /// nil: the key names its ways.
    public var variable: Environment.Rule?
    public init(_ key: Key, variable: Environment.Rule? = nil) {
      self.key = key
      self.variable = variable
    }
  }

  public var via: Via
  public var routes: [Route]
  public var environment: Environment

  public init(via: Via = .ways([.direct]), routes: [Route] = [], environment: Environment = Environment()) {
    self.via = via
    self.routes = routes
    self.environment = environment
  }

  /// Whether no host takes another way, apart from entries with a `via` of their own.
  public var isDirect: Bool { routes.isEmpty && via == .ways([.direct]) }

  /// - Parameters:
  ///   - host: lower-case, without a trailing dot and brackets.
  ///   - address: of a host that is a literal address: 16 bytes, IPv4 mapped.
  ///   - isTLS: an https:// origin, or a tunnel of the app. Only `environment` asks.
  ///   - entry: the entry's own `via`, which knows no `routes`.
  /// - Returns: at least one way, in the order of preference.
  public func ways(
    host: String, address: [UInt8]?, port: UInt16, isTLS: Bool, via entry: Via? = nil
  ) -> (ways: [Name], rule: Rule) {
    if let entry { return resolved(entry, .entry, host, address, port, isTLS) }
    for (index, route) in routes.enumerated()
    where route.patterns.contains(where: { $0.matches(host: host, address: address, port: port) }) {
      return resolved(route.via, .route(index), host, address, port, isTLS)
    }
    return resolved(via, .via, host, address, port, isTLS)
  }

  private func resolved(
    _ via: Via, _ key: Rule.Key, _ host: String, _ address: [UInt8]?, _ port: UInt16, _ isTLS: Bool
  ) -> (ways: [Name], rule: Rule) {
    switch via {
    case .ways(let names): return (names, Rule(key))
    case .environment:
      let (name, rule) = environment.way(host: host, address: address, port: port, isTLS: isTLS)
      return ([name], Rule(key, variable: rule))
    }
  }
}
