import Foundation
import Testing

/// Entries whose requests go through a parent proxy.
@Suite struct CacheParentTests {
  @Test(arguments: ["http", "https"])
  func `a hit asks no parent, whether by CONNECT or in absolute-form, and another way is another store`(_ scheme: String) throws
  {
    let (parent, other) = (try ParentServer(), try ParentServer())
    for one in [parent, other] { try one.set(#"{"login": "\#(ParentServer.login)"}"#) }
    func text(_ parent: ParentServer) throws -> String {
      try ParentTunnelTests.configuration(parent, scheme: scheme, more: "admin: 127.0.0.1:0\n")
        .replacingOccurrences(of: "credential: api}", with: "credential: api, cache: {default_ttl: 10m}}")
    }
    try withProxy(try text(parent)) { proxy throws in
      for host in ["api.test", "plain.test"] {
        let url = "http://\(host)/echo?x"
        let miss = try proxy.ask(url)
        #expect(miss.status == 200 && miss.cacheStatus == "fwd=uri-miss; stored", "\(miss.head)")
        let asked = try parent.asked().count
        let hit = try proxy.ask(url)
        #expect(hit.cacheStatus?.hasPrefix("hit") == true && hit.body == miss.body, "\(hit.head)")
        #expect(try parent.asked().count == asked)
        #expect(!miss.text.contains("pw-5ecret"))
      }
      try proxy.reload(try text(other))
      #expect(try proxy.metric("authproxy_cache_objects") == 0)
      for host in ["api.test", "plain.test"] {
        #expect(try proxy.ask("http://\(host)/echo?x").cacheStatus == "fwd=uri-miss; stored")
      }
      #expect(try !other.asked().isEmpty)
    }
  }

  @Test func `what a parent answers itself is not stored`() throws {
    let parent = try ParentServer()
    try parent.set(#"{"login": "someone:else-5ecret"}"#)
    let text = try ParentTunnelTests.configuration(parent, more: "admin: 127.0.0.1:0\n")
      .replacingOccurrences(of: "credential: api}", with: "credential: api, cache: {default_ttl: 10m, minimum_ttl: 10m}}")
    try withProxy(text) { proxy throws in
      for host in ["api.test", "plain.test"] {
        for _ in 0..<2 { #expect(try proxy.ask("http://\(host)/echo?x").status >= 500) }
      }
      #expect(try proxy.metric("authproxy_cache_objects") == 0)
    }
  }
}
