import Foundation
import Testing

/// A parent that answers later than those wait who sent it a credential that nobody knows yet.
@Suite struct ParentLateAnswerTests {
  private func configuration(_ parent: ParentServer, _ scheme: String, _ kind: String = "basic") throws -> String {
    let origin = try Origin.shared().ports
    return """
      via: corporate
      parents:
        corporate: {url: "\(parent.url(scheme))", credential: proxy-login}
      upstreams:
        - {match: api.test, origin: "https://localhost:\(origin.https)"}
        - {match: plain.test, origin: "http://localhost:\(origin.http)"}
      credentials:
        proxy-login: {\(kind): {username: proxyuser, password: pw-5ecret-parent}, allow_plaintext: true}
      connect: {allow: ["*.far.test:\(origin.http)"]}
      timeouts: {connect: 5s}
      admin: 127.0.0.1:0
      threads: 2

      """
  }

  private func host(_ scheme: String) -> String { scheme == "socks5h" ? "plain.test" : "api.test" }

  /// All clients ask at once, for one target, and go at their deadline.
  @Test(arguments: [("http", "basic"), ("https", "basic"), ("http", "digest"), ("socks5h", "basic")])
  func `a wrong password is sent once, though its refusal comes after the deadline of whoever sent it`(
    _ scheme: String, _ kind: String
  ) throws {
    let parent = try ParentServer()
    let digest = kind == "digest" ? #"{"algorithm": "SHA-256"}"# : "null"
    try parent.set(#"{"login": "proxyuser:other-5ecret", "late": 6, "digest": \#(digest)}"#)
    try withProxy(try configuration(parent, scheme, kind)) { proxy throws in
      let clients = try (0..<20).map { _ in try proxy.connect() }
      for client in clients { try client.send(ProxyProcess.request("GET", "http://\(host(scheme))/echo")) }
      for client in clients { #expect(try client.readAnswer().status == 504) }
      func presentations() throws -> Int {
        try parent.asked().count { $0.kind == "socks" || $0.fields["proxy-authorization"] != nil }
      }
      // Nobody asks, and the operator hears of it.
      #expect(try eventually(seconds: 5) { try proxy.admin("status").text.contains("needs_operator") })
      let answer = try proxy.ask("http://\(host(scheme))/echo")
      #expect(answer.status == 502 && answer.proxyError == "proxy_configuration_error", "\(answer.head)")
      #expect(try presentations() == 1)
      #expect(!proxy.process.lines.contains { $0.contains("5ecret") })
    }
  }

  /// A good parent would answer for another target at once, so one is tried each 3 s.
  @Test func `it is sent twice within the deadline of 5 s, if requests for many targets wait`() throws {
    let parent = try ParentServer()
    try parent.set(#"{"login": "proxyuser:other-5ecret", "late": 6}"#)
    try withProxy(try configuration(parent, "http")) { proxy throws in
      let port = try Origin.shared().ports.http
      let clients = try (0..<20).map { _ in try proxy.connect() }
      for (number, client) in clients.enumerated() {
        try client.send("CONNECT x\(number).far.test:\(port) HTTP/1.1\r\nHost: x\r\n\r\n")
      }
      for client in clients { #expect(try client.readAnswer(to: "CONNECT").status == 504) }
      #expect(try eventually(seconds: 5) { try proxy.admin("status").text.contains("needs_operator") })
      #expect(try proxy.ask("http://api.test/echo").status == 502)
      #expect(try parent.asked().count == 2)
    }
  }

  @Test(arguments: ["api.test", "plain.test", "CONNECT"])
  func `an app that leaves at once does not have the password sent again`(_ host: String) throws {
    let parent = try ParentServer()
    try parent.set(#"{"login": "proxyuser:other-5ecret", "late": 2}"#)
    try withProxy(try configuration(parent, "http")) { proxy throws in
      let target = "x.far.test:\(try Origin.shared().ports.http)"
      let tunnel = "CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\r\n"
      for number in 1...5 {
        let client = try proxy.connect()
        try client.send(host == "CONNECT" ? tunnel : ProxyProcess.request("GET", "http://\(host)/echo"))
        #expect(try eventually(seconds: 2) { try parent.asked().count == 1 })
        client.close()
        // The proxy knows that it has left.
        #expect(try eventually(seconds: 5) { proxy.process.lines.count { $0.contains(#""method":"#) } == number })
      }
      #expect(try proxy.ask("http://\(host == "CONNECT" ? "api.test" : host)/echo").status == 502)
      #expect(try parent.asked().count == 1)
    }
  }

  @Test func `a parent that hangs up late pauses the credential, too`() throws {
    let parent = try ParentServer()
    try parent.set(#"{"login": "proxyuser:other-5ecret", "late": 6, "hangs_up": true}"#)
    try withProxy(try configuration(parent, "http")) { proxy throws in
      #expect(try proxy.ask("http://api.test/echo").status == 504)
      #expect(try eventually(seconds: 3) { try proxy.ask("http://api.test/echo").status == 502 })
      #expect(try parent.asked().count == 1)
    }
  }

  @Test(arguments: ["http", "socks5h"])
  func `a target that never answers, first of all, holds up the others for one trial's time`(_ scheme: String) throws {
    let parent = try ParentServer()
    try parent.set(#"{"login": "\#(ParentServer.login)", "silent": "hole"}"#)
    try withProxy(try configuration(parent, scheme)) { proxy throws in
      let hole = try proxy.connect()
      let target = "hole.far.test:\(try Origin.shared().ports.http)"
      try hole.send("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\r\n")
      #expect(try eventually(seconds: 2) { try parent.asked().count == 1 })
      let start = Date()
      let clients = try (0..<20).map { _ in try proxy.connect() }
      for client in clients { try client.send(ProxyProcess.request("GET", "http://\(host(scheme))/echo")) }
      for client in clients { #expect(try client.readAnswer().status == 200, "\(proxy.tail)") }
      // SOCKS accepts a password before it is asked for the target.
      #expect(Date().timeIntervalSince(start) < (scheme == "socks5h" ? 2 : 4.5))
      // The parent works, and waits for the target.
      #expect(try hole.readAnswer(to: "CONNECT").status == 504)
      #expect(try proxy.metric(#"authproxy_parent_up{parent="corporate"}"#) == 1)
      #expect(try proxy.ask("http://\(host(scheme))/echo").status == 200)
    }
  }
}
