import Foundation
import Testing

/// Credentials that answer Digest challenges (RFC 7616). The server is strict: see digest_server.py.
@Suite struct DigestTests {
  @Test func `the first request goes without; its 401 teaches, and every later one carries an answer`() throws {
    let server = try DigestServer()
    try withProxy(server.configuration()) { proxy throws in
      for index in 0..<4 {
        let answer = try proxy.ask(server.url("\(index)?a=%2Fb+c&&d"))
        #expect(answer.status == 200, "\(answer.head)")
        #expect(answer.proxyDetails == nil)
      }
      let state = try server.state()
      #expect(state.faults == [])
      #expect(state.whys == ["none", "good", "good", "good", "good"])
      #expect(state.uses.compactMap(\.nc) == ["00000001", "00000002", "00000003", "00000004"])
      #expect(Set(state.uses.compactMap(\.nonce)).count == 1 && Set(state.uses.compactMap(\.cnonce)).count == 4)
      let metrics = try proxy.admin("metrics").text
      #expect(metrics.contains("authproxy_challenges_total{credential=\"camera\",result=\"answered\"} 1\n"))
      #expect(!metrics.contains("authproxy_unauthorized_retries_total{"))
      #expect(!metrics.contains("authproxy_dpop_nonce_retries_total{"))
      let logged = try eventually { proxy.process.lines.count { $0.contains("\"attempts\":") } == 4 }
      #expect(logged && proxy.process.lines.count { $0.contains("\"attempts\":2") } == 1)
    }
  }

