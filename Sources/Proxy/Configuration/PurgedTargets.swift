import Cache
import Forwarding
import HTTPWire
import Routing
import Settings
import Upstreams

/// What the origins are asked for, by each entry that serves a URL, whoever sends it.
struct PurgedTargets: Sendable {
  private struct Place: Sendable {
    /// Its origins are written in the configuration; else each host is one.
    let entry: String?
    /// Scheme, host and port of the origins, as partitions have them.
    let origins: Set<[UInt8]>
    /// Host is the app's own.
    let keepsHost: Bool
    /// Path and query.
    let target: [UInt8]
  }

  private let places: [Place]
  private let isPrefix: Bool
  /// As `Partition.Asked` has them.
  private let host: String
  private let port: UInt16

  /// Where all that is meant is stored; nil: at any target that begins so.
  var exact: Set<CacheTarget>? {
    guard !isPrefix else { return nil }
    return Set(
      places.flatMap { place in
        place.origins.map { origin in
          place.target.withUnsafeBytes { CacheTarget(origin: CacheDigest(parts: [origin]), path: $0) }
        }
      })
  }

  init(_ url: String, _ snapshot: Snapshot) throws(PurgeOrder.Problem) {
    let isPrefix = url.hasSuffix("*")
    let asked = try AskedURL(isPrefix ? String(url.dropLast()) : url)
    var places: [Place] = []
    for place in snapshot.router.places(host: asked.host, port: asked.port) {
      let entry = snapshot.entries[place.entry]
      guard entry.settings.cache != nil else { continue }
      let prefix = Array(entry.settings.matches[place.match].pathPrefix.utf8)
      guard let path = asked.path(under: prefix, isPrefix: isPrefix) else { continue }
      places.append(
        Place(
          entry: entry.origin == nil ? nil : entry.name, origins: Self.origins(of: entry, asked, snapshot),
          keepsHost: entry.settings.hostHeader == .app,
          target: try asked.sent(path, by: entry.rules[place.match])))
    }
    guard !places.isEmpty else {
      throw PurgeOrder.Problem(description: "no upstream with 'cache' serves this URL")
    }
    self.places = places
    self.isPrefix = isPrefix
    host = asked.host
    port = asked.port
  }

  private static func origins(of entry: Entry, _ asked: AskedURL, _ snapshot: Snapshot) -> Set<[UInt8]> {
    let its = entry.writtenOrigins.map(\.identity)
    let own = snapshot.origin(of: entry, host: asked.host, port: asked.port, isHTTPS: asked.isHTTPS).identity
    return Set((its.isEmpty ? [own] : its).compactMap { snapshot.cacheOrigins?.canonical(of: $0) })
  }

  /// - Parameters:
  ///   - path: of the stored answer's target, with its query.
  ///   - base: of its partition.
  func contain(_ path: [UInt8], of base: Partition.Base) -> Bool {
    places.contains { place in
      guard isPrefix ? path.starts(with: place.target) : path == place.target else { return false }
      guard place.entry == base.entry || place.origins.contains(base.origin) else { return false }
      return !place.keepsHost || base.asked.map { $0.host == host && $0.port == port } ?? false
    }
  }
}

/// A URL as an app sends it to its proxy.
private struct AskedURL {
  let isHTTPS: Bool
  /// As the router takes it.
  let host: String
  let port: UInt16
  /// Path and query.
  private let pathAndQuery: [UInt8]
  private let pathCount: Int

  init(_ url: String) throws(PurgeOrder.Problem) {
    let bytes = Array(url.utf8)
    let parsed = bytes.withUnsafeBytes { bytes -> Result<AskedURL, HeadError> in
      do throws(HeadError) { return .success(try AskedURL(parsing: bytes)) } catch { return .failure(error) }
    }
    switch parsed {
    case .success(let url): self = url
    case .failure(let error):
      throw PurgeOrder.Problem(description: "the URL is not one that an app can ask for: \(error.reason)")
    }
  }

  private init(parsing bytes: UnsafeRawBufferPointer) throws(HeadError) {
    // As in a request line.
    guard bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else { throw .targetForm }
    let target = try RequestTarget(ByteSlice(start: 0, count: bytes.count), method: .get, in: bytes)
    guard target.form == .absolute else { throw .targetForm }
    isHTTPS = target.isHTTPS
    host = normalisedHost(target.host.bytes(in: bytes))
    port = target.effectivePort
    pathAndQuery = Array(target.pathAndQuery.bytes(in: bytes))
    pathCount = target.path.count
  }

  /// What of an entry's match with this path prefix is meant; nil: nothing.
  func path(under prefix: [UInt8], isPrefix: Bool) -> [UInt8]? {
    let path = pathAndQuery[..<pathCount]
    if path.starts(with: prefix), prefix.isEmpty || path.count == prefix.count || path[prefix.count] == UInt8(ascii: "/") {
      return pathAndQuery
    }
    // All of the match is below.
    return isPrefix && pathCount == pathAndQuery.count && prefix.starts(with: path) ? prefix : nil
  }

  /// Path and query as the origin is asked for them.
  func sent(_ path: [UInt8], by rules: ForwardingRules) throws(PurgeOrder.Problem) -> [UInt8] {
    let url = Array("http://h".utf8) + path
    let sent = url.withUnsafeBytes { bytes -> [UInt8]? in
      guard let target = try? RequestTarget(ByteSlice(start: 0, count: bytes.count), method: .get, in: bytes) else {
        return nil
      }
      return rules.sent(target, method: .get, in: bytes)
    }
    guard let sent else { throw PurgeOrder.Problem(description: "the URL is not one that an app can ask for") }
    return sent
  }
}
