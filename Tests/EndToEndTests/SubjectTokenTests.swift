import Foundation
import Testing

/// `subject_token: client`: requests on behalf of the users of an app.
@Suite struct SubjectTokenTests {
  private func expectUnauthorized(_ answer: Answer, sourceLocation: SourceLocation = #_sourceLocation) {
    expectOwnAnswer(answer, 401, "http_request_denied", sourceLocation: sourceLocation)
    #expect(answer["WWW-Authenticate"] == "Bearer error=\"invalid_token\"", sourceLocation: sourceLocation)
  }

  private func user(_ answer: Answer) throws -> String {
    struct Seen: Decodable {
      let user: String
      let leaked: [String]
    }
    let seen = try JSONDecoder().decode(Seen.self, from: Data(answer.body))
    #expect(seen.leaked.isEmpty, "the app's own token has reached the API")
    return seen.user
  }

  @Test func `each user's requests carry a token of their own, which is exchanged once`() throws {
    let server = try SubjectServer()
    try withProxy(server.configuration("audience: orders")) { proxy throws in
      for _ in 0..<3 {
        for name in ["ann", "bob"] { #expect(try user(try proxy.ask(as: "user-\(name)-5ecret")) == name) }
      }
      let state = try server.state()
      #expect(state.exchanges == ["user-ann-5ecret": 1, "user-bob-5ecret": 1])
      #expect(state.uses == ["ann": 3, "bob": 3])
      let form = Dictionary(uniqueKeysWithValues: try #require(state.forms.first).map { ($0[0], $0[1]) })
      #expect(
        form == [
          "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": "user-ann-5ecret",
          "subject_token_type": "urn:ietf:params:oauth:token-type:access_token", "audience": "orders",
        ])
      #expect(try proxy.metric("authproxy_subject_tokens{credential=\"api\"}") == 2)
      #expect(try proxy.metric("authproxy_subject_exchanges_total{credential=\"api\",result=\"success\"}") == 2)
    }
  }

  @Test func `the app's token as assertion is Entra ID's on-behalf-of`() throws {
    let server = try SubjectServer()
    try withProxy(
      server.configuration("grant: jwt_bearer", "assertion: client", "parameters: {requested_token_use: on_behalf_of}")
    ) { proxy throws in
      #expect(try user(try proxy.ask(as: "user-ann-5ecret")) == "ann")
      let form = Dictionary(uniqueKeysWithValues: try #require(try server.state().forms.first).map { ($0[0], $0[1]) })
      #expect(
        form == [
          "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": "user-ann-5ecret",
          "requested_token_use": "on_behalf_of",
        ])
    }
  }

  @Test func `without one Bearer token the proxy says 401, and asks nobody`() throws {
    let server = try SubjectServer()
    try withProxy(server.configuration()) { proxy throws in
      for fields in [
        [], ["Authorization: Basic dXNlci1hbm46NWVjcmV0"], ["Authorization: Bearer"], ["Authorization: Bearer "],
        ["Authorization: Bearer user-ann user-bob"], ["Authorization: Beareruser-ann"], ["Authorization: Bearer user-\u{e9}"],
        ["Authorization: Bearer user-ann", "Authorization: Bearer user-bob"],
        ["Authorization: Bearer user-ann", "authorization: Basic eDp5"],
        ["Authorization: Bearer user-" + String(repeating: "a", count: 16_400)], ["X-Authorization: Bearer user-ann"],
      ] {
        expectUnauthorized(try proxy.ask("http://api.test/api/x", fields))
      }
      let state = try server.state()
      #expect(state.exchanges.isEmpty)
      #expect(state.uses.isEmpty)
      for fields in [["authorization: bearer  user-ann-5ecret"], ["AUTHORIZATION: BEARER user-ann-5ecret "]] {
        #expect(try user(try proxy.ask("http://api.test/api/x", fields)) == "ann")
      }
    }
  }

  @Test(arguments: ["invalid_grant", "invalid_request", "interaction_required"])
  func `a refused token gets 401, and is not tried again for a while`(_ error: String) throws {
    let server = try SubjectServer()
    try server.set("{\"error\": \"\(error)\"}")
    try withProxy(server.configuration(top: "log: {level: trace}")) { proxy throws in
      for _ in 0..<20 {
        let answer = try proxy.ask(as: "bad-eve-5ecret")
        expectUnauthorized(answer)
        #expect(!(answer.head + answer.text).contains("5ecret"))
      }
      #expect(try server.state().exchanges == ["bad-eve-5ecret": 1])
      #expect(try proxy.metric("authproxy_subject_exchanges_total{credential=\"api\",result=\"refused\"}") == 1)
      #expect(try user(try proxy.ask(as: "user-ann-5ecret")) == "ann")
    }
  }

  @Test func `a refusal of the client is the proxy's own fault: 503`() throws {
    let server = try SubjectServer()
    try server.set(#"{"error": "invalid_client"}"#)
    try withProxy(server.configuration()) { proxy throws in
      expectOwnAnswer(try proxy.ask(as: "bad-eve-5ecret"), 503, "proxy_internal_response")
      #expect(try proxy.metric("authproxy_subject_exchanges_total{credential=\"api\",result=\"failure\"}") == 1)
    }
  }

  @Test func `a token that the API refuses is exchanged again, for this user alone`() throws {
    let server = try SubjectServer()
    try withProxy(server.configuration()) { proxy throws in
      for name in ["ann", "bob"] { #expect(try user(try proxy.ask(as: "user-\(name)-5ecret")) == name) }
      try server.set(#"{"revoke": "ann"}"#)
      for name in ["ann", "bob"] { #expect(try user(try proxy.ask(as: "user-\(name)-5ecret")) == name) }
      #expect(try server.state().exchanges == ["user-ann-5ecret": 2, "user-bob-5ecret": 1])
    }
  }

  @Test func `an expired token is never sent; the next request's is exchanged`() throws {
    let server = try SubjectServer()
    try server.set(#"{"lifetime": 1}"#)
    try withProxy(server.configuration()) { proxy throws in
      #expect(try user(try proxy.ask(as: "user-ann-5ecret")) == "ann")
      let again = try eventually(seconds: 5) {
        guard try user(try proxy.ask(as: "user-ann-5ecret")) == "ann" else { return false }
        return try server.state().exchanges["user-ann-5ecret"] == 3
      }
      #expect(again)
    }
  }

  @Test func `two clients with the same token have two subjects`() throws {
    let server = try SubjectServer()
    let clients = "clients:\n  - {name: one, password: one-5ecret}\n  - {name: two, password: two-5ecret}"
    try withProxy(server.configuration(top: clients)) { proxy throws in
      for name in ["one", "two", "one"] {
        let proof = Data("\(name):\(name)-5ecret".utf8).base64EncodedString()
        #expect(try user(try proxy.ask(as: "user-ann-5ecret", "x", ["Proxy-Authorization: Basic \(proof)"])) == "ann")
      }
      #expect(try server.state().exchanges == ["user-ann-5ecret": 2])
    }
  }

  @Test func `a crowd of one user on several loops waits for one exchange, whoever leaves`() throws {
    let server = try SubjectServer()
    try server.set(#"{"delay": 1}"#)
    try withProxy(server.configuration(top: "threads: 4")) { proxy throws in
      let clients = try (0..<100).map { _ in try proxy.connect() }
      for client in clients {
        try client.send(
          ProxyProcess.request("GET", "http://api.test/api/x", ["Authorization: Bearer slow-ann-5ecret"]))
      }
      clients[0].reset()
      for client in clients.dropFirst() { #expect(try user(try client.readAnswer()) == "ann") }
      #expect(try server.state().exchanges == ["slow-ann-5ecret": 1])
    }
  }

  @Test func `explain and check say where the subject comes from`() throws {
    let server = try SubjectServer()
    let path = try Surroundings.newFolder() + "/proxy.conf"
    try ProxyProcess.write("listen: 127.0.0.1:0\n" + server.configuration(), to: path)
    let explain = try ChildProcess.run(Surroundings.program, ["explain", "--config", path, "GET", "http://api.test/x"])
    #expect(
      explain.output.contains("subject source: the token that the app sends as Authorization:"), "\(explain.output)")
    let check = try ChildProcess.run(Surroundings.program, ["check", "--config", path])
    #expect(check.output.contains("subject source: the token that the app"), "\(check.output)")
    #expect(check.status == .exited(0), "\(check.errors)")
  }

  @Test func `no log line, page or answer has a token, or a digest of one`() throws {
    let server = try SubjectServer()
    for format in ["json", "text"] {
      try withProxy(server.configuration(top: "log: {level: trace, format: \(format)}")) { proxy throws in
        var said: [String] = []
        for kind in ["user", "bad", "html", "refresh", "mac", "fails", "redirect", "cut"] {
          let answer = try proxy.ask(as: "\(kind)-mark-5ecret", "x?q=query-5ecret")
          if answer.proxyError != nil { said.append(answer.head + answer.text) }
        }
        for page in ["metrics", "status", "readyz?credentials"] { said.append(try proxy.admin(page).text) }
        said += proxy.process.lines + [proxy.process.errors]
        let digests = try ["user", "bad"].map { kind in
          try ChildProcess.run("sha256sum", [], input: "\(kind)-mark-5ecret").output.prefix(16)
        }
        for text in said {
          #expect(!text.contains("5ecret"), "\(text.prefix(400))")
          #expect(!text.contains(Data("user-mark-5ecret".utf8).base64EncodedString().prefix(20)))
          for digest in digests { #expect(!text.contains(digest)) }
        }
      }
    }
  }
}
