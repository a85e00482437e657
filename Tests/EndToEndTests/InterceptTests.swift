import Foundation
import Testing

/// `match: https://...`: the proxy answers the handshake of a CONNECT itself, and serves what is inside as everything else.
@Suite struct InterceptTests {
  @Test func `curl gets the entry's answer over TLS, credential and all`() throws {
    try withProxy(try Intercepted.configuration()) { proxy throws in
      let common = ["-sS", "--noproxy", "", "--cacert", proxy.root, "-x", "http://127.0.0.1:\(proxy.port)"]
      let got = try ChildProcess.run("curl", common + ["https://api.test/echo?q=1", "https://api.test/echo?q=2"])
      #expect(got.status == .exited(0), "\(got.errors)")
      #expect(got.output.components(separatedBy: "Bearer \(Configuration.token)").count >= 3, "\(got.output)")
      let body = String(repeating: "x", count: 1 << 20)
      let posted = try ChildProcess.run("curl", common + ["--data-binary", "@-", "https://api.test/echo"], input: body)
      let received = try JSONDecoder().decode(Received.self, from: Data(posted.output.utf8))
      #expect(received.body_length == 1 << 20)
      // An app that does not trust the CA gets nothing.
      let refused = try ChildProcess.run(
        "curl", ["-sS", "--noproxy", "", "-x", "http://127.0.0.1:\(proxy.port)", "https://api.test/"])
      #expect(refused.status == .exited(60), "\(refused.errors)")
    }
  }

  @Test(arguments: ["1.2", "1.3"])
  func `keep-alive, close_notify at the end, and http 1.1 in ALPN`(version: String) throws {
    try withProxy(try Intercepted.configuration()) { proxy throws in
      let requests = ProxyProcess.request("GET", "/echo?a", ["Host: api.test"]) + ProxyProcess.last("GET", "/echo?b")
      let seen = try proxy.inside(requests, "--tls", version, "--alpn", "h2,http/1.1")
      #expect(seen.statuses == [200, 200], "\(seen)")
      #expect(seen.alpn == "http/1.1" && seen.end == "close_notify", "\(seen)")
      #expect(try seen.echoed().target == "/echo?b")
    }
  }

  @Test func `a ClientHello in the packet of the CONNECT is not lost, nor one that comes a byte at a time`() throws {
    try withProxy(try Intercepted.configuration()) { proxy throws in
      for option in ["--together", "--bytewise"] {
        let seen = try proxy.inside(ProxyProcess.last("GET", "/echo"), option)
        #expect(seen.statuses == [200], "\(option): \(seen)")
      }
    }
  }

  @Test func `rewritten URLs are https, Secure and HSTS stay, Alt-Svc goes`() throws {
    let origin = try Origin.shared()
    let place = "https://localhost:\(origin.ports.https)"
    for (match, host) in [("https://api.test", "api.test"), ("https://*.wild.test:8443", "a.wild.test:8443")] {
      let name = Origin.newName()
      let fields =
        "Location: \(place)/next\r\nStrict-Transport-Security: max-age=1\r\nAlt-Svc: h3=\":443\"\r\nSet-Cookie: a=b; Secure\r\n"
      try origin.script(name, [.readBody, .send("HTTP/1.1 302 Found\r\n\(fields)Content-Length: 0\r\n\r\n")])
      try withProxy(try Intercepted.configuration(match: match)) { proxy throws in
        let target = host.contains(":") ? host : host + ":443"
        let seen = try proxy.inside(ProxyProcess.last("GET", "/?id=\(name)", host: host), target: target)
        #expect(seen.received.contains("Location: https://\(host)/next\r\n"), "\(seen)")
        #expect(seen.received.contains("Strict-Transport-Security: max-age=1\r\n"))
        #expect(seen.received.contains("Set-Cookie: a=b; Secure\r\n"))
        #expect(!seen.received.lowercased().contains("alt-svc"))
      }
    }
  }

  @Test func `each host below a wildcard has a leaf of its own`() throws {
    let configuration = try Intercepted.configuration(match: "https://*.wild.test")
    try withProxy(configuration) { proxy throws in
      for name in ["a.wild.test", "b.c.wild.test"] {
        let seen = try proxy.inside(ProxyProcess.last("GET", "/echo", host: name), target: "\(name):443")
        #expect(seen.statuses == [200], "\(seen)")
      }
      #expect(try proxy.inside("", target: "wild.test:443").connect == 403)
    }
  }

  @Test func `a half-close by close_notify still gets its answer`() throws {
    try withProxy(try Intercepted.configuration()) { proxy throws in
      let seen = try proxy.inside(
        ProxyProcess.request("GET", "/echo", ["Host: api.test"]), "--half-close", "--tls", "1.3")
      #expect(seen.statuses == [200] && seen.end == "close_notify", "\(seen)")
    }
  }

  @Test func `WebSocket works inside`() throws {
    try withProxy(try Intercepted.configuration()) { proxy throws in
      let seen = try proxy.inside(ProxyProcess.request("GET", "/", ["Host: api.test"] + WebSocketTests.fields) + "ping")
      #expect(seen.statuses == [101], "\(seen)")
      #expect(seen.received.hasSuffix("ping"), "\(seen)")
    }
  }

  @Test func `the access line of a request inside says https`() throws {
    try withProxy(try Intercepted.configuration()) { proxy throws in
      _ = try proxy.inside(ProxyProcess.last("GET", "/echo"))
      let line = proxy.process.awaitLine(seconds: 5) { $0.contains("\"path\":\"/echo\"") }
      #expect(line?.contains("\"scheme\":\"https\"") == true, "\(line ?? "")")
      #expect(line?.contains("\"authority\":\"api.test\"") == true, "\(line ?? "")")
    }
  }
}
