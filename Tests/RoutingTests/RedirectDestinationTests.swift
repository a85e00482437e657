import HTTPWire
import Routing
import Testing

/// Where a redirect may lead.
@Suite struct RedirectDestinationTests {
  private static let entries: [RoutedEntry] = {
    func entry(_ name: String, _ match: Match, _ origin: RoutedEntry.Origin, path: String = "") -> RoutedEntry {
      var entry = RoutedEntry(name: name, match: match)
      entry.origins = [origin]
      entry.originPath = path
      return entry
    }
    func secure(_ host: String, port: UInt16 = 443, changesPath: Bool = false) -> RoutedEntry.Origin {
      RoutedEntry.Origin(isHTTPS: true, host: host, port: port, changesPath: changesPath)
    }
    var entries = [
      entry("api", Match(host: "api.test"), secure("api.test")),
      entry("admin", Match(host: "api.test", pathPrefix: "/admin"), secure("api.test")),
      entry(
        "pay", Match(host: "pay.test", pathPrefix: "/v1"), secure("real.test", port: 8443, changesPath: true), path: "/api/v1"),
      entry("many", Match(host: "many.test", isWildcard: true), secure("")),
      entry("one", Match(host: "one.test", isWildcard: true), secure("behind.test")),
      entry("tls", Match(scheme: .https, host: "tls.test"), secure("tls.test")),
      entry("clear", Match(host: "clear.test"), RoutedEntry.Origin(isHTTPS: false, host: "clear.test", port: 80)),
      entry("billing", Match(host: "billing.test"), secure("billing.test")),
      entry("six", Match(host: "::1"), secure("2001:db8::1")),
      entry("double", Match(host: "one.double.test"), secure("double.test", changesPath: true)),
      entry("bare", Match(host: "bare.test", pathPrefix: "/x"), secure("bare.test", changesPath: true)),
    ]
    entries[0].origins.append(secure("standby.test", port: 8443))
    entries[7].clients = ["billing"]
    entries[9].matches.append(Match(host: "two.double.test", pathPrefix: "/v2"))
    entries[1].methods = AllowedMethods(["GET"])
    return entries
  }()
  private static let router = Router(entries, forwardsUnlisted: true, connectAllow: [])

  @Test(
    arguments: [
      // Under the entry's own origin, as apps ask for it.
      ("api", "https://api.test/x?y", "api http://api.test/x?y"), ("api", "https://api.test:443/", "api http://api.test/"),
      ("api", "https://standby.test:8443/x", "api http://api.test/x"),
      ("pay", "https://real.test:8443/api/v1/x?y", "pay http://pay.test/v1/x?y"),
      ("pay", "https://real.test:8443/api/v1", "pay http://pay.test/v1"),
      ("bare", "https://bare.test/y", "bare http://bare.test/x/y"), ("bare", "https://bare.test/", "bare http://bare.test/x/"),
      ("many", "https://b.many.test/x", "many http://b.many.test/x"),
      ("one", "https://behind.test/x", "one http://a.one.test/x"),
      ("tls", "https://tls.test/x", "tls https://tls.test/x"), ("clear", "http://clear.test/x", "clear http://clear.test/x"),
      ("six", "https://[2001:db8::1]/", "six http://[::1]/"),
      // Not under it.
      ("api", "https://api.test:444/", "notListed"), ("api", "https://api.test.evil.test/", "notListed"),
      ("api", "https://x.api.test/", "notListed"), ("pay", "https://real.test:8443/api/v2", "notListed"),
      ("pay", "https://real.test:8443/api/v10", "notListed"), ("pay", "https://pay.test/v1/x", "notListed"),
      ("many", "https://many.test/", "notListed"), ("many", "https://b.many.test:444/", "notListed"),
      ("clear", "https://clear.test/", "notListed"), ("api", "https://tls.test/", "notListed"),
      // Under the origin, but another entry's part of it, or one that may be.
      ("api", "https://api.test/admin/x", "notServed api"), ("api", "https://api.test/%61dmin", "notServed api"),
      ("api", "https://api.test/x/%2e%2e/admin", "notServed api"), ("admin", "https://api.test/x", "notServed admin"),
      ("pay", "https://real.test:8443/api/v1/%2e%2e/v2", "notServed pay"),
    ])
  func `without 'to', only the entry's own origin`(_ entry: String, _ url: String, _ expected: String) throws {
    #expect(try lead(from: entry, to: url) == expected)
  }

