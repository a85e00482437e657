import Foundation
import Testing

/// Clients that authenticate themselves to their authorization server with a certificate (RFC 8705).
@Suite struct TokenServerCertificateTests {
  /// The whole count is 1000.
  private static let refreshes =
    ProcessInfo.processInfo.environment["AUTHPROXY_TEST_CERTIFICATE_REFRESHES"].flatMap { Int($0) } ?? 100

  @Test func `two credentials at one token server each present their own certificate, in every refresh`() throws {
    let server = try MutualTLSServer()
    // Each token is good for one request, so each request but the first needs a refresh.
    try server.set(#"{"uses": 1}"#)
    let window = "refresh_window: {interval: 1s, attempts: 1000000}"
    let text = server.configuration(
      ["one", "two"].map { .init(name: $0, oauth2: ["certificate_bound: true", window]) }, top: "threads: 1")
    try withProxy(text) { proxy in
      for index in 0..<Self.refreshes {
        let name = index % 2 == 0 ? "one" : "two"
        let answer = try proxy.ask("http://\(name).test/api")
        #expect(answer.text.contains("\"client\": \"\(name)\", \"token_of\": \"\(name)\""), "\(index): \(answer.head)")
      }
      let counts = try server.state().counts
      #expect(counts["wrong"] == nil && counts["mismatched"] == nil, "\(counts)")
      #expect(counts["token one"] == Self.refreshes / 2 && counts["token two"] == Self.refreshes / 2, "\(counts)")
    }
  }

  @Test func `aliases take precedence, the form has client_id and no secret, and discovery shows the certificate, too`() throws
  {
    let server = try MutualTLSServer()
    let text = server.configuration([
      .init(name: "one", oauth2: ["certificate_bound: true"]),
      .init(name: "two", oauth2: []),
      .init(name: "self", oauth2: ["client_auth: self_signed_tls_client_auth", "certificate_bound: true"]),
      .init(
        name: "sealed",
        oauth2: [
          "client_id: one",
          "client_certificate: {certificate: \(server.folder)/one.pem, key: {file: \(server.folder)/one.sealed.key}, "
            + "passphrase: {env: PASSPHRASE}}", "certificate_bound: true",
        ]),
    ])
    try withProxy(text, environment: ["PASSPHRASE": "pass-5ecret"]) { proxy in
      for (name, client) in [("one", "one"), ("self", "self"), ("sealed", "one")] {
        #expect(try proxy.ask("http://\(name).test/api").text.contains("\"client\": \"\(client)\""), "\(name)")
      }
      // Not bound: the API with mutual TLS gets no certificate.
      #expect(try proxy.ask("http://two.test/api").status == 502)
      let state = try server.state()
      #expect(state.requests("/.well-known/openid-configuration").map(\.client) == ["one", "self", "one", "two"])
      let asked = state.requests("/token")
      #expect(asked.map(\.port) == ["mtls", "mtls", "mtls", "mtls"])
      for request in asked {
        #expect(request.form?.keys.sorted() == ["client_id", "grant_type"], "\(request)")
        #expect(request.authorization == nil)
      }
    }
  }

  @Test func `a token server that does not get the certificate it demands is told of, and so is a refused one`() throws {
    let server = try MutualTLSServer()
    let token = "token_url: \(server.place)/token"
    let text = server.configuration(
      [
        .init(name: "expired", oauth2: [token]), .init(name: "stranger", oauth2: [token]),
      ], top: "log: {level: trace}"
    ).replacingOccurrences(
      of: "\ncredentials:\n",
      with: """

          - {match: without.test, origin: "\(server.place)", credential: without}
        credentials:
          without:
            oauth2: {grant: client_credentials, token_url: "\(server.place)/token", client_id: one, client_secret: shh-5ecret}

        """)
    try withProxy(text) { proxy in
      for (name, reason) in [
        ("without", "it asked for a client certificate, and there is none"),
        ("expired", "it asked for the client certificate"),
        ("stranger", "it asked for the client certificate"),
      ] {
        let answer = try proxy.ask("http://\(name).test/api")
        expectOwnAnswer(answer, 503, "proxy_internal_response")
        #expect(answer.text.contains(name) && answer.text.contains(reason), "\(answer.text)")
      }
      #expect(try server.state().requests("/token").isEmpty)
      // At the most talkative level, nothing of the keys is in the log.
      for name in ["expired", "stranger"] {
        let key = try String(contentsOfFile: server.folder + "/\(name).key", encoding: .utf8)
        for line in key.split(separator: "\n") where !line.hasPrefix("-----") {
          #expect(!(proxy.process.output + proxy.process.errors).contains(line))
        }
      }
    }
  }

  @Test(arguments: ["http://evil.test/token", "http://127.0.0.1:1/token"])
  func `an alias in the clear gets nothing, and the plain endpoint neither`(alias: String) throws {
    let server = try MutualTLSServer()
    try server.set(#"{"aliases": {"token_endpoint": "\#(alias)"}}"#)
    try withProxy(server.configuration("one")) { proxy in
      let answer = try proxy.ask("http://one.test/api")
      expectOwnAnswer(answer, 503, "proxy_internal_response")
      #expect(answer.text.contains("mtls_endpoint_aliases.token_endpoint cannot be used: it is not https"), "\(answer.text)")
      #expect(try server.state().requests("/token").isEmpty)
    }
  }

  @Test func `check and explain name the certificate, and check warns before its end`() throws {
    let server = try MutualTLSServer()
    let path = server.folder + "/proxy.conf"
    try ProxyProcess.write(
      "listen: 127.0.0.1:0\n" + server.configuration("soon", "certificate_bound: true"), to: path)
    let check = try ChildProcess.run(Surroundings.program, ["check", "--config", path])
    #expect(check.status == .exited(0), "\(check.errors)")
    #expect(check.errors.contains("credentials.soon.oauth2.client_certificate.certificate"), "\(check.errors)")
    #expect(check.errors.contains("expires in 5 days"), "\(check.errors)")
    let explain = try ChildProcess.run(
      Surroundings.program, ["explain", "--config", path, "GET", "http://soon.test/api"])
    for output in [check.output, explain.output] {
      #expect(output.contains("client certificate CN=soon for its server and origins"), "\(output)")
    }
    try ProxyProcess.write(
      "listen: 127.0.0.1:0\n" + server.configuration("one").replacingOccurrences(of: "one.key", with: "two.key"), to: path)
    let wrong = try ChildProcess.run(Surroundings.program, ["run", "--config", path])
    #expect(wrong.status == .exited(78))
    #expect(
      wrong.errors.contains("credentials.one.oauth2.client_certificate.key does not belong to the first certificate of"),
      "\(wrong.errors)")
  }

  /// Logs in with a browser, which is curl, and out again.
  private func logInAndOut(_ server: MutualTLSServer, _ path: String, meanwhile: () throws -> Void = {}) throws {
    let login = try ChildProcess(Surroundings.program, ["login", "--config", path, "--no-browser"])
    login.closeInput()
    let url = try #require(login.awaitLine { $0.hasPrefix("http") }, "\(login.errors)")
    #expect(url.hasPrefix(server.issuer + "/authorize?"))
    let page = try ChildProcess.run("curl", ["-sSL", "--noproxy", "*", "--cacert", server.folder + "/ca.pem", url])
    #expect(login.awaitEnd(seconds: 20) == .exited(0), "\(login.errors)")
    #expect(page.output.contains("You are logged in"), "\(page.output)")
    try meanwhile()
    let logout = try ChildProcess.run(Surroundings.program, ["logout", "--config", path, "one"])
    #expect(logout.status == .exited(0), "\(logout.errors)")
    #expect(!(login.errors + logout.errors + page.output).contains(Configuration.secretMark))
  }

  @Test func `a login and a logout present the certificate everywhere, and a running proxy uses the token as it is`() throws {
    let server = try MutualTLSServer()
    let path = server.folder + "/proxy.conf"
    let text = server.configuration(
      "one", "grant: authorization_code", "scope: mail", "certificate_bound: true",
      top: "token_store: {file: \(server.folder)/tokens.json}")
    try withProxy(text) { proxy in
      try ProxyProcess.write("listen: 127.0.0.1:0\n" + text, to: path)
      try logInAndOut(server, path) {
        let isUsed = try eventually { try proxy.ask("http://one.test/api").text.contains("\"client\": \"one\"") }
        #expect(isUsed)
      }
      let state = try server.state()
      let own = state.seen.filter { $0.path != "/authorize" }
      #expect(own.map(\.path).filter { $0 == "/token" }.count == 1, "the running proxy refreshed nothing")
      for path in ["/par", "/token", "/revoke"] { #expect(own.contains { $0.path == path }, "\(path)") }
      for request in own {
        #expect(request.client == "one", "\(request)")
        #expect(request.port == "mtls" || request.path.hasPrefix("/.well-known/"), "\(request)")
        #expect(request.form?["client_secret"] == nil)
      }
      #expect(state.counts["mismatched"] == nil)
    }
  }

  @Test func `assertions of a login and a logout have the token endpoint as audience, also where an alias gets them`() throws {
    let server = try MutualTLSServer()
    let path = server.folder + "/proxy.conf"
    let key = try TokenKey.make("ES384")
    let text = server.configuration(
      "one", "grant: authorization_code", "scope: mail", "client_auth: private_key_jwt",
      "private_key: {file: \(key.privateKey)}", top: "token_store: {file: \(server.folder)/tokens.json}")
    try ProxyProcess.write("listen: 127.0.0.1:0\n" + text, to: path)
    try logInAndOut(server, path)
    let posts = try server.state().seen.filter { $0.form != nil }
    #expect(posts.map(\.path) == ["/par", "/token", "/revoke", "/revoke"])
    var identifiers: Set<String?> = []
    for post in posts {
      #expect(post.port == "mtls" && post.client == "one")
      let token = try SignedToken(post.form?["client_assertion"] ?? "")
      #expect(token.algorithm == "ES384")
      #expect(token.claim("aud") == server.issuer + "/token", "\(post.path)")
      #expect(try token.isSigned(by: key.publicKey))
      identifiers.insert(token.claim("jti"))
    }
    #expect(identifiers.count == 4)
  }

  @Test func `a login on another device presents the certificate, too`() throws {
    let server = try MutualTLSServer()
    let path = server.folder + "/proxy.conf"
    let text = server.configuration(
      "one", "grant: device_code", "scope: mail", top: "token_store: {file: \(server.folder)/tokens.json}")
    try ProxyProcess.write("listen: 127.0.0.1:0\n" + text, to: path)
    let login = try ChildProcess.run(Surroundings.program, ["login", "--config", path])
    #expect(login.status == .exited(0), "\(login.errors)")
    let seen = try server.state().seen
    #expect(seen.filter { $0.port == "mtls" }.map(\.path) == ["/device", "/token"])
    #expect(seen.allSatisfy { $0.client == "one" })
  }
}
