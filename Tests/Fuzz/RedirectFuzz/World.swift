import HTTPWire
import Routing

/// A configuration, and what may be asked under it, said a second time in the simplest words.
enum World {
  static let entries: [RoutedEntry] = {
    func entry(_ name: String, _ match: Match, _ host: String, port: UInt16 = 443, path: String = "") -> RoutedEntry {
      var entry = RoutedEntry(name: name, match: match)
      entry.origins = [
        RoutedEntry.Origin(isHTTPS: port != 80, host: host, port: port, changesPath: !path.isEmpty)
      ]
      entry.originPath = path
      return entry
    }
    var entries = [
      entry("api", Match(host: "api.test"), "api.test"),
      entry("admin", Match(host: "api.test", pathPrefix: "/admin"), "api.test"),
      entry("pay", Match(host: "pay.test", pathPrefix: "/v1"), "real.test", port: 8443, path: "/api/v1"),
      entry("many", Match(host: "many.test", isWildcard: true), ""),
      entry("one", Match(host: "one.test", isWildcard: true), "behind.test"),
      entry("tls", Match(scheme: .https, host: "tls.test"), "tls.test"),
      entry("clear", Match(host: "clear.test"), "clear.test", port: 80),
      entry("billing", Match(host: "billing.test"), "billing.test"),
      entry("six", Match(host: "::1"), "2001:db8::1"),
    ]
    entries[0].origins.append(RoutedEntry.Origin(isHTTPS: true, host: "standby.test", port: 8443))
    entries[7].clients = ["billing"]
    return entries
  }()

  static let router = Router(entries, forwardsUnlisted: true, connectAllow: [])

  static let rules = RedirectRules(
    limit: 4, methods: .all,
    hosts: [
      HostPattern(host: "cdn.test", isWildcard: false, port: 443), HostPattern(host: "odd.test", isWildcard: false, port: 8443),
      HostPattern(host: "s3.test", isWildcard: true, port: 443), HostPattern(host: "tls.test", isWildcard: false, port: 443),
    ],
    // pay, clear, billing
    entries: [2, 6, 7])

  /// - Parameter place: who has redirected; nil: a host.
  /// - Returns: who is asked.
  static func check(
    _ destination: RedirectDestination, of url: HTTPURL, from place: RoutePlace?, _ client: ClientIdentity
  ) -> RoutePlace? {
    let (authority, host) = (url.origin, url.host)
    switch destination {
    case .host:
      let isListed =
        ["https://cdn.test", "https://odd.test:8443", "https://tls.test"].contains(authority)
        || url.isHTTPS && url.effectivePort == 443 && host.hasSuffix(".s3.test") && host.first != "."
      precondition(isListed, "\(authority) is followed")
      // The part of an entry that the rules name, or that redirects, is not asked without its credential.
      precondition(place?.entry != 5 || authority != "https://tls.test", "an entry's own origin is asked as a host")
      return nil
    case .entry(let next, let text):
      precondition(next.entry == place?.entry || [2, 6, 7].contains(next.entry), "entry \(next.entry) is in no rule")
      guard let app = try? HTTPURL(text) else { preconditionFailure("\(text) is no URL") }
      precondition(app.text == text)
      let path = Array(url.pathAndQuery.utf8.prefix { $0 != 0x3f })
      switch next.entry {
      case 0:
        precondition(["https://api.test", "https://standby.test:8443"].contains(authority) && app.origin == "http://api.test")
        precondition(!readings(of: path).contains { isBelow("/admin", $0) }, "another entry's path")
      case 1:
        precondition(authority == "https://api.test" && app.origin == "http://api.test")
        precondition(readings(of: path).allSatisfy { isBelow("/admin", $0) }, "another entry's path")
      case 2:
        precondition(authority == "https://real.test:8443" && app.origin == "http://pay.test")
        precondition(readings(of: path).allSatisfy { isBelow("/api/v1", $0) }, "not below the origin")
        precondition(isBelow("/v1", Array(app.pathAndQuery.utf8.prefix { $0 != 0x3f })), "not below the match")
      case 3:
        precondition(url.isHTTPS && url.effectivePort == 443 && host.hasSuffix(".many.test") && app.origin == "http://" + host)
      case 4: precondition(authority == "https://behind.test" && app.origin == "http://a.one.test")
      case 5: precondition(authority == "https://tls.test" && app.origin == authority)
      case 6: precondition(authority == "http://clear.test" && app.origin == authority)
      case 7: precondition(authority == "https://billing.test" && client.name == "billing", "another client's entry")
      case 8: precondition(authority == "https://[2001:db8::1]" && app.origin == "http://[::1]")
      default: preconditionFailure("no entry")
      }
      return next
    }
  }

  private static func readings(of path: [UInt8]) -> [[UInt8]] {
    var found = [path]
    path.withUnsafeBytes { path in try? forEachReading(of: path) { found.append(Array($0)) } }
    return found
  }

  private static func isBelow(_ prefix: String, _ path: [UInt8]) -> Bool {
    path.starts(with: prefix.utf8) && (path.count == prefix.utf8.count || path[prefix.utf8.count] == 0x2f)
  }
}
