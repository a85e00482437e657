import Foundation
import Testing

/// The origins of a list are one to the store.
@Suite struct CacheOriginListTests {
  @Test func `a hit needs none of them, and a write to one drops what another has said`() throws {
    let (first, second) = (try ListedOrigin(), try ListedOrigin())
    let urls = [first.url("localhost"), second.url("127.0.0.1")]
    try withProxy(OriginListTests.configuration(urls, entry: "cache: {default_ttl: 10m}")) { proxy throws in
      func ask(_ path: String, _ method: String = "GET") throws -> (port: Int, isHit: Bool) {
        let answer = try proxy.ask(method, "http://api.test\(path)", body: method == "POST" ? "x" : nil)
        let listed = try #require(answer.listed, "\(answer.head)")
        return (listed.port, answer.cacheStatus?.hasPrefix("hit") == true)
      }
      #expect(try ask("/a") == (first.port, false))
      #expect(try ask("/a") == (first.port, true))
      first.kill()
      #expect(try ask("/a") == (first.port, true))
      #expect(try ask("/b") == (second.port, false))
      #expect(try ask("/b") == (second.port, true))
      #expect(try ask("/a", "POST").port == second.port)
      #expect(try ask("/a") == (second.port, false))
      second.kill()
      #expect(try ask("/a") == (second.port, true) && ask("/b") == (second.port, true))
      #expect(try proxy.ask("http://api.test/c").status == 502)
    }
  }
}
