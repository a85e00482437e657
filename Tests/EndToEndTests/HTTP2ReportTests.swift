import Foundation
import Testing

/// What the access log, metrics and the log say about HTTP/2.
@Suite struct HTTP2ReportTests {
  @Test func `requests, resets and GOAWAY are reported`() throws {
    let origin = try HTTP2Origin()
    try origin.script("reset", [.awaitEnd, .reset(2)])
    try origin.script("away", HTTP2Origin.Step.answer("ok") + [.goAway(-1, 2, "internal\u{1}trouble")])
    try withProxy(origin.configuration(top: "threads: 1\nadmin: 127.0.0.1:0")) { proxy throws in
      #expect(try proxy.ask("http://api.test/first").status == 200)
      let line = proxy.process.awaitLine { $0.contains("/first") }
      #expect(
        line?.contains(#""upstream_protocol":"h2""#) == true && line?.contains(#""upstream_stream":1"#) == true, "\(line ?? "")"
      )
      #expect(try proxy.ask("POST", "http://api.test/?id=reset", body: "x").status == 502)
      #expect(try proxy.ask("http://api.test/?id=away").text == "ok")
      let last = proxy.process.awaitLine { $0.contains("INTERNAL_ERROR") && $0.contains("last_stream") }
      #expect(last?.contains("internal.trouble") == true && last?.contains(#""5""#) == true, "\(last ?? "")")
      #expect(try proxy.metric(#"authproxy_upstream_protocol_connections_total{upstream="api.test",protocol="h2"}"#) == 1)
      #expect(
        try proxy.metric(#"authproxy_upstream_stream_resets_total{upstream="api.test",by="origin",code="INTERNAL_ERROR"}"#) == 1
      )
      #expect(try proxy.metric(#"authproxy_upstream_goaways_total{upstream="api.test",code="INTERNAL_ERROR"}"#) == 1)
      #expect(try proxy.metric(#"authproxy_upstream_streams{upstream="api.test"}"#) ?? 0 == 0)
    }
  }

  @Test func `an error before a connection says nothing of a protocol`() throws {
    let origin = try HTTP2Origin(alpn: ["http/1.1"])
    try withProxy(origin.configuration(version: "2")) { proxy throws in
      #expect(try proxy.ask("http://api.test/")["Proxy-Status"]?.contains("next-protocol") == false)
    }
  }
}
