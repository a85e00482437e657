import Cache
import Credentials
import Settings
import Testing

@testable import Proxy

/// Which stored answers a URL stands for, as an app would ask for it.
@Suite struct PurgedTargetsTests {
  private static func upstream(
    _ name: String, _ match: UpstreamSettings.Match, _ origin: UpstreamSettings.Origin,
    hostHeader: UpstreamSettings.HostHeader = .origin, strips: Bool = false, hasCache: Bool = true
  ) -> UpstreamSettings {
    var settings = UpstreamSettings(
      name: name, match: match, origin: origin, originIsExplicit: !origin.host.isEmpty, timeouts: Timeouts(),
      hostHeader: hostHeader)
    settings.stripsPrefix = strips
    settings.cache = hasCache ? CacheRules() : nil
    return settings
  }

  private static func snapshot() throws -> Snapshot {
    func origin(_ host: String, _ path: String = "") -> UpstreamSettings.Origin {
      .init(scheme: .https, host: host, port: 443, path: path)
    }
    return try SnapshotBuilder().build(
      Settings(
        listeners: [ListenerSettings(endpoint: .tcp(host: "127.0.0.1", port: 0))],
        clients: [ClientSettings(name: "billing", password: Secret("x"))],
        upstreams: [
          upstream("plain", .init(host: "api.test"), origin("o.test")),
          upstream("v1", .init(host: "api.test", pathPrefix: "/v1"), origin("v.test", "/api/v2")),
          upstream("stripped", .init(host: "strip.test", pathPrefix: "/x"), origin("s.test"), strips: true),
          upstream("wide", .init(host: "wide.test", isWildcard: true), origin("")),
          upstream("app", .init(host: "app.test"), origin("o.test"), hostHeader: .app),
          upstream("none", .init(host: "none.test"), origin("o.test"), hasCache: false),
          upstream("secure", .init(scheme: .https, host: "tls.test"), origin("t.test")),
        ]), generation: 1)
  }

  private struct Stored: CustomTestStringConvertible, Sendable {
    var path: String
    var origin: String
    var entry = "?"
    /// The authority that the app asked for, where Host is its own.
    var asked: Partition.Asked?
    var testDescription: String { "\(entry): \(origin)\(path)" }
  }

  private static func ofApp(_ field: String, _ port: UInt16 = 80) -> Stored {
    Stored(
      path: "/u", origin: "https://o.test:443", entry: "app",
      asked: .init(host: "app.test", port: port, field: Array(field.utf8)))
  }

