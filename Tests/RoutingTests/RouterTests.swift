import HTTPWire
import Routing
import Testing

@Suite struct RouterTests {
  @Test func `exact hosts come before wildcards, the longest of those, then the longest prefix, then the client's own`() throws
  {
    let router = Router()
    let unlisted = "hostNotListed"
    let cases: [(ClientIdentity, String, String)] = [
      (anybody, "http://api.test/", "whole"), (anybody, "http://API.test.", "whole"),
      (anybody, "https://api.test/v1", "versioned"),
      (anybody, "http://api.test:80/v1?q=/v1/x", "versioned"), (anybody, "http://api.test/v1/x/y", "deeper"),
      (anybody, "http://api.test/v1x", "whole"), (anybody, "http://api.test:8080/", unlisted),
      (anybody, "https://api.test:80/", unlisted), (anybody, "http://api.test:443/", unlisted),
      (anybody, "http://a.wide.test/", "wide"), (anybody, "http://a.b.wide.test/", "wider"),
      (anybody, "http://b.wide.test/", "wide"),
      (anybody, "http://wide.test/", unlisted), (anybody, "http://badwide.test/", unlisted),
      (anybody, "http://odd.test:8443/", "odd"), (anybody, "https://odd.test:8443/", "odd"),
      (anybody, "http://odd.test/", unlisted),
      (anybody, "http://private.test/", unlisted), (billing, "http://private.test/", "private"),
      (billing, "http://api.test/", "own"), (billing, "http://api.test/v1", "versioned"), (anybody, "http://[::1]/", "six"),
    ]
    for (client, url, expected) in cases {
      let way = try router.way(url, .get, client)
      #expect(expected == unlisted ? way.hasPrefix(unlisted) : way == expected, "\(client.name ?? "anybody"): \(url): \(way)")
    }
  }

  @Test func `no spelling of a path leads to one entry here and to another one's part of the origin there`() throws {
    let (ambiguous, two) = ("\(RoutingError.malformed(.ambiguousPath))", "\(RoutingError.malformed(.pathOfTwoEntries))")
    let router = Router()
    let cases: [(ClientIdentity, String, String)] = [
      (anybody, "/v1/%2e./", ambiguous), (anybody, "/v1/../x", ambiguous), (anybody, "//v1", ambiguous),
      (anybody, "/v1%2fx", ambiguous), (anybody, "/v1\\x", ambiguous), (anybody, "/%2525252576", ambiguous),
      (anybody, "/%76%31", two), (anybody, "/v%31/x", two), (anybody, "/%2576%31/x", two), (anybody, "/v1;a=b/y", two),
      (anybody, "/v1%3Ba/y", two), (anybody, "/v1%00", two), (anybody, "/y/%252e%252e/v1", two), (anybody, "/v1/x;a", two),
      (anybody, "/v1/%78", two), (anybody, "/v1/y%78;a=b/%20%41", "versioned"), (anybody, "/%79;v1/100%25", "whole"),
      (anybody, "/a%20b/c", "spaced"), (anybody, "/a%20%62/c", two), (anybody, "/a%2520b/c", two), (billing, "/%78", "own"),
    ]
    for (client, path, expected) in cases {
      #expect(try router.way("http://api.test\(path)", .get, client) == expected, "\(path)")
    }
    #expect(try router.way("http://a.wide.test/v%31;a/../x") == "wide", "no entry of the host has a prefix")
  }