  @Test(
    arguments: [
      ("https://cdn.test/x", "host"), ("https://cdn.test:444/x", "notListed"), ("https://cdn.test:8443/", "notListed"),
      ("https://odd.test:8443/", "host"), ("https://odd.test/", "notListed"), ("https://a.s3.test/x?sig=1", "host"),
      ("https://a.b.s3.test/", "host"), ("https://s3.test/", "notListed"), ("https://bads3.test/", "notListed"),
      ("http://cdn.test/", "notListed"), ("http://cdn.test:443/", "notListed"),
      // An entry of the host makes no difference to a host.
      ("https://tls.test/", "host"), ("https://[2001:db8::2]/", "host"),
    ])
  func `a host in 'to' is asked without an entry, over https`(_ url: String, _ expected: String) throws {
    func pattern(_ host: String, _ isWildcard: Bool = false, _ port: UInt16 = 443) -> HostPattern {
      HostPattern(host: host, isWildcard: isWildcard, port: port)
    }
    let hosts = [
      pattern("cdn.test"), pattern("odd.test", false, 8443), pattern("s3.test", true), pattern("tls.test"),
      pattern("2001:db8::2"),
    ]
    #expect(try lead(from: "api", to: url, hosts: hosts) == expected)
    #expect(try lead(from: nil, to: url, hosts: hosts) == expected)
  }

  @Test(
    arguments: [
      ("pay", "GET", "https://real.test:8443/api/v1/x", "pay http://pay.test/v1/x"),
      ("tls", "GET", "https://tls.test/", "tls https://tls.test/"),
      ("many", "GET", "https://c.many.test/", "many http://c.many.test/"),
      ("admin", "GET", "https://api.test/admin", "admin http://api.test/admin"),
      ("admin", "POST", "https://api.test/admin", "notServed admin"),
      ("billing", "GET", "https://billing.test/", "notServed billing"),
      // Which of its hosts an app would ask for, nobody can say.
      ("one", "GET", "https://behind.test/", "notListed"), ("clear", "GET", "http://clear.test/", "clear http://clear.test/"),
    ])
  func `an entry in 'to' serves what is under its origin, if it serves this client and method`(
    _ name: String, _ method: String, _ url: String, _ expected: String
  ) throws {
    #expect(try lead(from: "api", to: url, method: method, entries: [name]) == expected)
    // Also from a host, and though a pattern would let it pass without the credential.
    let all = HostPattern(host: "test", isWildcard: true, port: 443)
    let viaHost = try lead(from: nil, to: url, method: method, entries: [name], hosts: [all])
    #expect(viaHost == (expected == "notListed" ? "host" : expected))
  }

  @Test func `an entry serves those clients that it says, and those that may reach it`() throws {
    let url = "https://billing.test/"
    #expect(try lead(from: "api", to: url, entries: ["billing"], client: billing) == "billing http://billing.test/")
    let barred = ClientIdentity(name: "billing", access: .only(upstreams: ["api"], hosts: []))
    #expect(try lead(from: "api", to: url, entries: ["billing"], client: barred) == "notServed billing")
  }

  @Test func `from elsewhere, the first entry is a target like others`() throws {
    #expect(try lead(from: nil, to: "https://api.test/x") == "notListed")
    #expect(try lead(from: "pay", to: "https://api.test/x") == "notListed")
    #expect(try lead(from: nil, to: "https://api.test/x", entries: ["api"]) == "api http://api.test/x")
  }

  @Test func `at an entry with several matches, URLs are of the one that the app knows`() throws {
    for (match, expected) in [(0, "double http://one.double.test/x"), (1, "double http://two.double.test/v2/x")] {
      for from in ["double", nil, "pay"] {
        let first = ("double", match)
        #expect(try lead(from: from, first: first, to: "https://double.test/x", entries: ["double"]) == expected)
      }
      // Nobody has asked for this one.
      #expect(try lead(from: nil, first: ("api", match), to: "https://double.test/x", entries: ["double"]).contains("one."))
    }
  }

  private func lead(
    from name: String?, first: (String, match: Int)? = nil, to url: String, method: String = "GET", entries: [String] = [],
    hosts: [HostPattern] = [],
    client: ClientIdentity = anybody
  ) throws -> String {
    func index(_ name: String) throws -> Int { try #require(Self.entries.firstIndex { $0.name == name }) }
    let rules = RedirectRules(limit: 5, methods: .all, hosts: hosts, entries: try entries.map(index))
    let target = AskedTarget(method: method, url: try HTTPURL(url))
    let first = RoutePlace(entry: try index(first?.0 ?? name ?? "api"), match: first?.match ?? 0)
    let place = try name.map { RoutePlace(entry: try index($0), match: 0) }.map { $0.entry == first.entry ? first : $0 }
    do throws(RedirectRefusal) {
      switch try Self.router.destination(of: target, from: place, first: first, asked: "a.one.test", by: rules, for: client) {
      case .host: return "host"
      case .entry(let place, let url): return "\(Self.entries[place.entry].name) \(url)"
      }
    } catch {
      switch error {
      case .notListed: return "notListed"
      case .notServed(let entry): return "notServed \(entry)"
      default: return "\(error)"
      }
    }
  }
}
