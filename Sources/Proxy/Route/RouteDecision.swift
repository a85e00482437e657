import HTTPWire
import Settings

/// The decisions about a request that need neither connection nor clock: taken on the loop for every request, and told by
/// `Explanation` to whoever asks.
extension Snapshot {
  /// The entry that serves a request of this client, or why none does.
  /// - Parameters:
  ///   - route: what the table has for host and port.
  ///   - bytes: what `path` points into.
  func entry(
    _ route: RouteTable.Host?, method: Method, host: String, port: UInt16, path: Slice, in bytes: UnsafeRawBufferPointer,
    for access: ClientIdentity
  ) throws(ProxyError) -> Entry {
    var found: Entry?
    if let route {
      found = route.entry(forPath: path.bytes(in: bytes), client: access.name)
      if route.hasPrefixes {
        do { try checkReadings(of: path, in: bytes, route, found, access) } catch { throw .malformed(error) }
      }
    }
    guard let entry = found ?? unlisted else { throw .hostNotListed(host: host) }
    guard access.mayReach(entry, host: host, port: port) else {
      throw .notAllowed(client: access.name, upstream: entry.isUnlisted ? host : entry.name)
    }
    if method == .trace, entry.credential != nil { throw .traceWithCredential }
    return entry
  }

  /// A prefix is a boundary: no spelling of a path leads to one entry here and to another one's part of the origin there.
  private func checkReadings(
    of path: Slice, in bytes: UnsafeRawBufferPointer, _ route: RouteTable.Host, _ found: Entry?, _ access: ClientIdentity
  ) throws(HeadError) {
    let isPlain = try checkPath(path, in: bytes)
    let other = try route.reading(of: path.bytes(in: bytes), notFor: found, client: access.name, isPlain: isPlain)
    if other != nil { throw .pathOfTwoEntries }
  }

  /// Where a request that the entry serves really goes.
  func origin(of entry: Entry, host: String, port: UInt16, isHTTPS: Bool) -> Origin {
    if let origin = entry.origin { return origin }
    // A wildcard or unlisted host: an origin of its own. What is listed goes to https, what is not as the app asked.
    let https = entry.isUnlisted ? isHTTPS : true
    return Snapshot.origin(
      .init(scheme: https ? .https : .http, host: host, port: entry.isUnlisted ? port : 443),
      entry.trust ?? defaultTrust, entry.identity, checksAddresses: true)
  }

  enum ConnectWay {
    /// No tunnel: clear HTTP follows, for these entries.
    case entries(RouteTable.Host)
    case tunnel
  }

  /// CONNECT: to an entry's host and port it is no tunnel but a way to that entry; elsewhere a tunnel where that is allowed.
  func wayOfConnect(host: String, port: UInt16, for access: ClientIdentity) throws(ProxyError) -> ConnectWay {
    if let route = routes.find(host: host, port: port, isHTTPS: false) {
      guard route.entries.contains(where: { access.mayReach($0, host: host, port: port) }) else {
        throw .notAllowed(client: access.name, upstream: host)
      }
      return .entries(route)
    }
    try checkTunnel(host: host, port: port, for: access)
    return .tunnel
  }

  func checkTunnel(host: String, port: UInt16, for access: ClientIdentity) throws(ProxyError) {
    guard settings.connectAllow.contains(where: { $0.matches(host: host, port: port) }) else {
      throw .connectNotAllowed(target: Authority.text(host: host, port: port, defaultPort: 0))
    }
    guard access.mayTunnel(host: host, port: port) else { throw .notAllowed(client: access.name, upstream: host) }
  }
}
