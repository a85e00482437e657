import Foundation
import Testing

@Suite struct OriginListUnderLoadTests {
  @Test func `an origin that is killed and brought back fails only what was in flight on it, across a reload`() throws {
    let second = try LoadGenerator.serve()
    var first = try LoadGenerator.serve()
    defer { first.process.signal(SIGKILL) }
    let name = "http://127.0.0.1:\(first.port)"
    func configuration(_ round: Int) -> String {
      OriginListTests.configuration(
        [name, "http://127.0.0.1:\(second.port)"], entry: "request_headers: {set: {X-Round: \"\(round)\"}}", top: "threads: 2")
    }
    let proxy = try ProxyProcess(configuration(0))
    defer { proxy.stop() }
    let load = try LoadGenerator.start(
      proxy, "http://api.test/", ["--clients", "200", "--rate", "500", "--requests", "100000"], seconds: 300)
    func isUp() throws -> Bool { try proxy.metric(#"authproxy_origin_up{upstream="api.test",origin="\#(name)"}"#) == 1 }
    for round in 1...4 {
      Thread.sleep(forTimeInterval: 0.3)
      first.process.signal(SIGKILL)
      // A request that was in flight is one witness, for whom alone the origin would be down. Another one finds that nobody listens.
      #expect(
        try eventually(seconds: 30) {
          _ = try proxy.ask("http://api.test/other")
          return try !isUp()
        }, "round \(round)")
      if round == 2 { try proxy.reload("listen: \(proxy.addresses[0])\n" + configuration(round)) }
      let before = Date()
      first = try LoadGenerator.serve(port: first.port)
      #expect(try eventually(seconds: 9.5) { try isUp() }, "round \(round)")
      // The pause is 5 s and a quarter at most, the one behind it 10 s.
      #expect(Date().timeIntervalSince(before) < 9.5)
    }
    load.signal(SIGTERM)
    let result = try LoadGenerator.result(load)
    #expect(result.mismatched == 0 && result.failed == 0 && result.good > 1000, "\(result)")
    #expect(Set(result.statuses.keys).isSubset(of: ["200", "502"]), "\(result)")
    #expect(result.statuses["502", default: 0] <= 40, "\(result)")
    withExtendedLifetime(second) {}
  }
}
