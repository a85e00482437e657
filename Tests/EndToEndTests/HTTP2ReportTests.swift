import Foundation
import Testing

/// What the access log, metrics and the log say about HTTP/2.
@Suite struct HTTP2ReportTests {
  @Test func `requests, resets and GOAWAY are reported`() throws {
    let origin = try HTTP2Origin()
    try origin.script("reset", [.awaitEnd, .reset(2)])
    let last: [HTTP2Origin.Step] = [
      .goAway(0x7fff_ffff, 0, "soon"), .goAway(-1, 0, "now"), .goAway(-1, 2, "internal\u{1}trouble"), .goAway(-1, 2, "again"),
    ]
    try origin.script("away", [.awaitEnd] + last + HTTP2Origin.Step.answer("ok"))
    try withProxy(origin.configuration(top: "threads: 1\nadmin: 127.0.0.1:0")) { proxy throws in
      #expect(try proxy.ask("http://api.test/first").status == 200)
      let line = proxy.process.awaitLine { $0.contains("/first") }
      #expect(
        line?.contains(#""upstream_protocol":"h2""#) == true && line?.contains(#""upstream_stream":1"#) == true, "\(line ?? "")"
      )
      #expect(try proxy.ask("POST", "http://api.test/?id=reset", body: "x").status == 502)
      #expect(try proxy.ask("http://api.test/?id=away").text == "ok")
      let said = proxy.process.awaitLine { $0.contains("INTERNAL_ERROR") && $0.contains("last_stream") }
      #expect(said?.contains("internal.trouble") == true && said?.contains(#""5""#) == true, "\(said ?? "")")
      // Once for each reason; those without an error are not even worth a line.
      #expect(proxy.process.lines.count { $0.contains("last_stream") } == 1, "\(proxy.tail)")
      #expect(try proxy.metric(#"authproxy_upstream_protocol_connections_total{upstream="api.test",protocol="h2"}"#) == 1)
      #expect(
        try proxy.metric(#"authproxy_upstream_stream_resets_total{upstream="api.test",by="origin",code="INTERNAL_ERROR"}"#) == 1
      )
      #expect(try proxy.metric(#"authproxy_upstream_goaways_total{upstream="api.test",code="INTERNAL_ERROR"}"#) == 1)
      #expect(try proxy.metric(#"authproxy_upstream_goaways_total{upstream="api.test",code="NO_ERROR"}"#) == 1)
      try origin.await(.closed)
      // It stays as long as those of the connections.
      #expect(try eventually { try proxy.metric(#"authproxy_upstream_connections{upstream="api.test",state="idle"}"#) == 0 })
      #expect(try proxy.metric(#"authproxy_upstream_streams{upstream="api.test"}"#) == 0)
    }
  }

  @Test func `an error before a connection says nothing of a protocol`() throws {
    let origin = try HTTP2Origin(alpn: ["http/1.1"])
    try withProxy(origin.configuration(version: "2")) { proxy throws in
      #expect(try proxy.ask("http://api.test/")["Proxy-Status"]?.contains("next-protocol") == false)
    }
  }
}
