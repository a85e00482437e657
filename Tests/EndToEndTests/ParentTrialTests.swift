import Foundation
import Testing

/// A wrong password is sent a bounded number of times, and no origin, target or client switches a right one off for others.
@Suite struct ParentTrialTests {
  private func configuration(_ parent: ParentServer, password: String = "pw-5ecret-parent") throws -> String {
    let ports = try Origin.shared().ports
    return """
      via: corporate
      unlisted_hosts: forward
      parents:
        corporate: {url: "\(parent.url("http"))", credential: proxy-login}
      upstreams:
        - {match: plain.test, origin: "http://localhost:\(ports.http)"}
        - {match: api.test, origin: "https://localhost:\(ports.https)"}
      credentials:
        proxy-login: {basic: {username: proxyuser, password: \(password)}, allow_plaintext: true}
      connect: {allow: ["*.far.test"]}
      timeouts: {connect: 10s}
      admin: 127.0.0.1:0
      threads: 2

      """
  }

  private let urls = ["http://plain.test/echo", "http://api.test/echo"]

  private func tunnel(_ host: String, _ proxy: ProxyProcess) throws -> RawConnection {
    let client = try proxy.connect()
    let target = "\(host).far.test:\(try Origin.shared().ports.http)"
    try client.send("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\r\n")
    return client
  }

  private func status(_ host: String, _ proxy: ProxyProcess) throws -> Int {
    try tunnel(host, proxy).readAnswer(to: "CONNECT").status
  }