  @Test(arguments: [
    "MD5", "MD5-sess", "SHA-256", "SHA-256-sess", "SHA-512-256", "SHA-512-256-sess", "",
  ])
  func `each algorithm is answered, with each protection`(algorithm: String) throws {
    let server = try DigestServer()
    try withProxy(server.configuration()) { proxy throws in
      for qop in ["auth", "auth-int", "auth,auth-int", "auth-int, auth", ""] {
        try server.set(#"{"algorithms": ["\#(algorithm)"], "qop": "\#(qop)", "spoil": true, "forget": true}"#)
        #expect(try proxy.ask(server.url("first")).status == 200, "\(qop)")
        #expect(try proxy.ask("POST", server.url("body"), body: "a body").status == 200, "\(qop)")
        let chunked = try proxy.connect()
        try chunked.send(
          "POST \(server.url("chunks")) HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
        #expect(try chunked.readAnswer().status == 200, "\(qop)")
        let state = try server.state()
        #expect(state.faults == [], "\(qop)")
        let best = qop.isEmpty ? "" : qop == "auth-int" ? "auth-int" : "auth"
        #expect(state.uses.filter { $0.status == 200 }.map(\.qop) == [best, best, best])
      }
    }
  }

  @Test func `of many challenges, in one field or in several, the best is answered; never Basic`() throws {
    let others =
      #""others": ["Negotiate", "Basic realm=\"a, Digest nonce=b\"", "Negotiate YII=", "Bearer error=\"x\", scope=y"]"#
    for apart in [false, true] {
      let server = try DigestServer(
        #"{\#(others), "apart": \#(apart), "algorithms": ["", "MD5", "SHA-256", "SHA-512-256-sess", "SHA-256-sess"]}"#)
      for (wish, expected) in [
        ("[SHA-512-256, SHA-256, MD5]", "SHA-512-256-sess"), ("[SHA-256, MD5, SHA-512-256]", "SHA-256"), ("[MD5]", ""),
      ] {
        try withProxy(server.configuration("algorithms: \(wish)")) { proxy throws in
          #expect(try proxy.ask(server.url()).status == 200)
          let state = try server.news()
          #expect(state.faults == [] && state.uses.last?.algorithm == expected, "\(wish)")
        }
      }
      try server.set(#"{"algorithms": ["SHA3"]}"#)
      try withProxy(server.configuration()) { proxy throws in
        let answer = try proxy.ask(server.url())
        #expect(answer.status == 401 && answer.proxyError == nil)
        #expect(answer.proxyDetails == "not retried, the upstream names no challenge that the credential can answer")
        #expect(try server.news().whys == ["none"])
        #expect(try proxy.admin("metrics").text.contains("challenges_total{credential=\"camera\",result=\"relayed\"} 1\n"))
      }
    }
  }

  @Test func `user names: hashed, in UTF-8, and with what must be escaped`() throws {
    let server = try DigestServer(#"{"realm": "the \"realm\" \\ of Jäsøn"}"#)
    for name in ["svc", #"DOM\\us\"er"#, "Jäsøn Doe", "a, b=c"] {
      try withProxy(server.configuration(username: name)) { proxy throws in
        for (userhash, charset) in [("false", "false"), ("true", "false"), ("false", "true"), ("true", "true")] {
          let rules = #""userhash": \#(userhash), "charset": \#(charset)"#
          try server.set(#"{"user": "\#(name)", \#(rules), "spoil": true, "forget": true}"#)
          #expect(try proxy.ask(server.url()).status == 200, "\(name) \(userhash) \(charset)")
          #expect(try server.state().faults == [], "\(name) \(userhash) \(charset)")
        }
      }
    }
  }

  @Test func `each realm of an origin is answered; another realm is no refusal`() throws {
    let server = try DigestServer(#"{"realm": "path"}"#)
    try withProxy(server.configuration()) { proxy throws in
      for path in ["one/a", "one/b", "two/a", "one/a"] { #expect(try proxy.ask(server.url(path)).status == 200) }
      #expect(try server.state().whys.count { $0 == "good" } == 4)
      #expect(!(try proxy.admin("metrics").text).contains("authproxy_unauthorized_retries_total{"))
    }
  }

  @Test func `two realms at one origin each have their nonce, and requests to both at once are all answered`() throws {
    let server = try DigestServer(#"{"realm": "path", "delay": 0.05}"#)
    try withProxy(server.configuration()) { proxy throws in
      for path in ["one/a", "two/a"] { #expect(try proxy.ask(server.url(path)).status == 200) }
      try server.set(#"{"forget": true}"#)
      // Each has a prefix of its own now, so none costs a challenge.
      let clients = try (0..<40).map { _ in try proxy.connect() }
      for (index, client) in clients.enumerated() {
        try client.send(ProxyProcess.request("GET", server.url(index.isMultiple(of: 2) ? "one/b\(index)?x" : "two/b/\(index)")))
      }
      #expect(try clients.map { try $0.readAnswer().status } == Array(repeating: 200, count: 40))
      let state = try server.news()
      #expect(state.faults == [] && state.whys == Array(repeating: "good", count: 40))
    }
    // Nothing is known at first, and both realms challenge at once.
    try withProxy(server.configuration()) { proxy throws in
      let clients = try (0..<40).map { _ in try proxy.connect() }
      for (index, client) in clients.enumerated() {
        try client.send(ProxyProcess.request("GET", server.url(index.isMultiple(of: 2) ? "one" : "two")))
      }
      #expect(try clients.map { try $0.readAnswer().status } == Array(repeating: 200, count: 40))
      #expect(try server.state().faults == [])
    }
  }

  @Test func `what the app sends as Authorization is replaced, or refused; Authentication-Info is not for it`() throws {
    let server = try DigestServer(#"{"next": true}"#)
    let own = ["Authorization: Digest username=\"app\", response=\"app-5ecret\""]
    try withProxy(server.configuration()) { proxy throws in
      for _ in 0..<3 {
        let answer = try proxy.ask(server.url(), own)
        #expect(answer.status == 200)
        #expect(answer.all("Authentication-Info") == [] && answer.all("WWW-Authenticate") == [])
      }
      #expect(try server.state().faults == [])
    }
    try withProxy(server.configuration(entry: ", client_authorization: reject")) { proxy throws in
      expectOwnAnswer(try proxy.ask(server.url(), own), 403, "http_request_denied")
    }
  }

  @Test func `two requests in a pipeline carry different credentials`() throws {
    let one = try DigestServer()
    let two = try DigestServer(#"{"user": "other", "password": "pw-5ecret-two", "algorithms": ["MD5"]}"#)
    let configuration = """
      upstreams:
        - {match: one.test, origin: "\(one.base)", credential: one}
        - {match: two.test, origin: "\(two.base)", credential: two}
        - {match: again.test, origin: "\(one.base)", credential: wrong}
      credentials:
        one: {digest: {username: svc, password: \(DigestServer.password)}, allow_plaintext: true}
        two: {digest: {username: other, password: pw-5ecret-two}, allow_plaintext: true}
        wrong: {digest: {username: svc, password: pw-5ecret-wrong}, allow_plaintext: true}
      threads: 1

      """
    try withProxy(configuration) { proxy throws in
      let client = try proxy.connect()
      for _ in 0..<2 {
        let requests = ["one", "two", "again", "one"].map { ProxyProcess.request("GET", "http://\($0).test/api/x") }
        try client.send(requests.joined())
        #expect(try (0..<4).map { _ in try client.readAnswer().status } == [200, 200, 401, 200])
      }
      #expect(try one.state().faults == [] && two.state().faults == [])
      #expect(try two.state().whys == ["none", "good", "good"])
    }
  }

  @Test func `a refused password is read again, once; a changed one is used by the refused request itself`() throws {
    let server = try DigestServer()
    let file = server.folder + "/password"
    try ProxyProcess.write("pw-5ecret-old\n", to: file)
    try withProxy(server.configuration(password: "{file: \(file)}", top: "threads: 1\nwatch_files: off")) { proxy throws in
      let refused = try proxy.ask(server.url("a"))
      #expect(refused.status == 401 && refused.proxyDetails == "not retried, the credential has not changed")
      #expect(try server.news().whys == ["none", "wrong"])
      try ProxyProcess.write(DigestServer.password + "\n", to: file)
      let answer = try proxy.ask("POST", server.url("b"), body: "kept")
      #expect(answer.status == 200, "\(answer.head)")
      let state = try server.news()
      #expect(state.whys == ["wrong", "good"] && state.uses.last?.length == 4 && state.faults == [])
      try server.set(#"{"reject": true}"#)
      #expect(try proxy.ask(server.url("c")).status == 401)
      #expect(try server.news().whys == ["wrong"])
    }
  }

  @Test func `no output has the password, a nonce or a response, at the most talkative level`() throws {
    let server = try DigestServer(#"{"realm": "r-5ecret"}"#)
    let configuration = server.configuration(top: "threads: 1\nlog: {level: trace}")
    try withProxy(configuration) { proxy throws in
      for settings in [#"{"spoil": true}"#, #"{"stale": "always"}"#, #"{"stale": "", "reject": true}"#] {
        _ = try proxy.ask(server.url())
        try server.set(settings)
        _ = try proxy.ask(server.url())
      }
      var said = proxy.process.lines + [proxy.process.errors]
      for page in ["metrics", "status", "readyz?credentials"] { said.append(try proxy.admin(page).text) }
      for command in [["check"], ["explain"]] {
        let tail = command == ["explain"] ? ["GET", server.url()] : []
        let done = try ChildProcess.run(Surroundings.program, command + ["--config", proxy.configurationPath] + tail)
        said += [done.output, done.errors]
        let text = done.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(text.contains("digest, user name svc, SHA-512-256, then SHA-256, then MD5"))
        let warns = ["answers to MD5", "http:// origin with Digest"].map(done.errors.contains)
        #expect(warns == [command == ["check"], command == ["check"]])
      }
      let secrets = try server.state().uses.flatMap { [$0.nonce, $0.cnonce].compactMap { $0 } } + [Configuration.secretMark]
      #expect(secrets.count > 5)
      for secret in secrets { #expect(!said.contains { $0.contains(secret) }, "\(secret)") }
    }
  }
}
