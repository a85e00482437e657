import Foundation
import Testing

@Suite struct TraceTests {
  @Test func `TRACE with a body is 400`() throws {
    try withProxy(try Configuration.https()) { proxy in
      expectOwnAnswer(try proxy.ask("TRACE", "http://api.test/", body: "x"), 400, "http_request_error")
    }
  }

  @Test func `TRACE to an entry with a credential is 405, as its echo would show it`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try withProxy(try Configuration.https()) { proxy throws in
      #expect(try proxy.ask("TRACE", "http://api.test/?id=\(name)").status == 405)
      #expect(try origin.exchanges(name).isEmpty)
    }
  }

  @Test func `TRACE to an entry without one is forwarded`() throws {
    let origin = try Origin.shared()
    try withProxy("upstreams:\n  - match: api.test\n    origin: https://localhost:\(origin.ports.https)\n") { proxy throws in
      #expect(try proxy.ask("TRACE", "http://api.test/echo").received().method == "TRACE")
    }
  }
}
