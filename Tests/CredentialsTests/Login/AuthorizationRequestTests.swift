import Testing

@testable import Credentials

@Suite("The authorization request has what the RFCs demand")
struct AuthorizationRequestTests {
  private func request(
    _ policy: OAuth2Policy = loginPolicy(), redirectURI: String = "http://127.0.0.1:4711/callback"
  ) throws -> AuthorizationRequest {
    AuthorizationRequest(
      policy: policy, settings: policy.login ?? .init(), redirectURI: redirectURI, secrets: try LoginSecrets.sample())
  }

  private func fields(_ url: String) throws -> [String: [String]] {
    let query = try #require(url.split(separator: "?", maxSplits: 1).last)
    let fields = try #require(QueryText.fields(query.utf8))
    return Dictionary(grouping: fields, by: { text($0.name) }).mapValues { $0.map { text($0.value) } }
  }

  @Test("PKCE S256 as in RFC 7636 appendix B")
  func challenge() {
    #expect(
      LoginSecrets.challenge(of: Secret("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"))
        == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
  }

  @Test("state, nonce and verifier are three values of 256 bits, in characters that no encoding changes")
  func values() throws {
    let one = try LoginSecrets.sample(1)
    let other = try LoginSecrets.sample(2)
    #expect(Set((one.all + other.all).map(\.bytes)).count == 6)
    for value in one.all {
      #expect(value.bytes.count == 43)
      #expect(FormEncoding.encode(value.bytes) == value.bytes)
    }
    #expect(LoginSecrets(random: [UInt8](repeating: 1, count: 95)) == nil)
    #expect(one.isState(one.state.bytes))
    #expect(!one.isState(other.state.bytes) && !one.isState([]) && !one.isState(Array(one.state.bytes.dropLast())))
    #expect(!one.isState(one.state.bytes + [0x41]))
    var dumped = ""
    dump(one, to: &dumped)
    #expect(!dumped.contains(text(one.verifier.bytes)))
  }

