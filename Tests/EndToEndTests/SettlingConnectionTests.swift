import Foundation
import Testing

/// Part of a TLS record after a response leaves open whether the connection may be reused. This state has one deadline, however
/// many events come before it.
@Suite struct SettlingConnectionTests {
  @Test(arguments: [Wire.tls12, .tls13]) func `a record that trickles in behind an answer keeps its place for two seconds only`(
    wire: Wire
  ) throws {
    let origin = try Origin.hostile()
    let text = """
      threads: 1
      admin: 127.0.0.1:0
      limits: {upstream_connections: 1}
      timeouts: {connect: 30s}
      upstreams:
        - {match: api.test, origin: "\(try wire.url(origin))"}
      """
    try withProxy(text) { proxy in
      let name = Origin.newName()
      let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
      let trickle = (0..<24).flatMap { _ in [Origin.Step.pause(0.5), .cut(0, 1)] }
      try origin.script(name, [.record(answer), .record(String(repeating: "x", count: 5000)), .cut(1, 10)] + trickle)
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
      #expect(try client.readAnswer().text == "ok")
      let start = Date()
      #expect(try proxy.ask("http://api.test/status/202").status == 202)
      #expect(Date().timeIntervalSince(start) < 3)
      #expect(try origin.await(name, state: "closed", seconds: 3)[0].connection == 1)
      #expect(try proxy.metric(#"authproxy_upstream_connection_discards_total{upstream="api.test"}"#) == 1)
    }
  }
}