  private static let isMeant: [(url: String, Stored, Bool)] = [
    ("http://api.test/a", Stored(path: "/a", origin: "https://o.test:443"), true),
    ("http://API.test./a", Stored(path: "/a", origin: "https://o.test:443"), true),
    ("http://api.test:80/a", Stored(path: "/a", origin: "https://o.test:443"), true),
    ("http://api.test/a", Stored(path: "/a?b", origin: "https://o.test:443"), false),
    ("http://api.test/a?b", Stored(path: "/a?b", origin: "https://o.test:443"), true),
    ("http://api.test/a", Stored(path: "/A", origin: "https://o.test:443"), false),
    ("http://api.test/a", Stored(path: "/a", origin: "https://p.test:443"), false),
    ("http://api.test/a", Stored(path: "/a", origin: "https://canonical:443", entry: "plain"), true),
    ("http://api.test", Stored(path: "/", origin: "https://o.test:443"), true),
    ("http://api.test/a*", Stored(path: "/a?b", origin: "https://o.test:443"), true),
    ("http://api.test/a*", Stored(path: "/ab/c", origin: "https://o.test:443"), true),
    ("http://api.test/a/*", Stored(path: "/ab/c", origin: "https://o.test:443"), false),
    ("http://api.test/a*b", Stored(path: "/a*b", origin: "https://o.test:443"), true),
    // By the path rules of the entry.
    ("http://api.test/v1/u", Stored(path: "/api/v2/u", origin: "https://v.test:443"), true),
    ("http://api.test/v1", Stored(path: "/api/v2", origin: "https://v.test:443"), true),
    ("http://api.test/v1/*", Stored(path: "/api/v2/u?q", origin: "https://v.test:443"), true),
    ("http://api.test/v10/u", Stored(path: "/api/v20/u", origin: "https://v.test:443"), false),
    ("http://strip.test/x/u", Stored(path: "/u", origin: "https://s.test:443"), true),
    ("http://strip.test/x*", Stored(path: "/u", origin: "https://s.test:443"), true),
    // All of an entry is below.
    ("http://api.test/*", Stored(path: "/api/v2/u", origin: "https://v.test:443"), true),
    ("http://api.test*", Stored(path: "/api/v2/u", origin: "https://v.test:443"), true),
    ("http://api.test/v*", Stored(path: "/api/v2/u", origin: "https://v.test:443"), true),
    ("http://api.test/w*", Stored(path: "/api/v2/u", origin: "https://v.test:443"), false),
    // Below a wildcard each host is an origin of its own.
    ("http://a.wide.test/u", Stored(path: "/u", origin: "https://a.wide.test:443", entry: "wide"), true),
    ("http://a.wide.test/u", Stored(path: "/u", origin: "https://b.wide.test:443", entry: "wide"), false),
    // Host is the app's own.
    ("http://app.test/u", ofApp("app.test"), true), ("http://app.test:80/u", ofApp("app.test"), true),
    ("http://app.test/u", ofApp("app.test."), true), ("http://App.Test./u", ofApp("app.test:80"), true),
    ("http://app.test/u", ofApp("app.test:8080", 8080), false),
    ("http://app.test/u", Stored(path: "/u", origin: "https://o.test:443", entry: "plain"), false),
    ("https://tls.test:443/u", Stored(path: "/u", origin: "https://t.test:443"), true),
    ("https://tls.test/u", Stored(path: "/u", origin: "https://t.test:443"), true),
  ]

  @Test(arguments: isMeant) private func `a URL stands for what origins are asked for`(
    _ url: String, _ stored: Stored, _ isMeant: Bool
  ) throws {
    let targets = try PurgedTargets(url, try Self.snapshot())
    let base = Partition.Base(
      entry: stored.entry, origin: Array(stored.origin.utf8), trust: [], certificate: [], rules: [], match: "?",
      asked: stored.asked, share: .all)
    #expect(targets.contain(Array(stored.path.utf8), of: base) == isMeant)
    if isMeant, stored.origin != "https://canonical:443", let exact = targets.exact {
      let origin = CacheDigest(parts: [Array(stored.origin.utf8)])
      #expect(exact.contains(Array(stored.path.utf8).withUnsafeBytes { CacheTarget(origin: origin, path: $0) }))
    }
  }

  @Test(arguments: [
    ("http://none.test/", "no upstream with 'cache' serves this URL"),
    ("http://other.test/", "no upstream with 'cache' serves this URL"),
    ("http://tls.test/u", "no upstream with 'cache' serves this URL"),
    ("http://strip.test/y", "no upstream with 'cache' serves this URL"),
  ])
  func `a URL that nothing is stored for is an error`(_ url: String, _ problem: String) throws {
    let snapshot = try Self.snapshot()
    let error = #expect(throws: PurgeOrder.Problem.self) { try PurgedTargets(url, snapshot) }
    #expect(error?.description == problem)
  }

  @Test(arguments: [
    "", "*", "/a", "api.test/a", "http://api.test/ HTTP/1.1", "http://api.test/\r\n", "ftp://a/",
  ])
  func `as is one that no app can ask for`(_ url: String) throws {
    let snapshot = try Self.snapshot()
    let error = #expect(throws: PurgeOrder.Problem.self) { try PurgedTargets(url, snapshot) }
    #expect(error?.description.hasPrefix("the URL is not one that an app can ask for: ") == true)
  }
}
