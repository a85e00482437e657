import HTTPWire
import Routing
import Testing

/// Which request follows a redirect, line by line of RFC 9110 section 15.4 and of what the documentation promises.
@Suite struct RedirectTests {
  @Test(
    arguments: [
      (301, "GET", "GET", true), (302, "GET", "GET", true), (303, "GET", "GET", true), (307, "GET", "GET", false),
      (308, "GET", "GET", false), (301, "HEAD", "HEAD", true), (302, "HEAD", "HEAD", true), (303, "HEAD", "HEAD", true),
      (307, "HEAD", "HEAD", false), (308, "HEAD", "HEAD", false), (301, "POST", "GET", true), (302, "POST", "GET", true),
      (303, "POST", "GET", true), (303, "PUT", "GET", true), (303, "DELETE", "GET", true), (303, "PROPFIND", "GET", true),
      (303, "get", "GET", true), (307, "POST", "POST", false), (308, "PUT", "PUT", false), (307, "PROPFIND", "PROPFIND", false),
      (308, "DELETE", "DELETE", false),
    ])
  func `status and method say what the next request is`(
    _ status: Int, _ method: String, _ next: String, _ drops: Bool
  ) throws {
    let redirect = try follow(status, method, "/next")
    #expect(redirect.target.method == next && redirect.dropsContent == drops)
    #expect(redirect.target.url.text == "https://api.test/next")
  }

  @Test(arguments: [(301, "PUT"), (302, "PUT"), (301, "DELETE"), (302, "PATCH"), (302, "OPTIONS"), (301, "post")])
  func `301 and 302 are relayed for other methods`(_ status: Int, _ method: String) {
    #expect(throws: RedirectRefusal.method) { try follow(status, method, "/next") }
  }

  @Test func `five statuses are redirects that can be followed`() {
    #expect((0...999).filter { Redirect.isStatus($0) } == [301, 302, 303, 307, 308])
  }

  @Test(
    arguments: [
      ([], RedirectRefusal.noLocation), (["/a", "/a"], .repeatedLocation), (["https://u:p@api.test/"], .userinfo),
      (["mailto:x"], .unreadable), (["https://api.test:x/"], .unreadable), (["/a b"], .unreadable),
      (["http://api.test/next"], .insecure), (["https://api.test/asked?x"], .metBefore), (["#here"], .metBefore),
      (["HTTPS://API.test.:443/asked?x#y"], .metBefore), (["?x"], .metBefore), ([""], .metBefore),
    ])
  func `a Location that is missing, repeated, unreadable, insecure or known is relayed`(
    _ locations: [String], _ refusal: RedirectRefusal
  ) {
    #expect(throws: refusal) { try follow(302, "GET", locations) }
  }

  @Test func `http may lead to https, and to http`() throws {
    for location in ["https://api.test/asked?x", "http://other.test/", "/next"] {
      _ = try follow(302, "GET", [location], asked: "http://api.test/asked?x")
    }
  }

  @Test func `another method at the same place is another target`() throws {
    let redirect = try follow(303, "POST", "/asked?x")
    #expect(redirect.target.method == "GET")
    #expect(throws: RedirectRefusal.metBefore) { try follow(307, "POST", "/asked?x") }
  }

  @Test func `a target of an earlier hop is met again`() throws {
    let asked = try ["https://api.test/1", "https://api.test/2", "https://cdn.test/3"].map {
      AskedTarget(method: "GET", url: try HTTPURL($0))
    }
    for path in ["https://api.test/1", "https://api.test/2", "/3"] {
      #expect(throws: RedirectRefusal.metBefore) { try follow(302, path, asked) }
    }
    #expect(try follow(302, "/4", asked).target.url.text == "https://cdn.test/4")
  }

  @Test func `of all that was asked, the last URL alone is kept whole`() throws {
    let asked = try (0...2).map { AskedTarget(method: "GET", url: try HTTPURL("https://h\($0).test/\($0)?x")) }
    var all = AskedTargets(asked[0])
    all.append(asked[1])
    all.append(asked[2])
    #expect(all.first.text == "https://h0.test/" && all.last.url.text == "https://h2.test/2?x" && all.count == 3)
    all.moveLast(to: asked[1].url)
    #expect(all.last.url.text == "https://h1.test/1?x" && all.count == 3)
  }

  @Test func `so many as the limit says are followed`() throws {
    let asked = try (0...3).map { AskedTarget(method: "GET", url: try HTTPURL("https://api.test/\($0)")) }
    #expect(throws: RedirectRefusal.tooMany(limit: 3)) { try follow(302, "/x", asked, limit: 3) }
    _ = try follow(302, "/x", Array(asked.dropLast()), limit: 3)
  }

