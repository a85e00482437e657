import Foundation
import Testing

/// What log, metrics and `/status` say about the store: the same words, and no more than they may.
@Suite struct CacheReportTests {
  private let origin: Origin
  init() throws { origin = try Origin.shared() }

  private func line(_ proxy: ProxyProcess, _ path: String) throws -> [String: Any] {
    let found = try #require(proxy.process.awaitLine { $0.contains("\"/\(path)\"") }, "no line: \(proxy.tail)")
    return try #require(try JSONSerialization.jsonObject(with: Data(found.utf8)) as? [String: Any])
  }

  @Test func `a hit, a miss, a refusal and a bypass have words in log and metrics`() throws {
    let (name, secret) = (Origin.newName(), Origin.newName())
    try origin.answers(name, "Cache-Control: max-age=600, private")
    try origin.answers(secret, "Cache-Control: no-store")
    let top = "threads: 1\nadmin: 127.0.0.1:0\n"
    try withProxy(try Configuration.https("cache: {}", top: top)) { proxy throws in
      for path in ["miss", "miss"] { _ = try proxy.ask("http://api.test/\(path)?id=\(name)", ["Cookie: k=5ecret"]) }
      _ = try proxy.ask("http://api.test/refused?id=\(secret)")
      #expect(try proxy.ask("POST", "http://api.test/bypass", body: "x").cacheStatus == "fwd=method")
      let miss = try line(proxy, "miss")
      #expect(miss["cache"] as? String == "miss" && miss["cache_age"] == nil && miss["cache_detail"] == nil, "\(miss)")
      #expect(miss["credential"] as? String == "api" && miss["upstream_address"] != nil)
      let hit = try #require(proxy.process.awaitLine { $0.contains("\"cache\":\"hit\"") })
      for field in ["upstream_address", "credential", "connect_ms", "trust", "first_byte_ms"] {
        #expect(!hit.contains("\"\(field)\""), "\(hit)")
      }
      #expect(hit.contains("\"cache_age\":") && hit.contains("\"upstream\":\"api.test\""))
      let refused = try line(proxy, "refused")
      #expect(refused["cache"] as? String == "miss" && refused["cache_detail"] as? String == "no-store", "\(refused)")
      let bypass = try line(proxy, "bypass")
      #expect(bypass["cache"] as? String == "bypass" && bypass["cache_detail"] == nil, "\(bypass)")
      for (result, count) in [("hit", 1.0), ("miss", 2), ("bypass", 1)] {
        #expect(
          try proxy.metric("authproxy_cache_requests_total{upstream=\"api.test\",result=\"\(result)\"}") == count, "\(result)")
      }
      #expect(try proxy.metric("authproxy_cache_objects") == 1)
      #expect(try proxy.metric("authproxy_cache_bytes") ?? 0 > 500)
      #expect(try proxy.metric("authproxy_cache_fetches") == 0)
      let status = try proxy.status()
      let store = try #require(status["cache"] as? [String: Any])
      #expect(store["objects"] as? Int == 1 && store["limit"] as? Int == 64 << 20)
      let upstreams = try #require(status["upstreams"] as? [[String: Any]])
      let entry = try #require(upstreams.first { $0["name"] as? String == "api.test" })
      #expect((entry["cache"] as? [String: Int]) == ["hit": 1, "miss": 2, "bypass": 1])
      let said = try proxy.admin("metrics").text + proxy.process.output
      #expect(!said.contains("5ecret") && !said.contains(name), "a query or a cookie is in log or metrics")
    }
  }

  @Test func `an entry without cache says nothing of it`() throws {
    let name = Origin.newName()
    try origin.answers(name, "Cache-Control: max-age=600")
    try withProxy(try Configuration.https("cache: off", top: "admin: 127.0.0.1:0\n")) { proxy throws in
      for _ in 0..<2 { #expect(try proxy.ask("http://api.test/plain?id=\(name)")["Cache-Status"] == nil) }
      #expect(try line(proxy, "plain")["cache"] == nil)
      #expect(try !proxy.admin("metrics").text.contains("authproxy_cache_requests_total{"))
      #expect(try proxy.metric("authproxy_cache_objects") == 0)
      #expect(try origin.exchanges(name).count == 2)
    }
  }
}
