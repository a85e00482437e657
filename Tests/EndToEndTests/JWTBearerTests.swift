import Foundation
import Testing

/// The grant of RFC 7523 section 2.1: an assertion is the grant itself.
@Suite struct JWTBearerTests {
  @Test(arguments: TokenKey.algorithms)
  func `an assertion is signed anew for each request, and is what the server asks for`(_ algorithm: String) throws {
    let server = try TokenServer()
    let key = try TokenKey.make(algorithm)
    let assertion =
      #"assertion: {issuer: robot@app.test, subject: ann@corp.test, audience: "https://login.test/", lifetime: 5m}"#
    try withProxy(
      try server.configuration(
        "grant: jwt_bearer", "client_auth: none", assertion, "private_key: {file: \(key.privateKey)}", "key_id: k7",
        "signing_algorithm: \(algorithm)", "scope: mail")
    ) { proxy in
      #expect(try proxy.ask(server.url()).status == 200)
      try server.set(#"{"revoke": true}"#)
      #expect(try proxy.ask(server.url()).status == 200)
      let forms = try server.state().requests.map(\.form)
      try #require(forms.count == 2)
      var identifiers: Set<String?> = []
      for form in forms {
        #expect(form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer")
        #expect(form["scope"] == "mail")
        #expect(form["client_assertion"] == nil)
        let token = try SignedToken(form["assertion"] ?? "")
        #expect(token.algorithm == algorithm)
        #expect(token.head["kid"] as? String == "k7")
        #expect(token.claim("iss") == "robot@app.test")
        #expect(token.claim("sub") == "ann@corp.test")
        #expect(token.claim("aud") == "https://login.test/")
        #expect(token.time("exp") - token.time("iat") == 300)
        #expect(abs(token.time("iat") - Int(Date().timeIntervalSince1970)) < 30)
        #expect(try token.isSigned(by: key.publicKey))
        identifiers.insert(token.claim("jti"))
      }
      #expect(identifiers.count == 2)
    }
  }

  @Test func `a ready assertion comes from its file, read anew`() throws {
    let server = try TokenServer()
    let path = try Surroundings.newFolder() + "/assertion"
    try ProxyProcess.write("first.5ecret.jwt\n", to: path)
    try withProxy(
      try server.configuration("grant: jwt_bearer", "client_auth: none", "assertion: {file: \(path)}")
    ) { proxy in
      #expect(try proxy.ask(server.url()).status == 200)
      try ProxyProcess.write("second.5ecret.jwt\n", to: path)
      try server.set(#"{"revoke": true}"#)
      #expect(try proxy.ask(server.url()).status == 200)
      #expect(try server.state().requests.map { $0.form["assertion"] } == ["first.5ecret.jwt", "second.5ecret.jwt"])
    }
  }

  @Test func `a refused assertion is told to the app, without a word of it`() throws {
    let server = try TokenServer()
    let path = try Surroundings.newFolder() + "/assertion"
    try ProxyProcess.write("stale.5ecret.jwt\n", to: path)
    try server.set(
      #"{"queue": [{"status": 400, "body": {"error": "invalid_grant", "error_description": "stale.5ecret.jwt"}}]}"#)
    try withProxy(
      try server.configuration("grant: jwt_bearer", "client_auth: none", "assertion: {file: \(path)}")
    ) { proxy in
      let answer = try proxy.ask(server.url())
      expectOwnAnswer(answer, 503, "proxy_internal_response")
      #expect(answer.text.contains("invalid_grant"))
      #expect(!answer.text.contains("5ecret"))
    }
  }
}
