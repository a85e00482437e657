import HTTPWire

/// An entry that could serve a request, and why it does or does not.
public struct Candidate: Sendable, Equatable {
  public var name: String
  public var isTaken: Bool
  public var reason: String
}

extension Router {
  /// The entries for a host, most specific first; if there are none for the port, those for other ports.
  /// - Parameters:
  ///   - path: without its query; nil for CONNECT, which has none and names no entry.
  ///   - client: nil = anonymous.
  public func candidates(
    host: String, port: UInt16, isHTTPS: Bool, path: ByteSlice?, in bytes: UnsafeRawBufferPointer, client: String?
  ) -> [Candidate] {
    guard let path, let routes = find(host: host, port: port, isHTTPS: isHTTPS) else { return neighbours(host, port) }
    let written = path.bytes(in: bytes)
    let taken = routes.place(forPath: written, client: client)?.entry
    var other: HostRoutes.OtherReading?
    if routes.checksPaths, let isPlain = try? checkPath(path, in: bytes) {
      other = try? routes.reading(of: written, notFor: taken, client: client, isPlain: isPlain)
    }
    return routes.routes.map { candidate($0, taken, written, client, other) }
  }

  private func candidate(
    _ route: HostRoutes.Route, _ taken: Int?, _ path: UnsafeRawBufferPointer, _ client: String?,
    _ other: HostRoutes.OtherReading?
  ) -> Candidate {
    let entry = entries[route.entry]
    let match = entry.matches[route.place.match]
    let isTaken = route.entry == taken
    if let other, isTaken || route.entry == other.entry {
      let reading = isTaken ? "as it is written" : "as an origin may read it, \(other.path)"
      return Candidate(name: entry.name, isTaken: false, reason: "serves the path \(reading)")
    }
    if isTaken {
      var reasons = [match.isWildcard ? "the host is below \(match.host)" : "the host is the same"]
      if !route.prefix.isEmpty { reasons.append("the path begins with \(match.pathPrefix)") }
      if route.clients != nil, let client { reasons.append("it serves \(client)") }
      return Candidate(name: entry.name, isTaken: true, reason: reasons.joined(separator: ", "))
    }
    let reason =
      if !HostRoutes.matches(path, route.prefix) {
        "serves paths under \(match.pathPrefix)"
      } else if let clients = route.clients, !route.serves(client) {
        "serves only \(clients.sorted().joined(separator: ", "))"
      } else {
        "is less specific"
      }
    return Candidate(name: entry.name, isTaken: false, reason: reason)
  }

  /// Entries of the host for other ports or for https://, as a hint.
  private func neighbours(_ host: String, _ port: UInt16) -> [Candidate] {
    let known = find(host: host, port: port, isHTTPS: false)?.entries ?? []
    return entries.indices.filter { !known.contains($0) }.compactMap { index in
      let near = entries[index].matches.filter { $0.matches(host: host) }
      guard !near.isEmpty else { return nil }
      return Candidate(
        name: entries[index].name, isTaken: false, reason: "serves " + near.map(Self.ports).joined(separator: ", and "))
    }
  }

  private static func ports(_ match: Match) -> String {
    switch (match.scheme, match.port) {
    case (.https, let port): "https:// URLs with port \(port ?? 443)"
    case (.http, nil): "port 80, and 443 of https:// URLs"
    case (.http, let port?): "port \(port)"
    }
  }
}
