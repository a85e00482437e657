import Foundation
import Testing

/// Inside of an intercepted connection there is one authority: the CONNECT's, which SNI, target and Host must say, too.
@Suite struct OneAuthorityInsideTests {
  @Test func `another SNI ends the handshake with an alert`() throws {
    try withProxy(try Intercepted.configuration(entries: "  - {match: \"https://other.test\"}")) { proxy in
      for name in ["other.test", "api.test.evil.test", "x.api.test"] {
        let seen = try proxy.inside(ProxyProcess.last("GET", "/echo"), "--sni", name)
        #expect(seen.handshake.contains("UNRECOGNIZED_NAME"), "\(seen)")
        #expect(seen.received.isEmpty)
      }
    }
  }

  @Test func `another scheme, host or port in target or Host is 421 and reaches nobody`() throws {
    let origin = try Origin()
    let other = "  - {match: \"https://other.test\", origin: \"https://localhost:\(origin.ports.https)\", credential: api}"
    try withProxy(try Intercepted.configuration(entries: other, origin: origin)) { proxy throws in
      let before = try origin.connections("https").accepted
      let requests = [
        ProxyProcess.last("GET", "/echo", host: "other.test"), ProxyProcess.last("GET", "/echo", host: "api.test:8443"),
        ProxyProcess.last("GET", "/echo", host: "api.test:80"),
        ProxyProcess.last("GET", "https://other.test/echo"), ProxyProcess.last("GET", "http://api.test/echo"),
        ProxyProcess.last("GET", "http://api.test:443/echo"),
        ProxyProcess.last("GET", "https://api.test:8443/echo"),
        ProxyProcess.last("GET", "https://api.test/echo", host: "other.test"),
        ProxyProcess.last("OPTIONS", "*", host: "other.test"),
      ]
      for request in requests {
        let seen = try proxy.inside(request)
        #expect(seen.statuses == [421], "\(request): \(seen)")
        #expect(!seen.received.contains(Configuration.secretMark))
      }
      #expect(try origin.connections("https").accepted == before)
    }
  }

  @Test func `the default port, case and a trailing dot make no difference`() throws {
    try withProxy(try Intercepted.configuration()) { proxy throws in
      for host in ["api.test:443", "API.test", "api.test."] {
        #expect(try proxy.inside(ProxyProcess.last("GET", "/echo", host: host)).statuses == [200], "\(host)")
      }
      #expect(try proxy.inside(ProxyProcess.last("GET", "https://api.test/echo")).statuses == [200])
      #expect(
        try proxy.inside(ProxyProcess.last("GET", "/echo"), target: "API.test.:443", "--sni", "api.test").statuses == [200])
    }
  }

  @Test func `host_header app keeps what the app asked for, inside and after a CONNECT in the clear`() throws {
    let clear = "  - {match: api.test, origin: \"https://localhost:\(try Origin.shared().ports.https)\", host_header: app}"
    try withProxy(try Intercepted.configuration(entry: "host_header: app", entries: clear)) { proxy throws in
      #expect(try proxy.inside(ProxyProcess.last("GET", "/echo", host: "API.test:443")).echoed()["Host"] == "api.test")
      let client = try proxy.connect()
      try client.send("CONNECT api.test:80 HTTP/1.1\r\nHost: api.test:80\r\n\r\n")
      #expect(try client.readAnswer(to: "CONNECT").status == 200)
      try client.send(ProxyProcess.request("GET", "/echo", ["Host: other.test"]))
      #expect(try client.readAnswer().received()["Host"] == "api.test:80")
    }
  }

  @Test func `there is no CONNECT inside, and no TLS inside of TLS`() throws {
    try withProxy(try Intercepted.configuration()) { proxy throws in
      let connect = try proxy.inside("CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n\r\n")
      #expect(connect.statuses == [405], "\(connect)")
      let hello = try proxy.inside("\u{16}\u{03}\u{01}\u{00}\u{05}\u{01}\u{00}\u{00}\u{01}\u{00}")
      #expect(hello.statuses == [400], "\(hello)")
    }
  }

  @Test func `clear HTTP after the 200 never gets the https entry's credential`() throws {
    try withProxy(try Intercepted.configuration()) { proxy throws in
      let client = try proxy.connect()
      try client.send("CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n\r\n")
      #expect(try client.readAnswer(to: "CONNECT").status == 200)
      try client.send(ProxyProcess.request("GET", "/echo", ["Host: api.test"]))
      let answer = try client.readAnswer()
      #expect(answer.status == 403 && answer.proxyError == "http_request_denied", "\(answer.head)")
    }
    // Also where hosts that no entry lists are forwarded.
    try withProxy(try Intercepted.configuration(top: "unlisted_hosts: forward")) { proxy in
      let client = try proxy.connect()
      try client.send("CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n\r\n")
      #expect(try client.readAnswer(to: "CONNECT").status == 200)
      try client.send(ProxyProcess.request("GET", "/echo", ["Host: api.test"]))
      #expect(try client.readAnswer().status == 403)
    }
  }

  @Test func `clear HTTP after the 200 is served by an entry without a scheme, TLS by the other`() throws {
    let port = try Origin.shared().ports.https
    let clear = "  - {match: \"api.test:443\", origin: \"https://localhost:\(port)\"}"
    try withProxy(try Intercepted.configuration(entries: clear)) { proxy throws in
      let client = try proxy.connect()
      try client.send("CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n\r\n")
      #expect(try client.readAnswer(to: "CONNECT").status == 200)
      try client.send(ProxyProcess.request("GET", "/echo", ["Host: api.test"]))
      #expect(try client.readAnswer().received()["Authorization"] == nil)
      let seen = try proxy.inside(ProxyProcess.last("GET", "/echo"))
      #expect(try seen.echoed()["Authorization"] == "Bearer \(Configuration.token)")
    }
  }

  @Test func `a pinned host is exempted from a wildcard, and a host from a wildcard of tunnels`() throws {
    let port = try Origin.shared().ports.https
    let text = """
      upstreams:
        - match: https://*.wild.test
          origin: https://localhost:\(port)
          credential: api
        - {match: "https://localhost:\(port)", origin: "https://localhost:\(port)"}
      credentials:
        api: {bearer: {token: \(Configuration.token)}}
      intercept: {ca: {generate: ca}}
      connect: {allow: ["pinned.wild.test:443", "*:\(port)"]}
      forbidden_addresses: []
      """
    try withProxy(text) { proxy throws in
      // Nothing is there behind the tunnel: but it is not intercepted.
      #expect(try proxy.inside("", target: "pinned.wild.test:443").connect == 502)
      #expect(
        try proxy.inside(ProxyProcess.last("GET", "/echo", host: "a.wild.test"), target: "a.wild.test:443").statuses == [200])
      let seen = try proxy.inside(
        ProxyProcess.last("GET", "/echo", host: "localhost:\(port)"), target: "localhost:\(port)")
      #expect(seen.statuses == [200], "\(seen)")
    }
  }
}
