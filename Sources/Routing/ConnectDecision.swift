import HTTPWire

/// What becomes of a CONNECT. Decided before its 200, by the most specific pattern; what follows the 200 cannot change it (a reload
/// can: `beginDeferredTunnel`, `prepare` and `routeInside` ask again). `ClientConnection.parse` tells TLS from clear HTTP.
public enum ConnectDecision: Sendable {
  /// Opaque from the first byte on.
  case tunnel
  /// No tunnel yet: the first byte tells TLS from clear HTTP.
  case served(ServedConnect)
}

/// What may follow the 200 of a CONNECT that is no mere tunnel.
public struct ServedConnect: Sendable {
  public enum TLS: Sendable {
    /// The proxy answers the handshake itself; requests inside are for these entries.
    case intercepted(HostRoutes)
    /// The handshake is for the real host.
    case tunnelled
    /// The connection is closed.
    case refused
  }
  /// What a ClientHello is met with.
  public var tls: TLS
  /// Clear HTTP is for these entries; nil: its requests are answered 403.
  public var clear: HostRoutes?
}

extension Router {
  /// The decision for a client.
  ///
  /// Among the entries for https:// and `connect.allow` the most specific pattern wins, host before port. Entries for other clients do
  /// not count, neither does a pattern that the client may not reach: but where an entry wins that the client may not use, it gets no
  /// tunnel instead.
  /// - Parameter host: lower-case, without a trailing dot and brackets.
  /// - Throws: if neither TLS nor clear HTTP may follow.
  public func decideConnect(
    host: String, port: UInt16, for client: ClientIdentity
  ) throws(RoutingError) -> ConnectDecision {
    let tunnel = tunnelPattern(host: host, port: port)
    let clear = find(host: host, port: port, isHTTPS: false).flatMap { mayReach($0, client) ? $0 : nil }
    if let https = httpsEntries(host: host, port: port, for: client), let match = pattern(of: https),
      tunnel.map({ $0.isLessSpecific(than: match) }) ?? true
    {
      guard !usableEntries(of: https, for: client).isEmpty else {
        // Clear HTTP is another entry's, and may go on.
        guard let clear else { throw .notAllowed(client: client.name, upstream: host) }
        return .served(ServedConnect(tls: .refused, clear: clear))
      }
      return .served(ServedConnect(tls: .intercepted(https), clear: clear))
    }
    let mayTunnel = tunnel != nil && client.mayReach(host: host, port: port)
    if let clear { return .served(ServedConnect(tls: mayTunnel ? .tunnelled : .refused, clear: clear)) }
    guard find(host: host, port: port, isHTTPS: false) == nil else { throw .notAllowed(client: client.name, upstream: host) }
    try checkTunnel(host: host, port: port, for: client)
    return .tunnel
  }

  /// Those of a host's entries that the client may use.
  public func usableEntries(of host: HostRoutes, for client: ClientIdentity) -> [Int] {
    host.routes.filter { $0.serves(client.name) && client.mayReach(entry: entries[$0.entry].name) }.map(\.entry)
  }

  /// The most specific pattern of `connect.allow` for a host and port.
  public func tunnelPattern(host: String, port: UInt16) -> HostPattern? {
    connectAllow.filter { $0.matches(host: host, port: port) }.max { $0.isLessSpecific(than: $1) }
  }

  /// Host and port of the https:// matches that were found together.
  public func pattern(of routes: HostRoutes) -> HostPattern? {
    routes.routes.first.map { entries[$0.entry].matches[$0.place.match].pattern }
  }

  /// Entries for https:// of which one at least serves the client.
  private func httpsEntries(host: String, port: UInt16, for client: ClientIdentity) -> HostRoutes? {
    guard let routes = findIntercepted(host: host, port: port), routes.routes.contains(where: { $0.serves(client.name) }) else {
      return nil
    }
    return routes
  }

  /// Whom an entry serves, its requests are told one by one.
  private func mayReach(_ routes: HostRoutes, _ client: ClientIdentity) -> Bool {
    routes.routes.contains { client.mayReach(entry: entries[$0.entry].name) }
  }
}

extension HostPattern {
  /// Of two patterns for one host and port: a host before a wildcard, a longer wildcard before a shorter one, then a port before any.
  func isLessSpecific(than other: HostPattern) -> Bool {
    if isWildcard != other.isWildcard { return isWildcard }
    if host.utf8.count != other.host.utf8.count { return host.utf8.count < other.host.utf8.count }
    return port == nil && other.port != nil
  }
}