  @Test func `content that is repeated must be kept, content that is lost must have arrived`() throws {
    typealias Case = (Int, String, Redirect.Body, RedirectRefusal?)
    let cases: [Case] = [
      (307, "POST", .none, nil), (307, "POST", .kept, nil), (308, "PUT", .gone, .bodyNotKept),
      (308, "PUT", .onItsWay, .bodyOnItsWay), (303, "POST", .kept, nil), (303, "POST", .gone, nil), (302, "POST", .gone, nil),
      (303, "POST", .onItsWay, .bodyOnItsWay), (307, "POST", .arriving, nil), (303, "POST", .arriving, .bodyOnItsWay),
      (302, "GET", .gone, nil), (307, "GET", .gone, .bodyNotKept),
    ]
    for (status, method, body, refusal) in cases {
      do throws(RedirectRefusal) {
        _ = try follow(status, method, ["/next"], body: body)
        #expect(refusal == nil, "\(status) \(method) \(body)")
      } catch { #expect(error == refusal, "\(status) \(method) \(body)") }
    }
  }

  /// An origin chooses the bytes, and other requests wait meanwhile.
  @Test(arguments: ["../", "/", "%", "%2e%2e/", "@", "?", "//", ";/", "1."])
  func `the time that a long Location takes is linear`(_ part: String) throws {
    let long = String(repeating: part, count: (64 << 10) / part.utf8.count)
    let base = "https://api.test/v1/" + String(repeating: "a/", count: 8 << 10)
    var pay = RoutedEntry(name: "pay", match: Match(host: "api.test", pathPrefix: "/v2"))
    pay.origins = [RoutedEntry.Origin(isHTTPS: true, host: "api.test", port: 443, changesPath: true)]
    pay.originPath = "/v1"
    let router = Router([pay], forwardsUnlisted: false, connectAllow: [])
    let rules = RedirectRules(limit: 5, methods: .all, hosts: [HostPattern(host: "a.test", isWildcard: true, port: 443)])
    // Without optimization, each byte some times takes a tenth of this, and each one for each other one takes minutes.
    let time = ContinuousClock().measure {
      for location in [long, "//" + long, "https://a.test/" + long] {
        for hidden in location == long ? [nil, 0] : [nil] {
          guard let redirect = try? follow(302, "GET", [location], asked: base, hidden: hidden) else { continue }
          _ = try? router.destination(
            of: redirect.target, from: RoutePlace(entry: 0, match: 0), first: RoutePlace(entry: 0, match: 0),
            asked: "api.test", by: rules,
            for: ClientIdentity(name: nil, access: .all))
        }
      }
    }
    #expect(time < .seconds(5))
  }

  /// The origin was asked for /bot/asked, of which the proxy knows nothing but where the segment was.
  @Test(
    arguments: [
      ("x", 0, "/x"), ("./x?y", 0, "/x?y"), ("../:hidden:/x", 0, "/x"), ("/x", 0, "/x"), ("//cdn.test/x", 0, "//cdn.test/x"),
      ("https://api.test/x", 0, "/x"), ("../x", 0, ""), ("../:hidden:x", 0, ""), ("../..", 0, ""), ("?y", 0, "/dir/asked?y"),
      ("x", 4, "/dir/x"), ("../x", 4, ""), ("../../x", 4, ""), (".", 4, "/dir/"),
    ])
  func `a reference that is relative to a path with a secret segment stays behind it`(
    _ location: String, _ place: Int, _ expected: String
  ) throws {
    let asked = place == 0 && !location.hasPrefix("?") ? "https://api.test/asked?x" : "https://api.test/dir/asked?x"
    do throws(RedirectRefusal) {
      let url = try follow(302, "GET", [location], asked: asked, hidden: place).target.url
      #expect(url.text == (expected.hasPrefix("//") ? "https:" + expected : "https://api.test" + expected))
    } catch { #expect(error == .unreadable && expected == "") }
  }

  private func follow(_ status: Int, _ method: String, _ location: String) throws(RedirectRefusal) -> Redirect {
    try follow(status, method, [location])
  }

  private func follow(
    _ status: Int, _ method: String, _ locations: [String], asked: String = "https://api.test/asked?x", hidden: Int? = nil,
    body: Redirect.Body = .none
  ) throws(RedirectRefusal) -> Redirect {
    guard let url = try? HTTPURL(asked) else { throw .unreadable }
    return try follow(status, locations, [AskedTarget(method: method, url: url)], 5, hidden, body)
  }

  private func follow(
    _ status: Int, _ location: String, _ asked: [AskedTarget], limit: Int = 5
  ) throws(RedirectRefusal) -> Redirect { try follow(status, [location], asked, limit, nil, .none) }

  private func follow(
    _ status: Int, _ locations: [String], _ asked: [AskedTarget], _ limit: Int, _ hidden: Int?, _ body: Redirect.Body
  ) throws(RedirectRefusal) -> Redirect {
    let bytes = locations.map { text in
      let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: text.utf8.count, alignment: 1)
      copy.copyBytes(from: text.utf8)
      return UnsafeRawBufferPointer(copy)
    }
    defer { for copy in bytes { copy.deallocate() } }
    guard let first = asked.first else { throw .unreadable }
    var all = AskedTargets(first)
    for target in asked.dropFirst() { all.append(target) }
    return try Redirect(status: status, locations: bytes, asked: all, hidden: hidden, limit: limit, body: body)
  }
}
