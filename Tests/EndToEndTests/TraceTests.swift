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

  /// With Max-Forwards the parent itself is its recipient.
  @Test(arguments: ["basic", "digest"])
  func `TRACE that would carry a parent's credential is 405, and by a tunnel it is forwarded`(_ kind: String) throws {
    let (parent, origin) = (try ParentServer(), try Origin.shared())
    let digest = kind == "digest" ? #", "digest": {"algorithm": "SHA-256"}"# : ""
    try parent.set(#"{"login": "\#(ParentServer.login)"\#(digest)}"#)
    func configuration(_ keys: String) -> String {
      """
      via: corporate
      parents: {corporate: {url: "\(parent.url("http"))", credential: proxy-login\(keys)}}
      upstreams: [{match: plain.test, origin: "http://localhost:\(origin.ports.http)"}]
      credentials: {proxy-login: {\(kind): {username: proxyuser, password: pw-5ecret-parent}}}

      """
    }
    try withProxy(configuration("")) { proxy throws in
      for _ in 0..<2 {
        let refused = try proxy.ask("TRACE", "http://plain.test/echo", ["Max-Forwards: 1"])
        expectOwnAnswer(refused, 405, "http_request_denied")
        #expect(!refused.text.contains("roxy-Authorization"))
      }
      // Nobody waits for what comes of it.
      #expect(try parent.asked().isEmpty)
      #expect(try proxy.ask("http://plain.test/echo").status == 200)
      #expect(try proxy.ask("TRACE", "http://plain.test/echo").status == 405)
    }
    try withProxy(configuration(", tunnel_http: true")) { proxy throws in
      #expect(try proxy.ask("TRACE", "http://plain.test/echo").received().method == "TRACE")
    }
  }
}
