import HTTPWire
import Routing
import Testing

@Suite struct ConnectDecisionTests {
  private let entries: [RoutedEntry]
  private let router: Router
  private let narrow = ClientIdentity(
    name: "narrow", access: .only(upstreams: ["both"], hosts: []))
  private let tunneller = ClientIdentity(
    name: "tunneller", access: .only(upstreams: [], hosts: [HostPattern(host: "", isWildcard: true, port: nil)]))

  init() {
    func https(
      _ name: String, _ host: String, wildcard: Bool = false, port: UInt16? = nil, path: String = "",
      clients: Set<String>? = nil
    ) -> RoutedEntry {
      RoutedEntry(
        name: name, match: Match(scheme: .https, host: host, isWildcard: wildcard, port: port, pathPrefix: path),
        clients: clients)
    }
    func allowed(_ host: String, wildcard: Bool = false, _ port: UInt16? = nil) -> HostPattern {
      HostPattern(host: host, isWildcard: wildcard, port: port)
    }
    entries = [
      https("api", "api.test"), https("api v1", "api.test", path: "/v1"), https("wide", "wide.test", wildcard: true),
      https("odd", "odd.test", port: 8443), https("own", "own.test", clients: ["billing"]), https("six", "::1"),
      RoutedEntry(name: "both", matches: [Match(host: "both.test"), Match(scheme: .https, host: "both.test")]),
      entry("clear", "clear.test"), entry("clear 443", "mixed.test", port: 443), https("mixed", "mixed.test"),
      entry("clear only", "plain.test", port: 443), https("nested", "a.nested.test", wildcard: true),
      https("open", "open.test"),
    ]
    router = Router(
      entries, forwardsUnlisted: false,
      connectAllow: [
        // More specific than https://*.wide.test, less specific than it, and than https://own.test.
        allowed("pinned.wide.test", 443), allowed("test", wildcard: true, 443), allowed("own.test"),
        // A longer wildcard, and a shorter one with a port.
        allowed("b.a.nested.test", wildcard: true), allowed("open.test"), allowed("tunnel.example", 443),
        allowed("clear.test", 80),
      ])
  }

  private func names(_ routes: HostRoutes?) -> String {
    routes.map { $0.entries.map { entries[$0].name }.joined(separator: "+") } ?? "403"
  }

  /// What a ClientHello meets, and what clear HTTP meets.
  private func decision(_ host: String, _ port: UInt16, _ client: ClientIdentity) -> String {
    do throws(RoutingError) {
      switch try router.decideConnect(host: host, port: port, for: client) {
      case .tunnel: return "tunnel"
      case .served(let served):
        let clear = names(served.clear)
        switch served.tls {
        case .intercepted(let routes): return "intercepted by \(names(routes)), clear \(clear)"
        case .tunnelled: return "TLS tunnelled, clear \(clear)"
        case .refused: return "TLS refused, clear \(clear)"
        }
      }
    } catch { return "\(error)" }
  }

  @Test func `the most specific of entries and tunnels decides, before the 200`() {
    func denied(_ client: String?, _ host: String) -> String { "\(RoutingError.notAllowed(client: client, upstream: host))" }
    func closed(_ target: String) -> String { "\(RoutingError.connectNotAllowed(target: target))" }
    let cases: [(ClientIdentity, String, UInt16, String)] = [
      // An https entry beats *.test:443; it is for its port alone.
      (anybody, "api.test", 443, "intercepted by api v1+api, clear 403"), (anybody, "api.test", 444, closed("api.test:444")),
      (anybody, "api.test", 80, closed("api.test:80")), (anybody, "::1", 443, "intercepted by six, clear 403"),
      (anybody, "odd.test", 8443, "intercepted by odd, clear 403"), (anybody, "odd.test", 443, "tunnel"),
      // Host before port: wildcards by their length, an exact host before both.
      (anybody, "x.wide.test", 443, "intercepted by wide, clear 403"), (anybody, "pinned.wide.test", 443, "tunnel"),
      (anybody, "wide.test", 443, "tunnel"), (anybody, "x.a.nested.test", 443, "intercepted by nested, clear 403"),
      (anybody, "x.b.a.nested.test", 443, "tunnel"), (anybody, "open.test", 443, "intercepted by open, clear 403"),
      (anybody, "open.test", 22, "tunnel"),
      // Entries without a scheme go on as before.
      (anybody, "both.test", 443, "intercepted by both, clear 403"), (anybody, "both.test", 80, "TLS refused, clear both"),
      (anybody, "clear.test", 80, "TLS tunnelled, clear clear"),
      (anybody, "mixed.test", 443, "intercepted by mixed, clear clear 443"),
      (anybody, "plain.test", 443, "TLS tunnelled, clear clear only"),
      // Elsewhere tunnels where they are allowed.
      (anybody, "other.test", 443, "tunnel"), (anybody, "tunnel.example", 443, "tunnel"),
      (anybody, "else.example", 443, closed("else.example:443")),
      // An entry for others is none; one that the client may not use gets it no tunnel instead.
      (billing, "own.test", 443, "intercepted by own, clear 403"), (anybody, "own.test", 443, "tunnel"),
      (narrow, "api.test", 443, denied("narrow", "api.test")), (narrow, "both.test", 443, "intercepted by both, clear 403"),
      (tunneller, "api.test", 443, denied("tunneller", "api.test")), (tunneller, "other.test", 443, "tunnel"),
      (tunneller, "mixed.test", 443, denied("tunneller", "mixed.test")),
      (tunneller, "plain.test", 443, denied("tunneller", "plain.test")),
    ]
    for (client, host, port, expected) in cases {
      #expect(decision(host, port, client) == expected, "\(client.name ?? "anybody"): \(host):\(port)")
    }
  }