  private func needsOperator(_ proxy: ProxyProcess) throws -> Bool {
    try proxy.metric(#"authproxy_credential_needs_operator{credential="proxy-login"}"#) == 1
  }

  @Test(arguments: [true, false])
  func `407s of several http origins, at several ports, switch the parent off for nobody else`(_ hasCredential: Bool) throws {
    let parent = try ParentServer()
    try parent.set(hasCredential ? #"{"login": "\#(ParentServer.login)", "denied": "evil"}"# : #"{"denied": "evil"}"#)
    let text = try configuration(parent).replacing(hasCredential ? "" : ", credential: proxy-login", with: "")
    try withProxy(text) { proxy throws in
      for url in urls { #expect(try proxy.ask(url).status == 200) }
      for evil in ["evil.test:8001", "evil.test:8002", "evil2.test", "evil3.test", "evil4.test"] {
        let refused = try proxy.ask("http://\(evil)/")
        #expect(refused.status == 502 && refused.proxyError == "proxy_configuration_error", "\(refused.head)")
        for url in urls { #expect(try proxy.ask(url).status == 200, "\(url) after \(evil)") }
        #expect(try status("x", proxy) == 200)
      }
      #expect(try !needsOperator(proxy))
      // Both ports are one host's.
      let asked = try parent.asked().filter { $0.target.contains("evil.test") }
      #expect(asked.count == 1, "\(asked)")
    }
  }

  /// As squid does, if the last word of the rule that denies a target asks for users.
  @Test func `a parent that refuses one target by 407 has that one held back, and no other`() throws {
    let parent = try ParentServer()
    try parent.set(#"{"login": "\#(ParentServer.login)", "denied": "denied"}"#)
    try withProxy(try configuration(parent)) { proxy throws in
      for url in urls { #expect(try proxy.ask(url).status == 200) }
      #expect(try status("x", proxy) == 200)
      #expect(try status("denied", proxy) == 502)
      for url in urls { #expect(try proxy.ask(url).status == 200, "\(url)") }
      for host in ["x", "y"] { #expect(try status(host, proxy) == 200) }
      #expect(try status("denied", proxy) == 502)
      #expect(try parent.asked().count { $0.target.contains("denied") } == 1)
      #expect(try !needsOperator(proxy))
    }
  }

  @Test func `a password that the parent has changed is sent to two hosts, and never again`() throws {
    let parent = try ParentServer()
    try parent.set(#"{"login": "\#(ParentServer.login)"}"#)
    try withProxy(try configuration(parent)) { proxy throws in
      for host in ["x", "y", "z"] { #expect(try status(host, proxy) == 200) }
      try parent.set(#"{"login": "proxyuser:other-5ecret"}"#)
      _ = try parent.news()
      let clients = try ["x", "y", "z", "x", "y", "z"].map { try tunnel($0, proxy) }
      for client in clients { #expect(try client.readAnswer(to: "CONNECT").status == 502) }
      for host in ["x", "y", "z", "new"] { #expect(try status(host, proxy) == 502) }
      #expect(try eventually(seconds: 5) { try needsOperator(proxy) })
      // Six were in flight at most, when the first refusal came.
      #expect(try (2...6).contains(parent.news().count))
      #expect(try status("x", proxy) == 502)
      #expect(try parent.news().isEmpty)
    }
  }

  @Test func `after an origin's 407 nobody waits for slow targets`() throws {
    let parent = try ParentServer()
    try parent.set(#"{"login": "\#(ParentServer.login)", "denied": "evil", "silent": "hole"}"#)
    try withProxy(try configuration(parent)) { proxy throws in
      for url in urls { #expect(try proxy.ask(url).status == 200) }
      #expect(try proxy.ask("http://evil.test/").status == 502)
      let holes = try (0..<16).map { number in
        let client = try proxy.connect()
        try client.send(ProxyProcess.request("GET", "http://hole\(number).test/"))
        return client
      }
      #expect(try eventually(seconds: 5) { try parent.asked().count { $0.target.contains("hole") } == 16 })
      let start = Date()
      for url in urls { #expect(try proxy.ask(url).status == 200, "\(url)") }
      #expect(try status("x", proxy) == 200)
      #expect(Date().timeIntervalSince(start) < 2)
      for hole in holes { hole.close() }
    }
  }

  @Test(arguments: ["CONNECT", "GET"])
  func `who asks for one dead target again and again costs others 3 s once, before the password was accepted`(
    _ method: String
  ) throws {
    let parent = try ParentServer()
    try parent.set(#"{"login": "\#(ParentServer.login)", "silent": "hole"}"#)
    try withProxy(try configuration(parent)) { proxy throws in
      func ask() throws -> RawConnection {
        if method == "CONNECT" { return try tunnel("hole", proxy) }
        let client = try proxy.connect()
        try client.send(ProxyProcess.request("GET", "http://hole.test/"))
        return client
      }
      // Each leaves before the next one comes, so none of them is a trial of another target's.
      var hole = try ask()
      #expect(try eventually(seconds: 2) { try parent.asked().count == 1 })
      for _ in 0..<30 {
        hole.close()
        hole = try ask()
      }
      let start = Date()
      let clients = try (0..<8).map { try tunnel("x\($0)", proxy) }
      for client in clients { #expect(try client.readAnswer(to: "CONNECT").status == 200, "\(proxy.tail)") }
      #expect(Date().timeIntervalSince(start) < 5)
      for url in urls { #expect(try proxy.ask(url).status == 200, "\(url)") }
      hole.close()
    }
  }

  @Test func `a 403 is no acceptance: a crowd has a wrong password sent once`() throws {
    let parent = try ParentServer()
    try parent.set(#"{"login": "proxyuser:other-5ecret", "blocked": "blocked"}"#)
    try withProxy(try configuration(parent)) { proxy throws in
      for _ in 0..<2 { #expect(try status("blocked", proxy) == 502) }
      let clients = try (0..<30).map { try tunnel("x\($0)", proxy) }
      for client in clients { #expect(try client.readAnswer(to: "CONNECT").status == 502) }
      for url in urls { #expect(try proxy.ask(url).status == 502) }
      #expect(try parent.asked().count { !$0.target.contains("blocked") } == 1)
      #expect(try needsOperator(proxy))
    }
  }

  @Test(arguments: [true, false])
  func `a parent that refuses a port by 407 has its host held back, but for the ports that were served`(_ hasCredential: Bool)
    throws
  {
    let parent = try ParentServer()
    try parent.set(hasCredential ? #"{"login": "\#(ParentServer.login)", "denied": ":1"}"# : #"{"denied": ":1"}"#)
    let text = try configuration(parent).replacing(hasCredential ? "" : ", credential: proxy-login", with: "")
    try withProxy(text) { proxy throws in
      for host in ["x", "y"] { #expect(try status(host, proxy) == 200) }
      for host in ["x", "y", "x"] {
        let client = try proxy.connect()
        try client.send("CONNECT \(host).far.test:1 HTTP/1.1\r\nHost: \(host).far.test:1\r\n\r\n")
        #expect(try client.readAnswer(to: "CONNECT").status == 502)
      }
      for host in ["x", "y", "z"] { #expect(try status(host, proxy) == 200, "\(host)") }
      #expect(try parent.asked().count { $0.target.hasSuffix(":1") } == 2)
      #expect(try !hasCredential || !needsOperator(proxy))
    }
  }

  /// Without another one that could show whether it is right.
  @Test func `one 407 for the only target that was served refuses it for nobody else`() throws {
    let parent = try ParentServer()
    try parent.set(#"{"login": "\#(ParentServer.login)"}"#)
    try withProxy(try configuration(parent)) { proxy throws in
      #expect(try status("x", proxy) == 200)
      try parent.set(#"{"denied": "x.far"}"#)
      for _ in 0..<2 { #expect(try status("x", proxy) == 502) }
      #expect(try status("y", proxy) == 200)
      #expect(try !needsOperator(proxy))
    }
  }

  @Test func `whoever waited while the parent gave up waiting asks over a new connection`() throws {
    let parent = try ParentServer()
    try parent.set(#"{"login": "\#(ParentServer.login)", "silent": "hole", "idle": 1}"#)
    try withProxy(try configuration(parent)) { proxy throws in
      let hole = try tunnel("hole", proxy)
      #expect(try eventually(seconds: 5) { try parent.asked().count == 1 })
      let clients = try (0..<4).map { try tunnel("x\($0)", proxy) }
      for client in clients { #expect(try client.readAnswer(to: "CONNECT").status == 200, "\(proxy.tail)") }
      hole.close()
    }
  }

  /// A held-back host is answered for by the proxy itself.
  @Test func `a host that is held back does not make a parent up again`() throws {
    let (parent, second) = (try ParentServer(), try ParentServer())
    try parent.set(#"{"login": "\#(ParentServer.login)", "denied": "denied"}"#)
    let text = try configuration(parent)
      .replacing("via: corporate", with: "via: [corporate, second]")
      .replacing("parents:\n", with: "parents:\n  second: {url: \"\(second.url("http"))\"}\n")
    try withProxy(text) { proxy throws in
      for host in ["x", "y"] { #expect(try status(host, proxy) == 200) }
      #expect(try status("denied", proxy) == 502)
      #expect(try status("x", proxy) == 200)
      try parent.set(#"{"drops": ""}"#)
      #expect(try status("x", proxy) == 200)
      func isUp() throws -> Bool { try proxy.metric(#"authproxy_parent_up{parent="corporate"}"#) == 1 }
      #expect(try !isUp())
      // Its pause is 5 s, and a quarter at most. Then the held-back host would be the one that tries it.
      #expect(try eventually(seconds: 12) { try status("denied", proxy) == 502 })
      #expect(try !isUp())
      #expect(try status("x", proxy) == 200)
      let unusable = #"authproxy_parent_connections_total{parent="corporate",result="unusable"}"#
      #expect(try proxy.metric(unusable) ?? 0 >= 1)
    }
  }
}