  @Test("the URL has every field once")
  func url() throws {
    let secrets = try LoginSecrets.sample()
    let settings = LoginSettings(authorizationParameters: [
      "prompt": "consent", "state": "evil", "nonce": "evil", "a b": "c&d+e",
    ])
    let policy = loginPolicy(settings: settings, resource: ["https://a.example/x?y=1", "https://b.example"])
    let url = try request(policy).url(at: "https://login.example.com/authorize")
    #expect(
      url.hasPrefix("https://login.example.com/authorize?response_type=code&client_id=my-app&redirect_uri=http%3A%2F%2F127"))
    #expect(url.contains("scope=openid%20offline_access") && url.contains("a%20b=c%26d%2Be"))
    #expect(
      try fields(url) == [
        "response_type": ["code"], "client_id": ["my-app"], "redirect_uri": ["http://127.0.0.1:4711/callback"],
        "state": [text(secrets.state.bytes)], "code_challenge": [secrets.challenge], "code_challenge_method": ["S256"],
        "scope": ["openid offline_access"], "nonce": [text(secrets.nonce.bytes)],
        "resource": ["https://a.example/x?y=1", "https://b.example"], "prompt": ["consent"], "a b": ["c&d+e"],
      ])
    #expect(!url.contains(text(secrets.verifier.bytes)))
  }

  @Test("without openid there is no nonce, without scope no scope")
  func plain() throws {
    #expect(try fields(try request(loginPolicy(scope: "mail openid2")).url(at: "https://a/"))["nonce"] == nil)
    let none = try fields(try request(loginPolicy(scope: nil)).url(at: "https://a/"))
    #expect(none["scope"] == nil && none["nonce"] == nil)
  }

  @Test(
    "the endpoint's own query stays",
    arguments: [
      ("https://a.example/auth", "https://a.example/auth?response_type="),
      ("https://a.example/auth?", "https://a.example/auth?response_type="),
      ("https://a.example/auth?p=b2c_1", "https://a.example/auth?p=b2c_1&response_type="),
      ("https://a.example/auth?p=b2c_1&", "https://a.example/auth?p=b2c_1&response_type="),
    ])
  func ownQuery(endpoint: String, prefix: String) throws {
    #expect(try request().url(at: endpoint).hasPrefix(prefix))
  }

  // MARK: Pushed

  @Test("a pushed request has the same fields and the client's authentication; the URL then has two")
  func pushed() throws {
    let settings = LoginSettings(authorizationParameters: ["prompt": "consent"])
    for (authentication, last) in [
      (.none, []), (.post(secret: Secret("s")), ["client_secret=s"]), (.basic(secret: Secret("s")), []),
    ] as [(OAuth2Policy.ClientAuthentication, [String])] {
      let policy = loginPolicy(settings: settings, authentication: authentication, resource: ["https://a.example"])
      let request = try request(policy)
      let pushed = try request.pushed(
        to: "https://a.example/par", policy: policy, tokenEndpoint: "https://a.example/token", wall: 0)
      let secrets = try LoginSecrets.sample()
      #expect(
        pushed.http.form == [
          "response_type=code", "client_id=my-app", "redirect_uri=http://127.0.0.1:4711/callback",
          "state=\(text(secrets.state.bytes))", "code_challenge=\(secrets.challenge)", "code_challenge_method=S256",
          "scope=openid offline_access", "nonce=\(text(secrets.nonce.bytes))", "prompt=consent", "resource=https://a.example",
        ] + last)
      #expect(
        pushed.http.fields.contains { $0.name == "Authorization" }
          == (pushed.http.url.isEmpty || last.isEmpty && authentication != .none))
      #expect(pushed.secrets.contains(secrets.state))
      #expect(
        request.url(at: "https://a.example/auth?x=1", requestURI: "urn:ietf:params:oauth:request_uri:6esc")
          == "https://a.example/auth?x=1&client_id=my-app&request_uri=urn%3Aietf%3Aparams%3Aoauth%3Arequest_uri%3A6esc")
    }
  }

  static let badAnswers: [(EndpointAnswer, LoginExit)] = [
    (.status(500), .unavailable), (.status(307), .unavailable), (.failed(.timedOut), .unavailable),
    (.refusal("invalid_request"), .refused), (.refusal("server_error"), .unavailable), (.status(404), .unavailable),
    (.ok(bytes("<html>"), 201), .unavailable), (.ok(json(["expires_in": .integer(60)]), 201), .unavailable),
    (.ok(json(["request_uri": "", "expires_in": .integer(60)]), 201), .unavailable),
    (.ok(json(["request_uri": "a b"]), 201), .unavailable), (.ok(json(["request_uri": "a\u{1b}"]), 201), .unavailable),
    (.ok(json(["request_uri": .string(String(repeating: "a", count: 2049))]), 201), .unavailable),
  ]

  @Test("an answer without usable request_uri is a failure, never a reason to go without", arguments: badAnswers)
  func badAnswer(answer: EndpointAnswer, exit: LoginExit) {
    do throws(LoginEnd) {
      _ = try PushedAnswer(answer, hiding: [])
      Issue.record("believed")
    } catch {
      #expect(error.exit == exit)
      #expect(error.text.hasPrefix("pushed request: "))
    }
  }

  @Test("the answer's lifetime")
  func lifetime() throws {
    let answer = try PushedAnswer(.ok(json(["request_uri": "urn:x", "expires_in": .integer(60)]), 201), hiding: [])
    #expect(answer.requestURI == "urn:x" && answer.lifetime == 60)
    #expect(try PushedAnswer(.ok(json(["request_uri": "urn:x"])), hiding: []).lifetime == nil)
  }

  // MARK: Redirect URI

  @Test(
    "redirect URIs",
    arguments: [
      ("http://127.0.0.1/callback", .init(host: .ipv4, port: nil), "http://127.0.0.1:99/callback", "/callback"),
      ("http://127.0.0.1", .init(host: .ipv4, port: nil), "http://127.0.0.1:99", "/"),
      ("http://[::1]/", .init(host: .ipv6, port: nil), "http://[::1]:99/", "/"),
      ("http://localhost:8080/a/b", .init(host: .localhost, port: 8080), "http://localhost:8080/a/b", "/a/b"),
      ("HTTP://LocalHost:99/A", .init(host: .localhost, port: 99), "HTTP://LocalHost:99/A", "/A"),
      ("https://app.example/cb", nil, "https://app.example/cb", "/cb"),
      ("https://127.0.0.1/cb", nil, "https://127.0.0.1/cb", "/cb"),
    ] as [(String, RedirectURI.Listener?, String, String)])
  func redirects(text: String, listener: RedirectURI.Listener?, sent: String, path: String) throws {
    let uri = try RedirectURI(text)
    #expect(uri.listener == listener)
    #expect(uri.text(port: 99) == sent)
    #expect(uri.path == path)
    #expect(uri.text == text)
  }

  @Test(
    "other redirect URIs are refused",
    arguments: [
      ("http://app.example/cb", .notLoopback), ("http://127.0.0.2/cb", .notLoopback), ("http://0.0.0.0/", .notLoopback),
      ("ftp://localhost/", .notLoopback), ("urn:ietf:wg:oauth:2.0:oob", .notLoopback), ("com.example.app:/cb", .notLoopback),
      ("http://127.0.0.1/cb?x=1", .queryFragmentOrUserInformation), ("https://a.example/?", .queryFragmentOrUserInformation),
      ("https://a.example/#x", .queryFragmentOrUserInformation), ("https://me@a.example/", .queryFragmentOrUserInformation),
      ("/callback", .malformed), ("", .malformed), ("http://127.0.0.1:0/", .malformed), ("https://a b/", .malformed),
    ] as [(String, RedirectURI.Problem)])
  func badRedirects(text: String, problem: RedirectURI.Problem) {
    #expect(throws: problem) { try RedirectURI(text) }
  }

  @Test("the default")
  func standard() throws {
    #expect(try RedirectURI("http://127.0.0.1/callback") == .standard)
  }
}
