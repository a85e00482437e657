import Foundation
import Testing

/// The proxy's requests to the token server.
@Suite struct TokenRequestTests {
  @Test func `client_secret by Basic is encoded as RFC 6749 section 2_3_1 asks`() throws {
    let server = try TokenServer()
    try withProxy(
      try server.configuration(
        #"client_id: "m e""#, #"client_secret: "5ecret:+ü%""#, #"scope: "read write""#,
        #"parameters: {audience: "https://a.test/?x=1&y"}"#)
    ) { proxy in
      #expect(try proxy.ask(server.url()).status == 200)
      let asked = try server.state().requests[0]
      #expect(asked["Authorization"] == "Basic " + Data("m+e:5ecret%3A%2B%C3%BC%25".utf8).base64EncodedString())
      #expect(
        asked.form == ["grant_type": "client_credentials", "scope": "read write", "audience": "https://a.test/?x=1&y"])
      #expect(asked["Content-Type"] == "application/x-www-form-urlencoded")
      #expect(asked["Expect"] == nil)
    }
  }

  @Test func `by post, with a password grant`() throws {
    let server = try TokenServer()
    try withProxy(
      try server.configuration(
        "grant: password", "client_auth: post", "client_secret: 5ecret", "username: u", "password: pw-5ecret&x")
    ) { proxy in
      #expect(try proxy.ask(server.url()).status == 200)
      let asked = try server.state().requests[0]
      #expect(asked["Authorization"] == nil)
      #expect(
        asked.form == [
          "grant_type": "password", "client_id": "me", "client_secret": "5ecret", "username": "u", "password": "pw-5ecret&x",
        ])
    }
  }

  @Test func `a private key signs client assertions, each with its own identifier`() throws {
    let server = try TokenServer(#"{"expires_in": 1}"#)
    for algorithm in TokenKey.algorithms {
      try server.set(#"{"forget": true}"#)
      let key = try TokenKey.make(algorithm)
      try withProxy(
        try server.configuration(
          "client_auth: private_key_jwt", "private_key: {file: \(key.privateKey)}", "key_id: k1",
          // The others are their key's default.
          algorithm == "PS256" ? "signing_algorithm: PS256" : "")
      ) { proxy in
        #expect(try proxy.ask(server.url()).status == 200)
        #expect(try eventually { try proxy.ask(server.url()).status == 200 && server.state().requests.count >= 2 })
        let forms = try server.state().requests.prefix(2).map(\.form)
        var identifiers: Set<String?> = []
        for form in forms {
          #expect(form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
          let token = try SignedToken(form["client_assertion"] ?? "")
          #expect(token.algorithm == algorithm)
          #expect(token.head["kid"] as? String == "k1")
          #expect(token.claim("iss") == "me")
          #expect(token.claim("aud") == server.tokenURL)
          #expect(try token.isSigned(by: key.publicKey))
          identifiers.insert(token.claim("jti"))
        }
        #expect(identifiers.count == 2)
      }
    }
  }

  @Test func `a client secret signs client assertions, and is not sent`() throws {
    let server = try TokenServer()
    let secret = "0123456789-5ecret-0123456789-abcdef"
    try withProxy(try server.configuration("client_auth: client_secret_jwt", "client_secret: \(secret)")) { proxy in
      #expect(try proxy.ask(server.url()).status == 200)
      let asked = try server.state().requests[0]
      #expect(asked["Authorization"] == nil)
      #expect(asked.form.keys.sorted() == ["client_assertion", "client_assertion_type", "client_id", "grant_type"])
      let token = try SignedToken(asked.form["client_assertion"] ?? "")
      #expect(token.claim("iss") == "me" && token.claim("sub") == "me")
      #expect(token.claim("aud") == server.tokenURL)
      #expect(try token.isSigned(with: secret))
      #expect(!asked.form.values.contains { $0.contains("5ecret") })
    }
  }

  @Test func `a ready assertion is read anew for each use`() throws {
    let server = try TokenServer()
    let folder = try Surroundings.newFolder()
    try ProxyProcess.write("first.5ecret.jwt\n", to: folder + "/assertion")
    try withProxy(try server.configuration("client_assertion: {file: \(folder)/assertion}")) { proxy in
      #expect(try proxy.ask(server.url()).status == 200)
      try ProxyProcess.write("second.5ecret.jwt\n", to: folder + "/assertion")
      try server.set(#"{"revoke": true}"#)
      #expect(try proxy.ask(server.url()).status == 200)
      #expect(try server.state().requests.map { $0.form["client_assertion"] } == ["first.5ecret.jwt", "second.5ecret.jwt"])
    }
  }

  @Test func `issuer leads to the token endpoint, and must be the document's`() throws {
    let server = try TokenServer()
    try withProxy(try server.configuration("issuer: \(server.issuer)")) { proxy in
      let answer = try proxy.ask(server.url())
      #expect(answer.status == 200, "\(answer.text)")
    }
    try server.set(#"{"issuer": "https://evil.test"}"#)
    try withProxy(try server.configuration("issuer: \(server.issuer)")) { proxy in
      let answer = try proxy.ask(server.url())
      expectOwnAnswer(answer, 503, "proxy_internal_response")
      #expect(answer.text.contains("another issuer"))
    }
    #expect(try server.state().requests.count == 1)
  }

  @Test func `neither the environment's proxy nor a netrc takes part`() throws {
    let server = try TokenServer()
    let home = try Surroundings.newFolder()
    try ProxyProcess.write("machine localhost login evil password netrc-5ecret\n", to: home + "/.netrc")
    let nowhere = "http://127.0.0.1:1"
    let proxy = try ProxyProcess(
      try server.configuration("client_auth: post", "client_secret: 5ecret"),
      environment: ["HOME": home, "http_proxy": nowhere, "https_proxy": nowhere, "ALL_PROXY": nowhere])
    defer { proxy.stop() }
    #expect(try proxy.ask(server.url()).status == 200)
    #expect(try server.state().requests[0]["Authorization"] == nil)
  }

  @Test func `a redirect is not followed`() throws {
    let server = try TokenServer()
    let thief = try TokenServer()
    try server.set(
      "{\"queue\": [{\"status\": 307, \"fields\": {\"Location\": \"\(thief.tokenURL)\"}}]}")
    try withProxy(try server.configuration()) { proxy in
      let answer = try proxy.ask(server.url())
      expectOwnAnswer(answer, 503, "proxy_internal_response")
      #expect(answer.text.contains("redirect"))
      #expect(try thief.state().requests.isEmpty)
    }
  }

  @Test func `an endpoint that its trust policy refuses gets no secret`() throws {
    let origin = try Origin.shared()
    let server = try TokenServer()
    for port in [origin.ports.self_signed, origin.ports.expired, origin.ports.wrong_host] {
      try withProxy(
        try server.configuration("token_url: https://localhost:\(port)/oauth/\(server.name)/token")
      ) { proxy in
        let answer = try proxy.ask(server.url())
        expectOwnAnswer(answer, 503, "proxy_internal_response")
        #expect(answer.text.contains("not trusted"), "\(answer.text)")
      }
    }
    #expect(try server.state().requests.isEmpty)
  }

  @Test(arguments: [
    #"{"body": ""}"#, #"{"body": "<html>"}"#, #"{"body": {"access_token": "a b", "token_type": "Bearer"}}"#,
    #"{"body": {"access_token": "a\r\nX: y", "token_type": "Bearer"}}"#,
    #"{"body": {"access_token": "abc", "token_type": "mac"}}"#, #"{"status": 204}"#, #"{"drop": true}"#,
  ])
  func `what is no token is never believed`(_ answer: String) throws {
    let server = try TokenServer()
    try server.set("{\"queue\": [\(answer)]}")
    try withProxy(try server.configuration()) { proxy in
      expectOwnAnswer(try proxy.ask(server.url()), 503, "proxy_internal_response")
      #expect(try server.state().uses.isEmpty)
    }
  }
}
