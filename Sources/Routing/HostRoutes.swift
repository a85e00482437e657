import HTTPWire

/// An entry, and by which of its matches a request came to it.
public struct RoutePlace: Sendable, Hashable {
  /// Index in the configuration's entries.
  public var entry: Int
  /// Index in the entry's matches.
  public var match: Int
  public init(entry: Int, match: Int) {
    self.entry = entry
    self.match = match
  }
}

/// The entries of one host and port. The longest path prefix wins; of equal prefixes, an entry for this client wins over one
/// for all.
public final class HostRoutes: Sendable {
  struct Route: Sendable {
    var place: RoutePlace
    var prefix: [UInt8]
    /// The prefix as an origin may read it.
    var readPrefix: [UInt8]
    /// nil: for every client.
    var clients: Set<String>?

    var entry: Int { place.entry }

    func serves(_ client: String?) -> Bool { clients.map { client.map($0.contains) == true } ?? true }
  }

  /// Best first: longest prefix, then those for certain clients.
  let routes: [Route]
  /// Some entry has a path prefix, so ambiguous paths are refused.
  let hasPrefixes: Bool
  /// Some entry has a prefix, or its origin a path: both are boundaries.
  let checksPaths: Bool
  /// An origin may read some prefix differently, so that a plain path may belong to it.
  private let hasEncodedPrefixes: Bool
  /// The only entry, if it serves every request; -1: look it up.
  private let only: Int
  private let onlyMatch: Int

  struct Source {
    var place: RoutePlace
    var match: Match
    var clients: Set<String>?
    var hasOriginPath = false
  }

  /// - Parameter sources: matches of one host and port.
  init(_ sources: [Source]) {
    routes = sources.map { entry in
      let prefix = Array(entry.match.pathPrefix.utf8)
      return Route(place: entry.place, prefix: prefix, readPrefix: Self.read(prefix), clients: entry.clients)
    }.sorted { $0.prefix.count != $1.prefix.count ? $0.prefix.count > $1.prefix.count : $0.clients != nil && $1.clients == nil }
    hasPrefixes = routes.contains { !$0.prefix.isEmpty }
    checksPaths = hasPrefixes || sources.contains(where: \.hasOriginPath)
    hasEncodedPrefixes = routes.contains { $0.prefix != $0.readPrefix }
    let isOnly = routes.count == 1 && !hasPrefixes && routes[0].clients == nil
    only = isOnly ? routes[0].place.entry : -1
    onlyMatch = isOnly ? routes[0].place.match : 0
  }

  static func read(_ prefix: [UInt8]) -> [UInt8] {
    var result = prefix
    prefix.withUnsafeBytes { bytes in try? forEachReading(of: bytes) { result = Array($0) } }
    return result
  }

  /// Indices in the configuration's entries, best first.
  public var entries: [Int] { routes.map(\.entry) }

  /// - Parameter path: the request's, without its query; empty means `/`.
  func place(forPath path: UnsafeRawBufferPointer, client: String?) -> RoutePlace? {
    if only >= 0 { return RoutePlace(entry: only, match: onlyMatch) }
    for index in routes.indices where routes[index].serves(client) {
      if !hasPrefixes || Self.matches(path, routes[index].prefix) { return routes[index].place }
    }
    return nil
  }

  /// An entry that an origin may read a path as, and the path in that reading.
  struct OtherReading {
    /// nil: none.
    var entry: Int?
    /// Printable ASCII.
    var path: String
  }

  /// A reading of the path (see `forEachReading`) that leads to another entry than `found`, to which the path as written leads.
  /// - Parameter isPlain: nothing in the path is encoded, and it has no parameters.
  /// - Throws: `ambiguousPath`.
  func reading(
    of path: UnsafeRawBufferPointer, notFor found: Int?, client: String?, isPlain: Bool
  ) throws(HeadError) -> OtherReading? {
    if isPlain, !hasEncodedPrefixes { return nil }
    var other: OtherReading?
    try forEachReading(of: path) { read in
      let entry = self.entry(forReading: read, client: client)
      guard entry != found else { return }
      let shown = read.map { $0 > 0x20 && $0 < 0x7f ? $0 : UInt8(ascii: "?") }
      other = OtherReading(entry: entry, path: String(decoding: shown, as: UTF8.self))
    }
    return other
  }

  private func entry(forReading path: UnsafeRawBufferPointer, client: String?) -> Int? {
    var best: (entry: Int, length: Int)?
    for route in routes where route.serves(client) {
      // The longest prefix as written may not be the longest as read.
      guard route.readPrefix.count > best?.length ?? -1, Self.matches(path, route.readPrefix) else { continue }
      best = (route.entry, route.readPrefix.count)
    }
    return best?.entry
  }

  /// Prefixes match whole segments: `/v1` matches `/v1` and `/v1/x`, not `/v10`.
  static func matches(_ path: UnsafeRawBufferPointer, _ prefix: [UInt8]) -> Bool {
    if prefix.isEmpty { return true }
    guard path.count >= prefix.count, path[..<prefix.count].elementsEqual(prefix) else { return false }
    return path.count == prefix.count || path[prefix.count] == UInt8(ascii: "/")
  }
}
