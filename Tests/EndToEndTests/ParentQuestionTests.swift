import Foundation
import Testing

/// What the proxy asks about revocation, through parents that take requests in absolute-form.
@Suite struct ParentQuestionTests {
  /// Entries `ocsp.test` and `crl.test`, reached directly; the answers about them are required, and asked for `via`.
  private func configuration(
    _ world: TrustWorld, via: String, parents: [(name: String, parent: ParentServer)], password: String = "pw-5ecret-parent"
  ) throws -> (text: String, servers: [TLSServer]) {
    let servers = try ["named-ocsp", "named-crl"].map { try TLSServer(world, $0) }
    let lines = parents.map { "  \($0.name): {url: \"\($0.parent.url("http"))\", credential: login-\($0.name)}" }
    let logins = parents.map { "  login-\($0.name): {basic: {username: proxyuser, password: \(password)}}" }
    let text = """
      via: \(via)
      parents:
      \(lines.joined(separator: "\n"))
      credentials:
      \(logins.joined(separator: "\n"))
      upstreams:
        - {match: ocsp.test, origin: "https://localhost:\(servers[0].port)", trust: judged, via: direct}
        - {match: crl.test, origin: "https://localhost:\(servers[1].port)", trust: judged, via: direct}
      trust:
        judged:
          \(world.root)
          - revocation: {check: leaf, methods: [ocsp, crl], timeout: 6s, require_positive_response: true}
      admin: 127.0.0.1:0
      threads: 1

      """
    return (text, servers)
  }

  @Test func `they are sent as apps' requests are, with Via and the credential`() throws {
    let (world, parent) = (try TrustWorld(), try ParentServer())
    try parent.set(#"{"login": "\#(ParentServer.login)"}"#)
    let (text, servers) = try configuration(world, via: "one", parents: [("one", parent)])
    try withExtendedLifetime(servers) {
      try withProxy(text) { proxy throws in
        #expect(try proxy.ask("http://ocsp.test/").status == 200, "\(proxy.tail)")
        #expect(try proxy.ask("http://crl.test/").status == 200, "\(proxy.tail)")
        let asked = try parent.asked()
        let base = "http://authority.test:\(world.port)/live"
        #expect(asked.map(\.target) == ["\(base)/named-ocsp", "\(base)/named-crl"])
        for one in asked {
          #expect(one.fields["via"] == ["1.1 authproxy"])
          #expect(one.fields["proxy-authorization"]?.count == 1)
        }
      }
    }
  }

  @Test(arguments: ["", #"HTTP/1.1 100 Continue\r\n\r\n"#, #"HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 102 Soon\r\n\r\n"#])
  func `a wrong password is sent once, also if the parent says something before its 407`(_ before: String) throws {
    let (world, parent) = (try TrustWorld(), try ParentServer())
    try parent.set(#"{"login": "other:5ecret", "before": "\#(before)"}"#)
    let (text, servers) = try configuration(world, via: "one", parents: [("one", parent)])
    try withExtendedLifetime(servers) {
      try withProxy(text) { proxy throws in
        for host in ["ocsp.test", "crl.test"] {
          expectOwnAnswer(try proxy.ask("http://\(host)/"), 502, "tls_certificate_error")
        }
        #expect(try parent.asked().count == 1)
      }
    }
  }

  @Test(arguments: ["", #"HTTP/1.1 103 Early\r\n\r\n"#])
  func `a password that was replaced is read again, and the question asked once more`(_ before: String) throws {
    let (world, parent) = (try TrustWorld(), try ParentServer())
    try parent.set(#"{"login": "proxyuser:pw-5ecret-new", "before": "\#(before)"}"#)
    let file = try Surroundings.newFolder() + "/password"
    try ProxyProcess.write("pw-5ecret-old", to: file)
    let (text, servers) = try configuration(world, via: "one", parents: [("one", parent)], password: "{file: \(file)}")
    try withExtendedLifetime(servers) {
      try withProxy(text) { proxy throws in
        try ProxyProcess.write("pw-5ecret-new", to: file)
        #expect(try proxy.ask("http://ocsp.test/").status == 200, "\(proxy.tail)")
        #expect(try parent.asked().count <= 2)
        #expect(try world.count("named-ocsp") == 1)
      }
    }
  }

  @Test(arguments: [#"{"closes": true}"#, #"{"silent": ""}"#])
  func `the next parent is asked where the first gives no answer, and the first is down`(_ fault: String) throws {
    let (world, first, second) = (try TrustWorld(), try ParentServer(), try ParentServer())
    try first.set(fault)
    let (text, servers) = try configuration(world, via: "[one, two]", parents: [("one", first), ("two", second)])
    try withExtendedLifetime(servers) {
      try withProxy(text) { proxy throws in
        #expect(try proxy.ask("http://ocsp.test/").status == 200, "\(proxy.tail)")
        #expect(try second.asked().count == 1)
        #expect(try proxy.metric(#"authproxy_parent_up{parent="one"}"#) == 0)
        _ = try first.news()
        // Both kinds of requests have one memory of health.
        #expect(try proxy.ask("http://crl.test/").status == 200, "\(proxy.tail)")
        #expect(try first.asked().isEmpty)
        #expect(try second.asked().count == 2)
      }
    }
  }

  @Test func `nothing goes around parents that give no answer`() throws {
    let (world, first, second) = (try TrustWorld(), try ParentServer(), try ParentServer())
    for parent in [first, second] { try parent.set(#"{"closes": true}"#) }
    let (text, servers) = try configuration(world, via: "[one, two]", parents: [("one", first), ("two", second)])
    try withExtendedLifetime(servers) {
      try withProxy(text + "hosts: {authority.test: [127.0.0.1]}\n") { proxy throws in
        expectOwnAnswer(try proxy.ask("http://ocsp.test/"), 502, "tls_certificate_error")
        #expect(try world.count("named-ocsp") == 0)
      }
    }
  }

  @Test func `a way that leads back to this proxy ends there`() throws {
    let (world, parent) = (try TrustWorld(), try ParentServer())
    let (text, servers) = try configuration(world, via: "one", parents: [("one", parent)])
    try withExtendedLifetime(servers) {
      try withProxy(text + "unlisted_hosts: forward\n") { proxy throws in
        try parent.set(#"{"pipe": \#(proxy.port)}"#)
        expectOwnAnswer(try proxy.ask("http://ocsp.test/"), 502, "tls_certificate_error")
        // The question has come back as a request, which the proxy knows by its own name in Via.
        let line = proxy.process.awaitLine { $0.contains("\"method\":\"POST\"") }
        #expect(line?.contains("\"error\":\"proxy_loop_detected\"") == true, "\(proxy.tail)")
        #expect(try proxy.ask("http://far.test/").status == 508)
        #expect(try world.count("named-ocsp") == 0)
      }
    }
  }
}
