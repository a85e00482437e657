import HTTPWire
import Routing
import Testing

@Suite struct RouteMemoTests {
  @Test func `a memo belongs to its last target, whatever it was before`() throws {
    let (router, other) = (Router(), Router([entry("new", "api.test")], forwardsUnlisted: false, connectAllow: []))
    var memo = RouteMemo()
    let steps: [(String, Router, Int, String, UInt16, Int)] = [
      ("http://api.test/", router, 1, "api.test", 80, 5), ("http://api.test/x", router, 1, "api.test", 80, 5),
      ("http://api.tesu/", router, 1, "api.tesu", 80, 0), ("http://API.test/", router, 1, "api.test", 80, 5),
      ("https://API.test/", router, 1, "api.test", 443, 5), ("http://api.test:8080/", router, 1, "api.test", 8080, 0),
      ("http://api.test:8080/", other, 2, "api.test", 8080, 0), ("http://api.test/", other, 2, "api.test", 80, 1),
      ("http://api.test/", router, 3, "api.test", 80, 5),
    ]
    for (url, router, generation, host, port, count) in steps {
      let given = try Target(url)
      given.bytes.withUnsafeBytes { memo.follow(given.target, in: $0, by: router, generation: generation) }
      #expect(memo.host == host && memo.port == port && memo.routes?.entries.count ?? 0 == count, "\(url) \(generation)")
      #expect(url.contains("/\(memo.text)/"))
    }
  }
}
