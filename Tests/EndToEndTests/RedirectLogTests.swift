import Foundation
import Testing

/// What the access log and the metrics say of a request whose redirects the proxy followed: the log of the last hop, the metrics of each.
@Suite struct RedirectLogTests {
  private let world: Redirecting
  init() throws { world = try Redirecting() }

  private var cdn: String { "https://\(Redirecting.cdn):\(world.port)" }

  private func logged(_ proxy: ProxyProcess, _ name: String) throws -> [String: Any] {
    guard let line = proxy.process.awaitLine(where: { $0.contains("\"/\(name)\"") }) else {
      throw HarnessError("no line with \(name):\n\(proxy.tail)")
    }
    return try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
  }

  @Test func `the line has the times, the connection and the credential of one hop`() throws {
    try withProxy(world.configuration(world.standard(), top: "threads: 1\nadmin: {address: 127.0.0.1:0}")) { proxy throws in
      let (name, target) = try world.redirecting { "\(cdn)/?id=\($0)" }
      try world.origin.script(target, [.readBody, .pause(0.3), .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")])
      #expect(try proxy.ask("http://api.test/\(name)?id=\(name)").text == "hi")
      let fields = try logged(proxy, name)
      #expect(fields["redirects"] as? Int == 1 && fields["upstream"] as? String == "api.test")
      #expect((fields["first_byte_ms"] as? Double ?? 0) >= 300, "\(fields)")
      #expect(fields["credential"] == nil && fields["credential_version"] == nil, "\(fields)")

      let (second, paid) = try world.redirecting { "https://\(Redirecting.pay):\(world.port)/base?id=\($0)" }
      #expect(try proxy.ask("http://api.test/\(second)?id=\(second)").text == "ok\n")
      #expect(try logged(proxy, second)["credential"] as? String == "pay" && world.only(paid)["X-Pay-Key"] != nil)
      // Each hop counts where it was asked.
      for (upstream, count) in [("api.test", 2.0), ("redirected", 1), ("pay", 1)] {
        let series = "authproxy_upstream_first_byte_seconds_count{upstream=\"\(upstream)\"}"
        #expect(try proxy.metric(series) == count, "\(upstream)")
      }
      #expect(try proxy.metric(#"authproxy_credential_wait_seconds_count{credential="api"}"#) == 2)
      #expect(try proxy.metric(#"authproxy_credential_wait_seconds_count{credential="pay"}"#) == 1)
      #expect(try proxy.metric(#"authproxy_requests_total{upstream="api.test",code="200"}"#) == 2)
      #expect(try proxy.metric(#"authproxy_requests_total{upstream="pay",code="200"}"#) ?? 0 == 0)
    }
  }

  @Test func `a connection of an earlier hop leaves nothing in the line`() throws {
    let parent = try ParentServer()
    let top = "threads: 1\nparents: {corporate: {url: \"\(parent.url("http"))\"}}"
    try withProxy(world.configuration(world.standard(), entry: ", via: corporate", top: top)) { proxy throws in
      #expect(try proxy.ask("http://clear.test/warm?id=\(world.redirecting { "\(cdn)/?id=\($0)" }.0)").text == "ok\n")
      // A new connection through a parent, then an old one that goes there directly.
      let (name, target) = try world.redirecting { "\(cdn)/?id=\($0)" }
      #expect(try proxy.ask("http://api.test/\(name)?id=\(name)").text == "ok\n")
      let fields = try logged(proxy, name)
      #expect(fields["reused"] as? Bool == true && fields["connect_ms"] == nil && fields["tls_ms"] == nil, "\(fields)")
      #expect(fields["via"] == nil && fields["upstream_address"] as? String == "127.0.0.1:\(world.port)", "\(fields)")
      #expect(try world.only(target).tls?.sni == Redirecting.cdn)
    }
  }

  @Test func `the line of a hop that was never reached has no connection, and no first byte`() throws {
    let closed = "https://\(Redirecting.cdn):9"
    try withProxy(world.configuration("{follow: 2, to: [\"\(Redirecting.cdn):9\"]}")) { proxy throws in
      let name = Origin.newName()
      try world.origin.script(name, [.readBody, Redirecting.answer(302, "\(closed)/")])
      #expect(try proxy.ask("http://api.test/\(name)?id=\(name)").status == 502)
      let fields = try logged(proxy, name)
      for field in ["upstream_address", "reused", "connect_ms", "tls_ms", "first_byte_ms", "credential"] {
        #expect(fields[field] == nil, "\(field): \(fields)")
      }
      #expect(
        fields["redirects"] as? Int == 1 && fields["attempts"] as? Int == 2 && fields["status"] as? Int == 502, "\(fields)")
    }
  }
}
