import HTTPWire

/// The part of an upstream entry that decides which requests it serves.
public struct RoutedEntry: Sendable {
  public var name: String
  /// At least one.
  public var matches: [Match]
  /// nil: for every client.
  public var clients: Set<String>?
  public var hasCredential: Bool
  /// Takes the place of the match's prefix: "" or "/v1/x".
  public var originPath = "" {
    didSet { originBoundary = OriginBoundary(originPath) }
  }
  fileprivate private(set) var originBoundary = OriginBoundary("")
  public var methods = AllowedMethods.all
  /// All of them lead to the same; empty: nothing asks for them.
  public var origins: [Origin] = []

  /// Where the entry's requests go, for telling whether a URL of an answer is one of its own.
  public struct Origin: Sendable, Hashable {
    public var isHTTPS: Bool
    /// Lower-case, without brackets; "": the request's own host, below a wildcard.
    public var host: String
    public var port: UInt16
    /// The origin's path takes the place of the match's prefix.
    public var changesPath: Bool
    public init(isHTTPS: Bool, host: String, port: UInt16, changesPath: Bool = false) {
      self.isHTTPS = isHTTPS
      self.host = host
      self.port = port
      self.changesPath = changesPath
    }
  }

  public init(name: String, matches: [Match], clients: Set<String>? = nil, hasCredential: Bool = false) {
    self.name = name
    self.matches = matches
    self.clients = clients
    self.hasCredential = hasCredential
  }

  public init(name: String, match: Match, clients: Set<String>? = nil, hasCredential: Bool = false) {
    self.init(name: name, matches: [match], clients: clients, hasCredential: hasCredential)
  }
}

/// Decides where requests go: on the loop for every request, and in `explain`. Made once with the configuration. Needs neither
/// connection nor clock.
public final class Router: Sendable {
  let entries: [RoutedEntry]
  private let table: RouteTable
  /// `unlisted_hosts: forward`.
  private let forwardsUnlisted: Bool
  let connectAllow: [HostPattern]

  /// - Parameter entries: results are indices into it.
  public init(_ entries: [RoutedEntry], forwardsUnlisted: Bool, connectAllow: [HostPattern]) {
    self.entries = entries
    table = RouteTable(entries)
    self.forwardsUnlisted = forwardsUnlisted
    self.connectAllow = connectAllow
  }

  /// The entries of a host and port.
  /// - Parameter host: from `normalisedHost`.
  public func find(host: String, port: UInt16, isHTTPS: Bool) -> HostRoutes? {
    table.find(host: host, port: port, isHTTPS: isHTTPS)
  }

  /// The entry that serves a request of this client, and the match by which the request comes to it; throws the reason if none does.
  /// The index after the last entry means a host that no entry lists.
  /// - Parameters:
  ///   - routes: the result of `find` for host and port.
  ///   - path: without its query.
  ///   - bytes: the bytes that `methodText` and `path` refer to.
  ///   - isBound: the connection was opened for these routes (CONNECT): the request goes nowhere else.
  public func place(
    _ routes: HostRoutes?, method: Method, methodText: ByteSlice, host: String, port: UInt16, isHTTPS: Bool, path: ByteSlice,
    in bytes: UnsafeRawBufferPointer, for client: ClientIdentity, isBound: Bool = false
  ) throws(RoutingError) -> RoutePlace {
    var found: RoutePlace?
    if let routes { found = try look(routes, path, bytes, client) }
    // Entries for https:// come first; what none of them serves is served as if there were none.
    if found == nil, isHTTPS, !isBound, let others = table.findPlain(host: host, port: port, isHTTPS: true) {
      found = try look(others, path, bytes, client)
    }
    guard let found else {
      guard forwardsUnlisted, !isBound else { throw .hostNotListed(host: host) }
      guard client.mayReach(host: host, port: port) else { throw .notAllowed(client: client.name, upstream: host) }
      return RoutePlace(entry: entries.count, match: 0)
    }
    guard client.mayReach(entry: entries[found.entry].name) else {
      throw .notAllowed(client: client.name, upstream: entries[found.entry].name)
    }
    if !entries[found.entry].methods.contains(method, methodText, in: bytes) {
      throw .methodNotAllowed(upstream: entries[found.entry].name, allowed: entries[found.entry].methods.names)
    }
    if method == .trace, entries[found.entry].hasCredential { throw .traceWithCredential }
    return found
  }

