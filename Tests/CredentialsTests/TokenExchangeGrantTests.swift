import Testing

@testable import Credentials

@Suite("The grant token_exchange asks as RFC 8693 says")
struct TokenExchangeGrantTests {
  private func form(_ policy: OAuth2Policy, _ material: TokenRequest.Material = .init()) throws -> [String] {
    let request = try TokenRequest(policy: policy, endpoint: "https://login.example.com/token", material: material, wall: 0)
    return text(request.http.body.bytes).split(separator: "&").map(String.init)
  }

  private func settings(
    _ subject: ExchangeSettings.Source, actor: ExchangeSettings.Source? = nil, requested: String? = nil, audience: [String] = []
  ) -> ExchangeSettings {
    ExchangeSettings(
      subject: .init(subject, type: TokenType.jwt.uri), actor: actor.map { .init($0, type: TokenType.accessToken.uri) },
      requestedType: requested, audience: audience)
  }

  private func fresh(_ subject: String? = nil, _ actor: String? = nil) -> TokenRequest.Material {
    var material = TokenRequest.Material()
    material.subject = subject.map { Secret($0) }
    material.actor = actor.map { Secret($0) }
    return material
  }

  private func policy(_ grant: OAuth2Policy.Grant, resource: [String] = []) -> OAuth2Policy {
    OAuth2Policy(
      endpoint: .token(url: "https://login.example.com/token"), grant: grant, clientID: nil, clientAuthentication: .none,
      resource: resource)
  }

  private let exchange = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange"
  private func type(_ name: String, _ key: String) -> String { "\(key)=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3A\(name)" }

