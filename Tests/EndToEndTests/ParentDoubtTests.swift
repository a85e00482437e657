import Foundation
import Testing

/// An http origin's own 407, behind a parent that takes requests in absolute-form, cannot be told from the parent's.
@Suite struct ParentDoubtTests {
  private func configuration(_ parent: ParentServer, _ kind: String) throws -> String {
    let ports = try Origin.shared().ports
    return """
      via: corporate
      parents: {corporate: {url: "\(parent.url("http"))", credential: proxy-login}}
      upstreams:
        - {match: good.test, origin: "http://good.far.test:\(ports.http)"}
        - {match: evil.test, origin: "http://evil.far.test:\(ports.http)"}
        - {match: api.test, origin: "https://localhost:\(ports.https)"}
      credentials:
        proxy-login: {\(kind): {username: proxyuser, password: pw-5ecret-parent}}
      admin: 127.0.0.1:0

      """
  }

  @Test(arguments: ["basic", "digest"])
  func `it switches the parent's credential off for that origin alone`(_ kind: String) throws {
    let (parent, origin, name) = (try ParentServer(), try Origin.shared(), Origin.newName())
    let digest = kind == "digest" ? #", "digest": {"algorithm": "SHA-256"}"# : ""
    try parent.set(#"{"login": "\#(ParentServer.login)"\#(digest)}"#)
    let challenge = #"Digest realm="parent", nonce="E1", algorithm=SHA-256, qop="auth", stale=true"#
    let refusal = "HTTP/1.1 407 Who\r\nProxy-Authenticate: \(challenge)\r\nContent-Length: 0\r\n\r\n"
    let steps = [Origin.Step](repeating: .send(refusal), count: 1)
    try origin.script(name, steps, steps, steps, steps, steps, steps)
    try withProxy(try configuration(parent, kind)) { proxy throws in
      let urls = ["http://good.test/echo", "http://api.test/echo"]
      for url in urls { #expect(try proxy.ask(url).status == 200) }
      let refused = try proxy.ask("http://evil.test/?id=\(name)")
      #expect(refused.status == 502 && refused["Proxy-Authenticate"] == nil, "\(refused.head)")
      for url in urls + urls { #expect(try proxy.ask(url).status == 200, "\(url)") }
      #expect(try proxy.metric(#"authproxy_credential_needs_operator{credential="proxy-login"}"#) == 0)
      // That origin is left alone for a while.
      _ = try parent.news()
      #expect(try proxy.ask("http://evil.test/?id=\(name)").status == 502)
      #expect(try parent.news().isEmpty)
      for url in urls { #expect(try proxy.ask(url).status == 200, "\(url)") }
    }
  }

  @Test func `what its Digest challenge wants is wanted of requests to it alone`() throws {
    let (parent, origin, name) = (try ParentServer(), try Origin.shared(), Origin.newName())
    try parent.set(#"{"login": "\#(ParentServer.login)", "digest": {"algorithm": "SHA-256"}}"#)
    let challenge = #"Digest realm="evil", nonce="E1", algorithm=SHA-256, qop="auth-int""#
    let refusal = "HTTP/1.1 407 Who\r\nProxy-Authenticate: \(challenge)\r\nContent-Length: 0\r\n\r\n"
    let steps = [Origin.Step](repeating: .send(refusal), count: 1)
    try origin.script(name, steps, steps, steps, steps)
    try withProxy(try configuration(parent, "digest") + "threads: 1\n") { proxy throws in
      func post() throws -> Int { try proxy.ask("POST", "http://good.test/echo", body: "x").status }
      #expect(try post() == 200)
      #expect(try proxy.ask("http://evil.test/?id=\(name)").status == 502)
      _ = try parent.news()
      for _ in 0..<3 { #expect(try post() == 200) }
      // The nonce that the parent itself has named is still known.
      #expect(try parent.news().count == 3)
    }
  }

  @Test func `nor is a parent without a credential left alone for it`() throws {
    let (parent, origin, name) = (try ParentServer(), try Origin.shared(), Origin.newName())
    try origin.script(name, [.send("HTTP/1.1 407 Who\r\nContent-Length: 0\r\n\r\n")])
    let text = try configuration(parent, "basic").replacing(", credential: proxy-login", with: "")
    try withProxy(text) { proxy throws in
      #expect(try proxy.ask("http://evil.test/?id=\(name)").status == 502)
      for host in ["good", "api"] { #expect(try proxy.ask("http://\(host).test/echo").status == 200) }
    }
  }

  /// Each of them has the secret's source read, less and less often.
  @Test func `407s of an origin do not keep a new password from being read when the parent refuses the old one`() throws {
    let (parent, secret) = (try ParentServer(), try Surroundings.newFolder() + "/secret")
    try ProxyProcess.write("pw-5ecret-parent\n", to: secret)
    try parent.set(#"{"login": "\#(ParentServer.login)", "denied": "evil"}"#)
    let text = try configuration(parent, "basic").replacing(
      "password: pw-5ecret-parent", with: "password: {command: [/bin/cat, \(secret)]}")
    try withProxy(text) { proxy throws in
      #expect(try proxy.ask("http://api.test/echo").status == 200)
      // The pause between two readings is longer than what follows.
      let start = Date()
      while Date().timeIntervalSince(start) < 4 { #expect(try proxy.ask("http://evil.test/").status == 502) }
      try ProxyProcess.write("next-5ecret\n", to: secret)
      try parent.set(#"{"login": "proxyuser:next-5ecret"}"#)
      #expect(try proxy.ask("http://good.test/echo").status == 200)
    }
  }
}
