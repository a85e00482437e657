/// Finds a target's entries: exact hosts by hash, then wildcards by suffix, label by label.
struct RouteTable: Sendable {
  private struct Key: Hashable {
    var host: String
    var port: UInt16
    var isHTTPS: Bool
  }

  // Of matches without a scheme.
  private let exact: [Key: HostRoutes]
  private let wildcard: [Key: HostRoutes]
  // Of https:// matches.
  private let secureExact: [Key: HostRoutes]
  private let secureWildcard: [Key: HostRoutes]

  init(_ entries: [RoutedEntry]) {
    (exact, wildcard) = Self.table(entries, .http)
    (secureExact, secureWildcard) = Self.table(entries, .https)
  }

  private static func table(
    _ entries: [RoutedEntry], _ scheme: Match.Scheme
  ) -> (exact: [Key: HostRoutes], wildcard: [Key: HostRoutes]) {
    var exact: [Key: [HostRoutes.Source]] = [:]
    var wildcard: [Key: [HostRoutes.Source]] = [:]
    for (index, entry) in entries.enumerated() {
      for (place, match) in entry.matches.enumerated() where match.scheme == scheme {
        let source = HostRoutes.Source(
          place: RoutePlace(entry: index, match: place), match: match, clients: entry.clients,
          hasOriginPath: !entry.originPath.isEmpty)
        for key in keys(match) {
          if match.isWildcard { wildcard[key, default: []].append(source) } else { exact[key, default: []].append(source) }
        }
      }
    }
    return (exact.mapValues(HostRoutes.init), wildcard.mapValues(HostRoutes.init))
  }

  private static func keys(_ match: Match) -> [Key] {
    switch match.scheme {
    case .https: [Key(host: match.host, port: match.port ?? 443, isHTTPS: true)]
    case .http:
      // No port in `match`: 80, and 443 for https:// targets.
      match.port.map { port in [false, true].map { Key(host: match.host, port: port, isHTTPS: $0) } }
        ?? [Key(host: match.host, port: 80, isHTTPS: false), Key(host: match.host, port: 443, isHTTPS: true)]
    }
  }

  /// What came in the clear: an https:// target goes to the entries for https:// if the host has some.
  /// - Parameter host: lower-case, without a trailing dot.
  func find(host: String, port: UInt16, isHTTPS: Bool) -> HostRoutes? {
    if isHTTPS, let found = findSecure(host: host, port: port) { return found }
    return findPlain(host: host, port: port, isHTTPS: isHTTPS)
  }

  /// The entries whose match has no scheme.
  func findPlain(host: String, port: UInt16, isHTTPS: Bool) -> HostRoutes? {
    var key = Key(host: host, port: port, isHTTPS: isHTTPS)
    if let found = exact[key] { return found }
    if wildcard.isEmpty { return nil }
    return Self.find(&key, below: host, in: wildcard)
  }

  /// The entries for https:// alone.
  func findSecure(host: String, port: UInt16) -> HostRoutes? {
    var key = Key(host: host, port: port, isHTTPS: true)
    if let found = secureExact[key] { return found }
    if secureWildcard.isEmpty { return nil }
    return Self.find(&key, below: host, in: secureWildcard)
  }

  /// The longest suffix first, label by label.
  private static func find(_ key: inout Key, below host: String, in table: [Key: HostRoutes]) -> HostRoutes? {
    var rest = host[...]
    while let dot = rest.firstIndex(of: ".") {
      rest = rest[rest.index(after: dot)...]
      key.host = String(rest)
      if let found = table[key] { return found }
    }
    return nil
  }
}
