import HTTPWire
import Routing

func entry(
  _ name: String, _ host: String, wildcard: Bool = false, port: UInt16? = nil, path: String = "", clients: Set<String>? = nil,
  credential: Bool = false
) -> RoutedEntry {
  RoutedEntry(
    name: name, match: Match(host: host, isWildcard: wildcard, port: port, pathPrefix: path), clients: clients,
    hasCredential: credential)
}

let entries = [
  entry("whole", "api.test"), entry("versioned", "api.test", path: "/v1", credential: true),
  entry("deeper", "api.test", path: "/v1/x"), entry("own", "api.test", clients: ["billing"]),
  entry("spaced", "api.test", path: "/a%20b"), entry("wide", "wide.test", wildcard: true),
  entry("wider", "b.wide.test", wildcard: true), entry("odd", "odd.test", port: 8443),
  entry("private", "private.test", clients: ["billing"]), entry("six", "::1"),
]

let anybody = ClientIdentity(name: nil, access: .all)
let billing = ClientIdentity(name: "billing", access: .all)
let guest = ClientIdentity(
  name: "guest", access: .only(upstreams: ["whole"], hosts: [HostPattern(host: "free.test", isWildcard: true, port: nil)]))

/// A target and its bytes.
struct Target {
  let bytes: [UInt8]
  let target: RequestTarget
  init(_ url: String, method: HTTPWire.Method = .get) throws {
    let bytes = Array(url.utf8)
    self.bytes = bytes
    target = try bytes.withUnsafeBytes { try RequestTarget(ByteSlice(start: 0, count: $0.count), method: method, in: $0) }
  }
}

extension Router {
  convenience init(forwardsUnlisted: Bool = false) {
    self.init(
      entries, forwardsUnlisted: forwardsUnlisted,
      connectAllow: [
        HostPattern(host: "tunnel.test", isWildcard: false, port: 443),
        HostPattern(host: "free.test", isWildcard: true, port: nil),
        HostPattern(host: "api.test", isWildcard: false, port: nil),
      ])
  }

  /// Name of the entry, `unlisted`, or the error.
  func way(_ url: String, _ method: HTTPWire.Method = .get, _ client: ClientIdentity = anybody) throws -> String {
    let given = try Target(url)
    return given.bytes.withUnsafeBytes { bytes in
      let (host, target) = (normalisedHost(given.target.host.bytes(in: bytes)), given.target)
      let routes = find(host: host, port: target.effectivePort, isHTTPS: target.isHTTPS)
      do throws(RoutingError) {
        let index = try place(
          routes, method: method, methodText: .empty, host: host, port: target.effectivePort, isHTTPS: target.isHTTPS,
          path: target.path, in: bytes,
          for: client
        ).entry
        return index == entries.count ? "unlisted" : entries[index].name
      } catch { return "\(error)" }
    }
  }
}
