import Foundation
import Testing

/// An origin whose certificate is revoked loses all that it ever said.
@Suite struct CacheTrustTests {
  @Test(arguments: ["ocsp", "crl"])
  func `a verdict of one entry drops what all entries have from that origin, and nothing from another`(_ method: String) throws
  {
    let world = try TrustWorld()
    let (server, elsewhere) = (try KeepAliveServer(world, method), try KeepAliveServer(world, "good"))
    let place = "https://localhost:\(server.port)"
    let checked = "- revocation: {check: leaf, methods: [\(method)]}"
    let cache = ["cache: {default_ttl: 10m, stale_if_error: 10m}"]
    let cases = [
      TrustCase("lax", place, [world.root], entry: cache), TrustCase("strict", place, [world.root, checked], entry: cache),
      TrustCase("plain", place, [world.root, checked]),
      TrustCase("elsewhere", "https://localhost:\(elsewhere.port)", [world.root], entry: cache),
    ]
    try world.set(method, "revoked")
    let top = RevocationByOCSPTests.loopback + "\nadmin: 127.0.0.1:0"
    try withProxy(TrustCase.configuration(cases, top: top)) { proxy throws in
      func isHit(_ name: String) throws -> Bool {
        try proxy.ask("http://\(name).test/").cacheStatus?.hasPrefix("hit") == true
      }
      for name in ["lax", "elsewhere"] { #expect(try !isHit(name) && isHit(name)) }
      // Who asks need not have a store.
      try proxy.expectRefused("plain", "revocation: revoked")
      #expect(try eventually { try proxy.metric(#"authproxy_cache_evictions_total{reason="trust"}"#) == 1 })
      #expect(try !isHit("lax") && isHit("lax"))
      #expect(try isHit("elsewhere"))
      try proxy.expectRefused("strict", "revocation: revoked")
      #expect(try eventually { try proxy.metric(#"authproxy_cache_evictions_total{reason="trust"}"#) == 2 })
      #expect(try proxy.metric("authproxy_cache_objects") == 1)
    }
  }
}
