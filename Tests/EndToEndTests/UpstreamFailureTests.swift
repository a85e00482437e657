import Foundation
import Testing

/// Each failure on the way to the origin has its own answer.
@Suite struct UpstreamFailureTests {
  private func entry(_ match: String, _ origin: String, _ more: String = "") -> String {
    "  - match: \(match)\n    origin: \(origin)\n\(more.isEmpty ? "" : "    \(more)\n")"
  }

  @Test func `a certificate that does not verify is 502 tls_certificate_error, and nothing is sent`() throws {
    let origin = try Origin()
    let ports = origin.ports
    let other = try Surroundings.newFolder()
    let made = try ChildProcess.run(Surroundings.python, [Surroundings.support + "/pki.py", other])
    #expect(made.status == .exited(0))
    let configuration = """
      upstreams:
      \(entry("wrong-host.test", "https://localhost:\(ports.wrong_host)"))\
      \(entry("expired.test", "https://localhost:\(ports.expired)"))\
      \(entry("self-signed.test", "https://localhost:\(ports.self_signed)"))\
      \(entry("unknown-ca.test", "https://localhost:\(ports.https)", "trust: other"))
      trust:
        default:
          - default: {ca_file: \(try Surroundings.pki())/ca.pem, system_roots: false}
        other:
          - default: {ca_file: \(other)/ca.pem, system_roots: false}
      """
    try withProxy(configuration) { proxy in
      each(["wrong-host", "expired", "self-signed", "unknown-ca"]) { host in
        let name = Origin.newName()
        let answer = try proxy.ask("POST", "http://\(host).test/echo?id=\(name)", body: "mine")
        expectOwnAnswer(answer, 502, "tls_certificate_error")
        #expect(try origin.exchanges(name).isEmpty)
      }
    }
  }

  @Test func `an address as origin is held against the certificate's addresses`() throws {
    let origin = try Origin.shared()
    let right = entry("right.test", "https://127.0.0.1:\(origin.ports.https)")
    let wrong = entry("wrong.test", "https://127.0.0.1:\(origin.ports.wrong_host)")
    try withProxy("upstreams:\n" + right + wrong) { proxy in
      #expect(try proxy.ask("http://right.test/").status == 200)
      expectOwnAnswer(try proxy.ask("http://wrong.test/"), 502, "tls_certificate_error")
    }
  }

  @Test func `a server that speaks no TLS is 502 tls_protocol_error`() throws {
    let listener = try TestListener()
    try withProxy("upstreams:\n\(entry("clear.test", "https://localhost:\(listener.port)"))") { proxy in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://clear.test/"))
      let server = try listener.accept()
      #expect(try server.read(1) == [0x16])
      try server.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
      expectOwnAnswer(try client.readAnswer(), 502, "tls_protocol_error")
    }
  }

  @Test func `a refused port is 502 connection_refused`() throws {
    let refusing = try TestListener(backlog: nil)
    try withProxy("upstreams:\n\(entry("refused.test", "https://127.0.0.1:\(refusing.port)"))") { proxy in
      expectOwnAnswer(try proxy.ask("http://refused.test/"), 502, "connection_refused")
    }
  }

  @Test func `a name that does not exist is 502 dns_error`() throws {
    try withProxy("upstreams:\n\(entry("unknown.test", "https://does-not-exist.invalid"))") { proxy in
      expectOwnAnswer(try proxy.ask("http://unknown.test/"), 502, "dns_error")
    }
  }

  @Test func `a connection that is not answered in time is 504 connection_timeout`() throws {
    let hole = try BlackHole()
    try withProxy("timeouts: {connect: 300ms}\nupstreams:\n\(entry("hole.test", "https://127.0.0.1:\(hole.port)"))") { proxy in
      expectOwnAnswer(try proxy.ask("http://hole.test/"), 504, "connection_timeout")
    }
  }

  @Test func `a handshake that does not end in time is 504 connection_timeout`() throws {
    let listener = try TestListener()
    try withProxy("timeouts: {connect: 300ms}\nupstreams:\n\(entry("mute.test", "https://localhost:\(listener.port)"))") {
      proxy in
      expectOwnAnswer(try proxy.ask("http://mute.test/"), 504, "connection_timeout")
    }
  }

  @Test func `an origin that does not answer in time is 504 connection_read_timeout`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, [.awaitClose])
    try withProxy(try Configuration.https(top: "timeouts: {response_head: 300ms}")) { proxy in
      expectOwnAnswer(try proxy.ask("http://api.test/?id=\(name)"), 504, "connection_read_timeout")
      try origin.await(name, state: "closed")
    }
  }

  @Test func `a host that no entry matches is 403 http_request_denied`() throws {
    try withProxy(try Configuration.https()) { proxy in
      expectOwnAnswer(try proxy.ask("http://other.test/"), 403, "http_request_denied")
    }
  }

  @Test func `a failure costs the client its request, not its connection`() throws {
    let refusing = try TestListener(backlog: nil)
    let configuration = try Configuration.https().replacingOccurrences(
      of: "upstreams:\n", with: "upstreams:\n" + entry("refused.test", "https://127.0.0.1:\(refusing.port)"))
    try withProxy(configuration) { proxy in
      let client = try proxy.connect()
      for (host, status) in [("refused.test", 502), ("api.test", 200), ("other.test", 403), ("api.test", 200)] {
        try client.send(ProxyProcess.request("GET", "http://\(host)/"))
        #expect(try client.readAnswer().status == status, "\(host)")
      }
    }
  }
}
