/// Finds a target's entries: exact hosts by hash, then wildcards by suffix, label by label.
struct RouteTable: Sendable {
  private struct Key: Hashable {
    var host: String
    var port: UInt16
    var isHTTPS: Bool
  }

  private let exact: [Key: HostRoutes]
  private let wildcard: [Key: HostRoutes]

  init(_ entries: [RoutedEntry]) {
    var exact: [Key: [(Int, Match, Set<String>?)]] = [:]
    var wildcard: [Key: [(Int, Match, Set<String>?)]] = [:]
    for (index, entry) in entries.enumerated() {
      let match = entry.match
      // Without a port in `match`: 80, and 443 for https:// targets.
      let keys =
        match.port.map { port in [false, true].map { Key(host: match.host, port: port, isHTTPS: $0) } }
        ?? [Key(host: match.host, port: 80, isHTTPS: false), Key(host: match.host, port: 443, isHTTPS: true)]
      for key in keys {
        if match.isWildcard {
          wildcard[key, default: []].append((index, match, entry.clients))
        } else {
          exact[key, default: []].append((index, match, entry.clients))
        }
      }
    }
    self.exact = exact.mapValues(HostRoutes.init)
    self.wildcard = wildcard.mapValues(HostRoutes.init)
  }

  /// - Parameter host: lower-case, without a trailing dot.
  func find(host: String, port: UInt16, isHTTPS: Bool) -> HostRoutes? {
    var key = Key(host: host, port: port, isHTTPS: isHTTPS)
    if let found = exact[key] { return found }
    if wildcard.isEmpty { return nil }
    var rest = host[...]
    while let dot = rest.firstIndex(of: ".") {
      rest = rest[rest.index(after: dot)...]
      key.host = String(rest)
      if let found = wildcard[key] { return found }
    }
    return nil
  }
}