  @Test func `a client that may use the clear entry alone is served that, and gets no tunnel`() {
    let client = ClientIdentity(name: "c", access: .only(upstreams: ["clear 443"], hosts: []))
    #expect(decision("mixed.test", 443, client) == "TLS refused, clear clear 443")
  }

  @Test(arguments: [
    ("pinned.wide.test", "pinned.wide.test:443"), ("x.wide.test", "test:443"), ("x.b.a.nested.test", "b.a.nested.test:any"),
    ("open.test", "open.test:any"), ("else.example", "none"),
  ])
  func `the pattern that lets a tunnel through is the most specific one`(_ host: String, _ expected: String) {
    let pattern = router.tunnelPattern(host: host, port: 443)
    #expect(pattern.map { "\($0.host):\($0.port.map(String.init) ?? "any")" } ?? "none" == expected)
  }

  @Test func `an https URL in the clear goes to the https entry, and says by which match`() throws {
    func place(_ url: String) throws -> String {
      let given = try Target(url)
      return given.bytes.withUnsafeBytes { bytes in
        let (host, target) = (normalisedHost(given.target.host.bytes(in: bytes)), given.target)
        let routes = router.find(host: host, port: target.effectivePort, isHTTPS: target.isHTTPS)
        do throws(RoutingError) {
          let place = try router.place(
            routes, method: .get, methodText: .empty, host: host, port: target.effectivePort, isHTTPS: target.isHTTPS,
            path: target.path, in: bytes,
            for: anybody)
          return "\(entries[place.entry].name) \(place.match)"
        } catch { return "\(error)" }
      }
    }
    #expect(try place("http://both.test/") == "both 0")
    #expect(try place("https://both.test/") == "both 1")
    #expect(try place("https://clear.test/") == "clear 0")
    #expect(try place("https://api.test/v1/x") == "api v1 0")
    #expect(try place("https://api.test/x") == "api 0")
    #expect(try place("http://api.test/") == "\(RoutingError.hostNotListed(host: "api.test"))")
    #expect(try place("http://api.test:443/") == "\(RoutingError.hostNotListed(host: "api.test"))")
    #expect(try place("https://odd.test:8443/") == "odd 0")
  }

  @Test(arguments: [false, true])
  func `what no https entry serves goes on as before in the clear, and nowhere inside`(_ forwards: Bool) throws {
    let entries = [
      RoutedEntry(name: "plain", match: Match(host: "api.test")),
      RoutedEntry(name: "billing", match: Match(scheme: .https, host: "api.test"), clients: ["billing"]),
      RoutedEntry(name: "v1", match: Match(scheme: .https, host: "only.test", pathPrefix: "/v1")),
    ]
    let router = Router(entries, forwardsUnlisted: forwards, connectAllow: [])
    func found(_ url: String, _ client: ClientIdentity, isBound: Bool) throws -> String {
      let given = try Target(url)
      return given.bytes.withUnsafeBytes { bytes in
        let (host, target) = (normalisedHost(given.target.host.bytes(in: bytes)), given.target)
        let routes = router.find(host: host, port: 443, isHTTPS: true)
        do throws(RoutingError) {
          let place = try router.place(
            routes, method: .get, methodText: .empty, host: host, port: 443, isHTTPS: true, path: target.path, in: bytes,
            for: client,
            isBound: isBound)
          return place.entry == entries.count ? "unlisted" : entries[place.entry].name
        } catch { return "403" }
      }
    }
    let billing = ClientIdentity(name: "billing", access: .all)
    #expect(try found("https://api.test/x", billing, isBound: false) == "billing")
    #expect(try found("https://api.test/x", billing, isBound: true) == "billing")
    #expect(try found("https://api.test/x", anybody, isBound: false) == "plain")
    #expect(try found("https://api.test/x", anybody, isBound: true) == "403")
    #expect(try found("https://only.test/v2", anybody, isBound: false) == (forwards ? "unlisted" : "403"))
    #expect(try found("https://only.test/v2", anybody, isBound: true) == "403")
  }

  @Test func `inside of an intercepted connection entries without a scheme do not count`() {
    #expect(names(router.findIntercepted(host: "both.test", port: 443)) == "both")
    #expect(names(router.findIntercepted(host: "clear.test", port: 443)) == "403")
    #expect(names(router.findIntercepted(host: "plain.test", port: 443)) == "403")
  }

  @Test func `near misses name the scheme`() throws {
    let given = try Target("http://both.test:81/")
    let told = given.bytes.withUnsafeBytes {
      router.candidates(host: "both.test", port: 81, isHTTPS: false, path: given.target.path, in: $0, client: nil)
    }
    #expect(told.map(\.reason) == ["serves port 80, and 443 of https:// URLs, and https:// URLs with port 443"])
  }
}