  /// Every entry that could serve requests to a host and port, whoever asks.
  /// - Parameter host: from `normalisedHost`.
  public func places(host: String, port: UInt16) -> [RoutePlace] {
    let found = [
      table.findSecure(host: host, port: port), table.findPlain(host: host, port: port, isHTTPS: true),
      table.findPlain(host: host, port: port, isHTTPS: false),
    ]
    return found.flatMap { $0?.routes.map(\.place) ?? [] }
  }

  /// The entries of a host and port for https:// URLs: what a request inside of an intercepted connection may use.
  /// - Parameter host: as `normalisedHost` gives it.
  public func findIntercepted(host: String, port: UInt16) -> HostRoutes? { table.findSecure(host: host, port: port) }

  private func look(
    _ routes: HostRoutes, _ path: ByteSlice, _ bytes: UnsafeRawBufferPointer, _ client: ClientIdentity
  ) throws(RoutingError) -> RoutePlace? {
    let found = routes.place(forPath: path.bytes(in: bytes), client: client.name)
    if routes.checksPaths {
      do { try checkReadings(of: path, in: bytes, routes, found, client) } catch { throw .malformed(error) }
    }
    return found
  }

  /// A prefix is a boundary: no spelling of a path may lead to one entry here, and to another entry's part of the origin there.
  private func checkReadings(
    of path: ByteSlice, in bytes: UnsafeRawBufferPointer, _ routes: HostRoutes, _ found: RoutePlace?, _ client: ClientIdentity
  ) throws(HeadError) {
    let isPlain = try checkPath(path, in: bytes)
    let other = try routes.reading(of: path.bytes(in: bytes), notFor: found?.entry, client: client.name, isPlain: isPlain)
    if other != nil { throw .pathOfTwoEntries }
    if let found, !isPlain {
      let prefix = entries[found.entry].matches[found.match].pathPrefix
      try entries[found.entry].originBoundary.check(path.bytes(in: bytes), behind: prefix.utf8.count)
    }
  }

  // MARK: CONNECT

  func checkTunnel(host: String, port: UInt16, for client: ClientIdentity) throws(RoutingError) {
    guard connectAllow.contains(where: { $0.matches(host: host, port: port) }) else {
      throw .connectNotAllowed(target: Authority.text(host: host, port: port, defaultPort: 0))
    }
    guard client.mayReach(host: host, port: port) else { throw .notAllowed(client: client.name, upstream: host) }
  }
}

/// The origin's path is a boundary, too: no reading of what the origin gets may leave it. Made once with the configuration.
private struct OriginBoundary: Sendable {
  private let path: [UInt8]
  /// The path as an origin may read it.
  private let read: [UInt8]

  init(_ path: String) {
    self.path = Array(path.utf8)
    read = HostRoutes.read(self.path)
  }

  /// - Parameter path: of the app's request.
  /// - Parameter prefix: bytes of it that the origin's path replaces.
  func check(_ path: UnsafeRawBufferPointer, behind prefix: Int) throws(HeadError) {
    if self.path.isEmpty { return }
    let rest = UnsafeRawBufferPointer(rebasing: path.dropFirst(prefix))
    let result = withUnsafeTemporaryAllocation(byteCount: self.path.count + rest.count, alignment: 1) {
      space -> Result<Void, HeadError> in
      space.copyBytes(from: self.path)
      UnsafeMutableRawBufferPointer(rebasing: space[self.path.count...]).copyMemory(from: rest)
      var leaves = false
      do throws(HeadError) {
        try forEachReading(of: UnsafeRawBufferPointer(space)) { if !HostRoutes.matches($0, read) { leaves = true } }
        return leaves ? .failure(.ambiguousPath) : .success(())
      } catch { return .failure(error) }
    }
    try result.get()
  }
}

/// Lower-case ASCII, as in the table.
/// - Parameter host: without brackets and trailing dot, as from HTTPWire.
public func normalisedHost(_ host: UnsafeRawBufferPointer) -> String {
  String(decoding: host.map { $0 >= 65 && $0 <= 90 ? $0 | 32 : $0 }, as: UTF8.self)
}