  @Test("types are URNs; audience and resource are repeated; what is not configured is not sent")
  func form() throws {
    #expect(
      try form(policy(.tokenExchange(settings(.secret(Secret("old")))))) == [
        exchange, "subject_token=old", type("jwt", "subject_token_type"),
      ])
    let all = settings(
      .client, actor: .credential("workload"), requested: TokenType.accessToken.uri, audience: ["orders", "billing"])
    #expect(
      try form(policy(.tokenExchange(all), resource: ["https://a", "https://b"]), fresh("user", "robot")) == [
        exchange, "subject_token=user", type("jwt", "subject_token_type"), "actor_token=robot",
        type("access_token", "actor_token_type"), type("access_token", "requested_token_type"), "audience=orders",
        "audience=billing", "resource=https%3A%2F%2Fa", "resource=https%3A%2F%2Fb",
      ])
  }

  @Test("a secret that was read again takes the place of the first one")
  func readAgain() throws {
    let policy = policy(.tokenExchange(settings(.secret(Secret("old")), actor: .secret(Secret("first")))))
    let sent = try form(policy, fresh("new", "second"))
    #expect(sent.contains("subject_token=new"))
    #expect(sent.contains("actor_token=second"))
  }

  @Test("without the app's token, or a credential's, nothing is sent")
  func nothing() {
    for grant in [
      OAuth2Policy.Grant.tokenExchange(settings(.client)), .tokenExchange(settings(.credential("mailbox"))),
      .jwtBearer(.client),
      .tokenExchange(settings(.secret(Secret("x")), actor: .credential("workload"))),
    ] {
      #expect(throws: TokenFailure.self) { try form(policy(grant)) }
    }
  }

  @Test("the app's token is an assertion for jwt_bearer")
  func onBehalf() throws {
    let sent = try form(policy(.jwtBearer(.client)), fresh("user"))
    #expect(sent == ["grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer", "assertion=user"])
  }

  @Test(
    "answers",
    arguments: [
      (#""token_type": "Bearer", "issued_token_type": "urn:ietf:params:oauth:token-type:access_token""#, true),
      (#""token_type": "N_A", "issued_token_type": "urn:ietf:params:oauth:token-type:saml2""#, true),
      (#""token_type": "n_a", "issued_token_type": "urn:example:own""#, true),
      (#""token_type": "bearer""#, true),
      (#""token_type": "N_A", "issued_token_type": "urn:ietf:params:oauth:token-type:refresh_token""#, false),
      (#""token_type": "Bearer", "issued_token_type": 7"#, false),
      (#""token_type": "mac""#, false),
      (#""issued_token_type": "urn:ietf:params:oauth:token-type:access_token""#, false),
    ])
  func answers(_ members: String, _ isGood: Bool) {
    let body = bytes("{\"access_token\": \"t\", \(members)}")
    switch TokenResponse.parse(status: 200, body: body, ofExchange: true) {
    case .token(let grant): #expect(isGood && grant.accessToken == Secret("t"))
    case .failed(.malformed, _): #expect(!isGood)
    case let other: Issue.record("\(other)")
    }
  }

  @Test("N_A is for exchanges alone")
  func otherGrants() {
    let body = bytes(#"{"access_token": "t", "token_type": "N_A"}"#)
    guard case .failed(.malformed, _) = TokenResponse.parse(status: 200, body: body) else {
      Issue.record("accepted")
      return
    }
  }

  @Test("a source without a token delays the exchange for a second, however often; the app reads the source's reason")
  func source() {
    let policy = policy(.tokenExchange(settings(.credential("mailbox"))))
    var driver = Driver(policy)
    for (why, expected) in [
      (CredentialUnavailable.needsLogin, "credential \"mailbox\" needs a login: run \"authproxy login mailbox\""),
      (.needsOperator("refused"), "credential \"mailbox\" cannot be used until an operator acts: refused"),
    ] {
      for _ in 0..<5 {
        #expect(driver.need().need.isWait)
        let actions = driver.answer(.failed(.source("mailbox", why)))
        #expect(actions.failedWaiters == [.needsOperator(expected)])
        driver.pass(999)
        #expect(driver.need().need.unavailable == .needsOperator(expected))
        driver.pass(1)
      }
    }
    #expect(driver.need().need.isWait)
    let actions = driver.answer(.failed(.source("mailbox", .temporarily("slow", retryAfter: 30_000))))
    #expect(
      actions.failedWaiters == [.temporarily("credential \"mailbox\" has no usable token now: slow", retryAfter: 1_000)])
    driver.pass(1_000)
    #expect(driver.need().need.isWait)
    #expect(driver.answer(grant("t")).published.count == 1)
    #expect(driver.machine.failureReason != "")
    #expect(driver.need().need.version == 1)
  }

  @Test("the reason is reported once, not at each attempt")
  func report() {
    var driver = Driver(policy(.tokenExchange(settings(.credential("mailbox")))))
    var reports = 0
    for _ in 0..<4 {
      _ = driver.need()
      reports += driver.answer(.failed(.source("mailbox", .needsLogin))).reports.count
      driver.pass(1_000)
    }
    #expect(reports == 1)
  }

  @Test("after the source's logout its exchanged token is not sent, and an exchange in the air is not used")
  func logout() {
    var driver = Driver(policy(.tokenExchange(settings(.credential("mailbox")))))
    driver.makeReady()
    let actions = driver.note(driver.machine.sourceWithdrawn(now: driver.now))
    #expect(actions.contains { if case .withdraw = $0 { true } else { false } })
    #expect(driver.need().need.isWait)
    let old = driver.fetches.last ?? 0
    let again = driver.note(driver.machine.sourceWithdrawn(now: driver.now))
    #expect(again.cancelled == [old])
    #expect(again.fetches.count == 1, "the waiting request asks again, with the source's token of today")
    #expect(driver.machine.tokenAnswer(id: old, grant("stale"), now: driver.now, wall: driver.wall).published.isEmpty)
    #expect(driver.answer(grant("new")).published.count == 1)
  }

  @Test("refusals of a token may have another one cured; of the client or the configuration not")
  func refusals() {
    for (code, expected) in [
      (OAuthError.Code.invalidRequest, true), (.invalidGrant, true), (.invalidClient, false), (.invalidTarget, false),
      (.unauthorizedClient, false), (.serverError, false), (.other, false),
    ] {
      #expect(OAuthError(code: code, text: "").mayConcernToken == expected, "\(code)")
    }
  }
}
