import Foundation
import Testing

/// The grant of RFC 8693 with one subject for all requests: a secret, or the token of another credential.
@Suite struct TokenExchangeTests {
  private static func uri(_ type: String) -> String { "urn:ietf:params:oauth:token-type:\(type)" }

  @Test func `a secret is read again for each exchange, and types are URNs`() throws {
    let server = try TokenServer()
    let folder = try Surroundings.newFolder()
    try ProxyProcess.write("first.5ecret.subject\n", to: folder + "/subject")
    try ProxyProcess.write("first.5ecret.actor\n", to: folder + "/actor")
    let configuration = try server.configuration(
      "grant: token_exchange", "subject_token: {file: \(folder)/subject}", "subject_token_type: jwt",
      "actor_token: {file: \(folder)/actor}", "actor_token_type: id_token", "requested_token_type: access_token",
      "audience: [orders, billing]", "scope: write")
    try withProxy(configuration) { proxy throws in
      #expect(try proxy.ask(server.url()).status == 200)
      try ProxyProcess.write("second.5ecret.subject\n", to: folder + "/subject")
      try server.set(#"{"revoke": true}"#)
      #expect(try proxy.ask(server.url()).status == 200)
      let forms = try server.state().requests.map(\.form)
      try #require(forms.count == 2)
      for (form, subject) in zip(forms, ["first.5ecret.subject", "second.5ecret.subject"]) {
        #expect(form["grant_type"] == "urn:ietf:params:oauth:grant-type:token-exchange")
        #expect(form["subject_token"] == subject)
        #expect(form["subject_token_type"] == Self.uri("jwt"))
        #expect(form["actor_token"] == "first.5ecret.actor")
        #expect(form["actor_token_type"] == Self.uri("id_token"))
        #expect(form["requested_token_type"] == Self.uri("access_token"))
        #expect(form["scope"] == "write")
      }
    }
  }

  /// `api` exchanges the tokens of `workload`, which another realm issues.
  private struct Pair {
    let server: TokenServer
    let source: TokenServer

    init() throws {
      server = try TokenServer()
      source = try TokenServer(origin: server.origin)
    }

    func configuration(_ oauth: String..., workload: [String] = []) throws -> String {
      let lines = [
        "  workload:", "    oauth2:", "      grant: client_credentials", "      token_url: \(source.tokenURL)",
        "      client_id: w", "      client_secret: 5ecret-workload", "      timeout: 60s",
      ]
      let api = try server.configuration(
        "grant: token_exchange", "subject_token: {credential: workload}", oauth.first ?? "scope: read")
      return api + (lines + workload.map { "      " + $0 }).joined(separator: "\n") + "\nadmin: 127.0.0.1:0\n"
    }

    var subjects: [String?] { get throws { try server.state().requests.map { $0.form["subject_token"] } } }
  }

  @Test func `another credential's token is exchanged; its refresh causes no exchange`() throws {
    let pair = try Pair()
    try pair.source.set(#"{"expires_in": 4}"#)
    try withProxy(try pair.configuration()) { proxy throws in
      #expect(try proxy.ask(pair.server.url()).status == 200)
      #expect(try pair.subjects == [pair.source.state().issued.first])
      #expect(try eventually(seconds: 8) { try pair.source.state().issued.count > 1 })
      #expect(try proxy.ask(pair.server.url()).status == 200)
      #expect(try pair.subjects.count == 1)
      try pair.server.set(#"{"revoke": true}"#)
      #expect(try proxy.ask(pair.server.url()).status == 200)
      let last = try pair.subjects.last
      #expect(try pair.source.state().issued.dropFirst().contains { $0 == last }, "the token of today")
    }
  }

  @Test(arguments: ["invalid_request", "invalid_grant"])
  func `a refused exchange has the source refreshed once, and is repeated once`(_ error: String) throws {
    let pair = try Pair()
    try pair.server.set("{\"queue\": [{\"status\": 400, \"body\": {\"error\": \"\(error)\"}}]}")
    try withProxy(try pair.configuration()) { proxy throws in
      #expect(try proxy.ask(pair.server.url()).status == 200)
      #expect(try pair.subjects == pair.source.state().issued)
      #expect(try pair.source.state().issued.count == 2)
    }
  }

  @Test func `refused again, it is not repeated; other errors never are`() throws {
    let pair = try Pair()
    let refusal = #"{"status": 400, "body": {"error": "invalid_grant"}}"#
    try pair.server.set("{\"queue\": [\(refusal), \(refusal)]}")
    try withProxy(try pair.configuration()) { proxy throws in
      expectOwnAnswer(try proxy.ask(pair.server.url()), 503, "proxy_internal_response")
      #expect(try pair.server.state().requests.count == 2)
      #expect(try pair.source.state().requests.count == 2)
    }
    let other = try Pair()
    try other.server.set(#"{"queue": [{"status": 401, "body": {"error": "invalid_client"}}]}"#)
    try withProxy(try other.configuration()) { proxy throws in
      expectOwnAnswer(try proxy.ask(other.server.url()), 503, "proxy_internal_response")
      #expect(try other.server.state().requests.count == 1)
      #expect(try other.source.state().requests.count == 1)
    }
  }

  @Test func `an actor's token comes from its credential`() throws {
    let pair = try Pair()
    let path = try Surroundings.newFolder() + "/subject"
    try ProxyProcess.write("5ecret-person", to: path)
    let configuration = try pair.configuration("actor_token: {credential: workload}")
      .replacingOccurrences(of: "subject_token: {credential: workload}", with: "subject_token: {file: \(path)}")
    try withProxy(configuration) { proxy throws in
      #expect(try proxy.ask(pair.server.url()).status == 200)
      let form = try #require(try pair.server.state().requests.first?.form)
      #expect(form["subject_token"] == "5ecret-person")
      #expect(try form["actor_token"] == pair.source.state().issued.first)
      #expect(form["actor_token_type"] == Self.uri("access_token"))
    }
  }

  @Test func `what the source says is what the app reads, and no exchange is tried`() throws {
    let pair = try Pair()
    try pair.source.set(#"{"queue": [{"status": 503, "fields": {"Retry-After": "40"}}]}"#)
    try withProxy(try pair.configuration()) { proxy throws in
      let answer = try proxy.ask(pair.server.url())
      expectOwnAnswer(answer, 503, "proxy_internal_response")
      #expect(answer["Proxy-Status"]?.contains(#"credential \"workload\" has no usable token"#) == true, "\(answer.fields)")
      #expect(try pair.server.state().requests.isEmpty)
    }
  }

  @Test(arguments: [
    #"{"body": {"access_token": "t", "token_type": "N_A", "issued_token_type": "urn:ietf:params:oauth:token-type:refresh_token"}}"#,
    #"{"body": {"access_token": "t", "token_type": "mac"}}"#, #"{"body": "<html>login</html>"}"#, #"{"drop": true}"#,
  ])
  func `an answer that is no token for APIs is not sent to one`(_ step: String) throws {
    let server = try TokenServer("{\"queue\": [\(step)]}")
    try withProxy(try server.configuration("grant: token_exchange", "subject_token: 5ecret-subject")) { proxy throws in
      expectOwnAnswer(try proxy.ask(server.url()), 503, "proxy_internal_response")
      #expect(try server.state().uses.isEmpty)
    }
  }

  @Test func `a token of another type than Bearer is sent as Bearer`() throws {
    let body =
      #"{"access_token": "5aml", "token_type": "N_A", "issued_token_type": "urn:ietf:params:oauth:token-type:saml2"}"#
    let server = try TokenServer("{\"accept\": [\"5aml\"], \"queue\": [{\"body\": \(body)}]}")
    try withProxy(try server.configuration("grant: token_exchange", "subject_token: 5ecret-subject")) { proxy throws in
      #expect(try proxy.ask(server.url()).status == 200)
      #expect(try server.state().uses.map(\.token) == ["5aml"])
    }
  }
}
