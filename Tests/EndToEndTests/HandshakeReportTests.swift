import Foundation
import Testing

/// How handshakes of apps show in metrics and log.
@Suite struct HandshakeReportTests {
  private func count(_ proxy: ProxyProcess, _ result: String) throws -> Int {
    let text = try proxy.admin("metrics").text
    let line = text.split(separator: "\n").first { $0.hasPrefix("authproxy_intercept_handshakes_total{result=\"\(result)\"}") }
    return line.flatMap { $0.split(separator: " ").last }.flatMap { Int($0) } ?? 0
  }

  /// As the loop counts after the connection's end.
  private func awaitCount(_ proxy: ProxyProcess, _ result: String, _ wanted: Int) throws {
    let deadline = Date(timeIntervalSinceNow: 5)
    while try count(proxy, result) < wanted, Date() < deadline { usleep(20_000) }
    #expect(try count(proxy, result) == wanted, "\(result)")
  }

  @Test func `every result is counted, and an app that does not trust the CA is told of`() throws {
    try withProxy(try Intercepted.configuration(top: "timeouts: {handshake: 1s}\nadmin: 127.0.0.1:0")) { proxy throws in
      _ = try proxy.inside(ProxyProcess.last("GET", "/echo"), "--repeat", "2")
      try awaitCount(proxy, "full", 1)
      try awaitCount(proxy, "resumed", 1)
      _ = try proxy.inside("", "--sni", "other.test")
      try awaitCount(proxy, "wrong_name", 1)
      _ = try proxy.inside("", "--alpn", "h2")
      try awaitCount(proxy, "no_common_protocol", 1)
      let silent = try proxy.connect()
      try silent.send("CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n\r\n")
      _ = try silent.readToEnd()
      try awaitCount(proxy, "timeout", 1)
      for _ in 0..<2 { _ = try proxy.inside("", root: try Surroundings.pki() + "/ca.pem") }
      try awaitCount(proxy, "refused_by_client", 2)
      let lines = proxy.process.lines.filter { $0.contains("does not trust") }
      #expect(lines.count == 1, "\(lines)")
      for word in ["\"alert\":\"unknown_ca\"", "SSL_CERT_FILE", "connect.allow", "api.test:443", "127.0.0.1"] {
        #expect(lines.first?.contains(word) == true, "\(word)")
      }
      let text = try proxy.admin("metrics").text
      #expect(text.contains("\nauthproxy_intercept_leafs_total 1\n"))
      #expect(text.contains("\nauthproxy_intercept_leaf_cache_entries 1\n"))
      #expect(text.contains("\nauthproxy_ca_expiry_timestamp_seconds{ca=\""))
    }
  }

  /// So it goes where an app's own check of the certificate fails: it closes, and the tickets that it has not read make that a reset.
  @Test func `an app that leaves after the handshake may not trust the CA, however it leaves`() throws {
    try withProxy(try Intercepted.configuration(top: "admin: 127.0.0.1:0")) { proxy throws in
      _ = try proxy.inside("", "--reset")
      try awaitCount(proxy, "closed", 1)
      #expect(try count(proxy, "full") == 0)
    }
  }

  @Test func `a connection that the proxy closes unused says nothing about its app`() throws {
    try withProxy(try Intercepted.configuration(top: "timeouts: {idle: 300ms}\nadmin: 127.0.0.1:0")) { proxy throws in
      for _ in 0..<3 { #expect(try proxy.inside("", "--patience", "10").end == "close_notify") }
      try awaitCount(proxy, "full", 3)
      #expect(try count(proxy, "closed") == 0)
      #expect(!proxy.process.lines.contains { $0.contains("does not trust") })
    }
  }
}