  @Test func `an entry serves its methods, whose case counts, and no less specific entry serves the others`() throws {
    var reading = RoutedEntry(name: "reading", match: Match(host: "api.test", pathPrefix: "/v1"), hasCredential: true)
    reading.methods = AllowedMethods(["GET", "TRACE", "PROPFIND"])
    let entries = [reading, RoutedEntry(name: "whole", match: Match(host: "api.test"))]
    let router = Router(entries, forwardsUnlisted: true, connectAllow: [])
    func way(_ method: String, _ path: String) throws -> String {
      let line = Array("\(method) http://api.test\(path)".utf8)
      return try line.withUnsafeBytes { bytes in
        let name = ByteSlice(start: 0, count: method.utf8.count)
        let kind = HTTPWire.Method(name.bytes(in: bytes))
        let start = name.count + 1
        let target = try RequestTarget(ByteSlice(start: start, count: bytes.count - start), method: kind, in: bytes)
        do throws(RoutingError) {
          let routes = router.find(host: "api.test", port: 80, isHTTPS: false)
          return entries[
            try router.place(
              routes, method: kind, methodText: name, host: "api.test", port: 80, isHTTPS: false, path: target.path, in: bytes,
              for: anybody
            ).entry
          ].name
        } catch { return "\(error)" }
      }
    }
    let refused = "\(RoutingError.methodNotAllowed(upstream: "reading", allowed: ["GET", "TRACE", "PROPFIND"]))"
    for (method, expected) in [
      ("GET", "reading"), ("PROPFIND", "reading"), ("HEAD", refused), ("POST", refused), ("get", refused), ("PROP", refused),
      ("PROPFINDS", refused), ("propfind", refused), ("TRACE", "\(RoutingError.traceWithCredential)"),
    ] { #expect(try way(method, "/v1") == expected, "\(method)") }
    for method in ["GET", "POST", "get", "PROPFIND"] { #expect(try way(method, "/") == "whole") }
  }

  @Test func `no spelling of a path leaves the path of an origin`() throws {
    func routed(_ match: Match, _ path: String, clients: Set<String>? = nil) -> RoutedEntry {
      var entry = RoutedEntry(name: "\(match.host)\(match.pathPrefix)", match: match, clients: clients)
      entry.originPath = path
      return entry
    }
    let router = Router(
      [
        routed(Match(host: "open.test"), "/api/v1"), routed(Match(host: "fixed.test", pathPrefix: "/v1"), "/a/b"),
        routed(Match(host: "odd.test"), "/a%20b"), routed(Match(host: "shared.test"), "/api", clients: ["billing"]),
        routed(Match(host: "shared.test"), ""),
      ], forwardsUnlisted: false, connectAllow: [])
    func way(_ url: String, _ client: ClientIdentity = anybody) throws -> String {
      let given = try Target(url)
      return given.bytes.withUnsafeBytes { bytes in
        let (host, target) = (normalisedHost(given.target.host.bytes(in: bytes)), given.target)
        do throws(RoutingError) {
          let routes = router.find(host: host, port: 80, isHTTPS: false)
          _ = try router.place(
            routes, method: .get, methodText: .empty, host: host, port: 80, isHTTPS: false, path: target.path, in: bytes,
            for: client)
          return "served"
        } catch { return "\(error)" }
      }
    }
    let ambiguous = "\(RoutingError.malformed(.ambiguousPath))"
    for path in [
      "/..", "/../x", "/x/./y", "/%2e%2e/x", "/.%2E", "//x", "/x//y", "/x%2fy", "/x\\y", "/%5cx", "/..;a/x", "/%252e%252e/x",
      "/x/%252e%252e/%252e%252e/y", "/%25252e./x", "/.%252e;a=b/x", "/%252e%252e%00",
    ] { #expect(try way("http://open.test\(path)") == ambiguous, "\(path)") }
    for path in ["", "/", "/x", "/a..b/...", "/%41;p=q/x", "/x/%252e%252e/y", "/%252e/x", "/a%252fb", "/%25", "/x/%00"] {
      #expect(try way("http://open.test\(path)") == "served", "\(path)")
      #expect(try way("http://odd.test\(path)") == "served", "\(path)")
    }
    // It leaves the path of the origin, and comes back to the match's prefix.
    #expect(try way("http://fixed.test/v1/%252e%252e/v1/x") == ambiguous)
    #expect(try way("http://fixed.test/v1/x/%252e%252e/y") == "served")
    #expect(try way("http://odd.test/%252e%252e/x") == ambiguous)
    #expect(try way("http://shared.test/%252e%252e/x", billing) == ambiguous)
    #expect(try way("http://shared.test/%252e%252e/x") == "served")
  }

  @Test func `a client that may not use an entry gets the reason, and TRACE never gets a credential`() throws {
    let router = Router()
    #expect(
      try router.way("http://api.test/v1", .get, guest) == "\(RoutingError.notAllowed(client: "guest", upstream: "versioned"))")
    #expect(try router.way("http://api.test/", .get, guest) == "whole")
    #expect(try router.way("http://api.test/v1", .trace) == "\(RoutingError.traceWithCredential)")
    #expect(try router.way("http://api.test/", .trace) == "whole")
  }

  @Test func `unlisted hosts are the index after the last entry, for clients that may reach them`() throws {
    let router = Router(forwardsUnlisted: true)
    #expect(try router.way("http://other.test:81/") == "unlisted")
    #expect(try router.way("http://a.free.test/", .get, guest) == "unlisted")
    #expect(
      try router.way("http://other.test/", .get, guest) == "\(RoutingError.notAllowed(client: "guest", upstream: "other.test"))"
    )
  }

  @Test func `CONNECT is a way to the entries of its host and port, or a tunnel where that is allowed`() {
    let router = Router()
    func way(_ host: String, _ port: UInt16, _ client: ClientIdentity = anybody) -> String {
      do throws(RoutingError) {
        switch try router.decideConnect(host: host, port: port, for: client) {
        case .tunnel: return "tunnel"
        case .served(let served): return (served.clear?.entries ?? []).map { entries[$0].name }.joined(separator: " ")
        }
      } catch { return "\(error)" }
    }
    #expect(way("api.test", 80) == "spaced deeper versioned own whole")
    #expect(way("api.test", 80, guest) == "spaced deeper versioned own whole")
    #expect(way("odd.test", 8443, guest) == "\(RoutingError.notAllowed(client: "guest", upstream: "odd.test"))")
    #expect(way("api.test", 443) == "tunnel", "443 is of https:// targets, which CONNECT is not")
    #expect(way("tunnel.test", 443) == "tunnel")
    #expect(way("tunnel.test", 443, guest) == "\(RoutingError.notAllowed(client: "guest", upstream: "tunnel.test"))")
    #expect(way("x.free.test", 22, guest) == "tunnel")
    #expect(way("tunnel.test", 80) == "\(RoutingError.connectNotAllowed(target: "tunnel.test:80"))")
    #expect(way("::2", 443) == "\(RoutingError.connectNotAllowed(target: "[::2]:443"))")
  }
}
