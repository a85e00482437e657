import Foundation
import Testing

/// Kerberos towards a parent proxy, with MIT's KDC and MIT's acceptor: with CONNECT, and in absolute-form.
@Suite(.needsKerberos) struct PeerParentNegotiateTests {
  private let realm: KerberosRealm
  private let parent: KerberosParent

  init() throws {
    realm = try KerberosRealm()
    parent = try KerberosParent(realm)
  }

  private func configuration(_ keys: String? = nil, origin: Origin? = nil, threads: Int = 1) throws -> String {
    let ports = try (origin ?? Origin.shared()).ports
    return """
      via: corporate
      parents: {corporate: {url: "http://localhost:\(parent.port)", credential: proxy-login}}
      upstreams:
        - {match: api.test, origin: "https://localhost:\(ports.https)"}
        - {match: plain.test, origin: "http://localhost:\(ports.http)"}
        - {match: evil.test, origin: "http://127.0.0.1:\(ports.http)"}
      credentials:
        proxy-login: {allow_plaintext: true, negotiate: {\(keys ?? "keytab: \(realm.clientKeytab)")}}
      connect: {allow: ["*.far.test:\(ports.http)"]}
      admin: 127.0.0.1:0
      threads: \(threads)

      """
  }

  @Test(arguments: ["Proxy-Authentication-Info", "Proxy-Authenticate"])
  func `a token authenticates the connection, whose other requests need none`(_ field: String) throws {
    try parent.set(#"{"field": "\#(field)"}"#)
    let keys = "password: pass-5ecret, principal: svc@EXAMPLE.TEST, mutual: required"
    try withProxy(try configuration(keys), environment: realm.environment) { proxy throws in
      for _ in 0..<3 {
        let answer = try proxy.ask("http://plain.test/echo")
        #expect(answer.status == 200, "\(answer.head)\(proxy.tail)")
        #expect(answer["Proxy-Authenticate"] == nil && !answer.text.contains("Negotiate"), "\(answer.head)")
        #expect(try proxy.ask("http://api.test/echo").status == 200, "\(proxy.tail)")
      }
      let target = "x.far.test:\(try Origin.shared().ports.http)"
      let client = try proxy.connect()
      try client.send("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\r\n")
      #expect(try client.readAnswer(to: "CONNECT").status == 200, "\(proxy.tail)")
      let uses = try parent.set("{}")
      #expect(uses.map(\.method) == ["GET", "CONNECT", "GET", "GET", "CONNECT"])
      #expect(uses.map { $0.token > 0 } == [true, true, false, false, true])
      #expect(uses.allSatisfy { $0.status == 200 && $0.user == "svc@EXAMPLE.TEST" })
      #expect(try realm.answered("TGS_REQ") == 1)
      #expect(!proxy.process.lines.contains { $0.contains("5ecret") })
    }
  }

  @Test func `a parent that wants a token with each request gets one`() throws {
    try parent.set(#"{"mode": "each"}"#)
    try withProxy(try configuration(), environment: realm.environment) { proxy throws in
      for _ in 0..<4 { #expect(try proxy.ask("POST", "http://plain.test/echo", body: "x").status == 200, "\(proxy.tail)") }
      let uses = try parent.set("{}")
      // Once it is learned.
      #expect(uses.map(\.status) == [200, 407, 200, 200, 200])
      #expect(try realm.answered("TGS_REQ") == 1)
    }
  }

  @Test(arguments: ["api.test", "plain.test"])
  func `several rounds stay on one connection`(_ host: String) throws {
    try parent.set(#"{"mode": "rounds"}"#)
    try withProxy(try configuration(), environment: realm.environment) { proxy throws in
      for _ in 0..<2 { #expect(try proxy.ask("http://\(host)/echo").status == 200, "\(proxy.tail)") }
      let uses = try parent.set("{}")
      #expect(uses.prefix(2).map(\.status) == [407, 200])
      #expect(Set(uses.map(\.connection)).count == 1)
      #expect(uses.last?.user == "app@EXAMPLE.TEST")
    }
  }

  @Test(arguments: ["api.test", "plain.test"], ["", #", "close": true"#])
  func `a refused ticket is fetched anew, once`(_ host: String, _ closes: String) throws {
    try parent.set(#"{"refuse": 1\#(closes)}"#)
    try withProxy(try configuration(), environment: realm.environment) { proxy throws in
      #expect(try proxy.ask("http://\(host)/echo").status == 200, "\(proxy.tail)")
      #expect(try parent.set(#"{"refuse": 100\#(closes)}"#).map(\.status) == [407, 200])
      #expect(try realm.answered("TGS_REQ") == 2)
    }
  }

  @Test func `a refusal in absolute-form, which may be an origin's, takes no ticket away from others`() throws {
    try withProxy(try configuration(), environment: realm.environment) { proxy throws in
      for host in ["plain.test", "api.test"] { #expect(try proxy.ask("http://\(host)/echo").status == 200, "\(proxy.tail)") }
      try realm.kdc("stop")
      try parent.set(#"{"refuse": 1000}"#)
      #expect(try proxy.ask("http://evil.test/echo").status == 502)
      try parent.set(#"{"refuse": 0}"#)
      for _ in 0..<2 {
        let target = "x.far.test:\(try Origin.shared().ports.http)"
        let tunnel = try proxy.connect()
        try tunnel.send("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\r\n")
        #expect(try tunnel.readAnswer(to: "CONNECT").status == 200, "\(proxy.tail)")
        #expect(try proxy.ask("http://plain.test/echo").status == 200, "\(proxy.tail)")
      }
    }
  }

  @Test(arguments: ["api.test", "plain.test"])
  func `a parent that refuses every ticket is asked no more, however many requests wait`(_ host: String) throws {
    try parent.set(#"{"refuse": 1000}"#)
    try withProxy(try configuration(threads: 2), environment: realm.environment) { proxy throws in
      let clients = try (0..<20).map { _ in try proxy.connect() }
      for client in clients { try client.send(ProxyProcess.request("GET", "http://\(host)/echo")) }
      for client in clients {
        let answer = try client.readAnswer()
        #expect(answer.status == 502 && answer["Proxy-Authenticate"] == nil)
        let status = answer["Proxy-Status"] ?? ""
        #expect(status.contains("proxy_configuration_error") && status.contains("Negotiate, Basic"), "\(status)")
      }
      // In absolute-form each loop learns it for itself: a refused ticket locks no account.
      #expect(try parent.set("{}").count <= (host == "api.test" ? 2 : 4))
      #expect(try realm.answered("TGS_REQ") == 2)
    }
  }

  @Test(arguments: ["ntlm", "garbage", "silent"])
  func `NTLM is never spoken, and a parent that must prove itself is believed only then`(_ mode: String) throws {
    try parent.set(#"{"mode": "\#(mode)"}"#)
    let keys = "keytab: \(realm.clientKeytab), mutual: required"
    try withProxy(try configuration(keys), environment: realm.environment) { proxy throws in
      for host in ["api.test", "plain.test"] {
        let answer = try proxy.ask("http://\(host)/echo")
        #expect(answer.status == 502, "\(answer.head)")
        let status = answer["Proxy-Status"] ?? ""
        #expect(status.contains(mode == "ntlm" ? "asked for NTLM, Basic" : "Kerberos token"), "\(status)")
      }
    }
  }

  /// Squid, say, sends no token with its own pages.
  @Test(arguments: ["silent", "garbage"], [(403, "http_request_denied"), (503, "destination_unavailable")])
  func `a refusal needs no proof, and neither blames the parent nor is evaded`(
    _ mode: String, _ refusal: (status: Int, error: String)
  ) throws {
    try parent.set(#"{"mode": "\#(mode)", "status": \#(refusal.status)}"#)
    let backup = try ParentServer()
    let text = try configuration("keytab: \(realm.clientKeytab), mutual: required")
      .replacingOccurrences(of: "via: corporate", with: "via: [corporate, backup]")
      .replacingOccurrences(of: "parents: {", with: "parents: {backup: {url: \"\(backup.url("http"))\"}, ")
    try withProxy(text, environment: realm.environment) { proxy throws in
      for _ in 0..<2 {
        let answer = try proxy.ask("http://api.test/echo")
        if refusal.status == 403 {
          #expect(answer.status == 502 && answer.proxyError == refusal.error, "\(answer.head)")
          #expect(answer["Proxy-Status"]?.contains("received-status=403") == true, "\(answer.head)")
        } else {
          // It could not reach the origin, so the next way is tried.
          #expect(answer.status == 200, "\(answer.head)")
        }
      }
      #expect(try backup.asked().count == (refusal.status == 403 ? 0 : 2))
      // What looks like an origin's answer is relayed only with a proof.
      let answer = try proxy.ask("http://plain.test/echo")
      #expect(answer.status == 502 && !answer.text.contains("page"), "\(answer.head)")
      #expect(answer["Proxy-Status"]?.contains("Kerberos token") == true, "\(answer.head)")
      #expect(try proxy.metric(#"authproxy_parent_up{parent="corporate"}"#) == 1, "\(proxy.tail)")
      let uses = try parent.set("{}")
      #expect(uses.map(\.method) == ["CONNECT", "CONNECT", "GET"])
      #expect(uses.allSatisfy { $0.status == refusal.status && $0.token > 0 })
    }
  }
}
