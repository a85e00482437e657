import Testing

@testable import Credentials

@Suite("A logout revokes what the store had")
struct LogoutFlowTests {
  private struct Driver {
    var flow: LogoutFlow
    var now: Int64 = 1_000_000
    var log: [LoginAction] = []

    init(_ policy: OAuth2Policy = explicit, tokens: [RevocableToken] = both) {
      flow = LogoutFlow(name: "mailbox", policy: policy, tokens: tokens)
    }

    static let explicit = loginPolicy(
      issuer: nil, endpoints: .init(revocation: "https://login.example.com/revoke"), authentication: .post(secret: Secret("s")))
    static let both = [
      RevocableToken(Secret(Hidden.refreshToken), hint: .refreshToken),
      RevocableToken(Secret(Hidden.accessToken), hint: .accessToken),
    ]

    @discardableResult
    mutating func start() -> [LoginAction] {
      let actions = flow.start(now: now, wall: 0)
      log += actions
      return actions
    }

    @discardableResult
    mutating func take(_ input: LoginInput) -> [LoginAction] {
      let actions = flow.handle(input, now: now, wall: 0)
      log += actions
      return actions
    }

    @discardableResult
    mutating func answer(_ answer: EndpointAnswer) -> [LoginAction] { take(.answer(fetch: log.ids.last ?? 0, answer)) }
  }

  @Test("both tokens, each with its hint and the client's authentication")
  func both() {
    var driver = Driver()
    driver.start()
    #expect(driver.answer(.status(200)).requests.count == 1)
    #expect(driver.answer(.ok(bytes("anything"))).ends == [LoginEnd(.done, "logged out of mailbox")])
    #expect(driver.log.requests.map(\.url) == ["https://login.example.com/revoke", "https://login.example.com/revoke"])
    #expect(
      driver.log.requests.map(\.form) == [
        ["token=\(Hidden.refreshToken)", "token_type_hint=refresh_token", "client_id=my-app", "client_secret=s"],
        ["token=\(Hidden.accessToken)", "token_type_hint=access_token", "client_id=my-app", "client_secret=s"],
      ])
    #expect(driver.flow.unrevoked.isEmpty)
  }

  /// The first answer; the exit, and how many tokens stay for the next logout if every later answer is a success.
  static let answers: [(EndpointAnswer, LoginExit, Int)] = [
    (.status(200), .done, 0), (.status(204), .done, 0), (.ok(bytes("<html>")), .done, 0),
    (.refusal("unsupported_token_type"), .done, 0), (.refusal("invalid_client"), .refused, 1),
    (.refusal("invalid_token"), .refused, 1),
    (.ok(json(["error": "invalid_request"])), .refused, 1), (.status(403), .refused, 1), (.status(404), .refused, 1),
    (.failed(.notTrusted("x")), .refused, 1), (.status(500), .unavailable, 2), (.status(503), .unavailable, 2),
    (.status(429), .unavailable, 2), (.failed(.timedOut), .unavailable, 2), (.failed(.unreachable("x")), .unavailable, 2),
    (.failed(.tooLarge), .unavailable, 2), (.status(307), .unavailable, 2), (.refusal("server_error"), .unavailable, 2),
    (.status(503, retryAfter: 11), .unavailable, 2),
  ]

  @Test("answers", arguments: answers)
  func firstAnswer(answer: EndpointAnswer, exit: LoginExit, left: Int) {
    var driver = Driver()
    driver.start()
    driver.answer(answer)
    if driver.log.exit == nil { driver.answer(.status(200)) }
    #expect(driver.log.exit == exit)
    #expect(driver.flow.unrevoked.count == left)
    #expect(left == 0 || driver.flow.unrevoked.first == Driver.both.first)
  }

  @Test("a second token that fails stays alone")
  func second() {
    var driver = Driver()
    driver.start()
    driver.answer(.status(200))
    let end = driver.answer(.status(500)).ends.first
    #expect(end?.exit == .unavailable)
    let why = "the token server answered with status 500; run the command again to revoke the tokens"
    #expect(end?.text == "logged out of mailbox here, but not at the server: \(why)")
    #expect(driver.flow.unrevoked == [Driver.both[1]])
  }

  @Test("Retry-After is respected within the time-out")
  func retryAfter() {
    var driver = Driver()
    driver.start()
    driver.answer(.status(503, retryAfter: 4))
    #expect(driver.flow.state == .waiting)
    #expect(driver.log.wake == .some(1_004_000))
    driver.now += 3_999
    #expect(driver.take(.timer).isEmpty)
    driver.now += 1
    #expect(driver.take(.timer).requests.count == 1)
    driver.answer(.status(503, retryAfter: 4))
    driver.now += 4_000
    driver.take(.timer)
    #expect(driver.answer(.status(503, retryAfter: 4)).exit == .unavailable, "the third wait would exceed ten seconds")
    #expect(driver.log.requests.count == 3)
  }

  @Test("a request that never returns is cancelled")
  func lost() {
    var driver = Driver()
    driver.start()
    driver.now += 15_000
    let actions = driver.take(.timer)
    #expect(actions.cancelled == [1] && actions.exit == .unavailable)
  }

  @Test("the endpoint is discovered; without one there is a warning and success")
  func discovery() {
    var driver = Driver(loginPolicy())
    driver.start()
    #expect(driver.flow.state == .discovering)
    driver.answer(.ok(metadata(["revocation_endpoint": nil])))
    #expect(driver.answer(.ok(metadata())).requests.map(\.url) == ["https://login.example.com/revoke"])
    var without = Driver(loginPolicy())
    without.start()
    without.answer(.ok(metadata(["revocation_endpoint": nil])))
    let actions = without.answer(.status(404))
    #expect(actions.exit == .done && actions.notes.first?.hasPrefix("warning: the server has no revocation endpoint") == true)
    #expect(without.flow.unrevoked.isEmpty)
    var named = Driver(loginPolicy(issuer: nil))
    #expect(named.start().exit == .done)
  }

  @Test("an unreachable issuer, or an endpoint in clear text, keeps the tokens for the next logout")
  func badDiscovery() {
    for (answer, exit) in [
      (.failed(.unreachable("refused")), .unavailable), (.status(500), .unavailable),
      (.ok(metadata(["revocation_endpoint": "http://login.example.com/r"])), .refused),
    ] as [(EndpointAnswer, LoginExit)] {
      var driver = Driver(loginPolicy())
      driver.start()
      #expect(driver.answer(answer).exit == exit)
      #expect(driver.flow.unrevoked == Driver.both)
    }
  }

  @Test("a signed assertion needs the token endpoint, so it is discovered although the revocation endpoint is named")
  func assertionAudience() {
    var driver = Driver(
      loginPolicy(
        endpoints: .init(revocation: "https://login.example.com/revoke"),
        authentication: .privateKeyJWT(.init(pem: Secret("not a key")))))
    #expect(driver.start().words == "fetch openid-configuration")
    #expect(driver.answer(.ok(metadata())).exit == .configuration)
  }

  @Test("without tokens there is nothing to ask")
  func nothing() {
    var driver = Driver(loginPolicy(), tokens: [])
    #expect(driver.start().ends == [LoginEnd(.done, "logged out of mailbox")])
    #expect(driver.start().isEmpty && driver.take(.timer).isEmpty)
  }

  @Test("it works for grant refresh_token")
  func refreshTokenGrant() {
    let policy = makePolicy(grant: .refreshToken(Secret("r")), endpoint: .issuer(url: loginIssuer))
    var driver = Driver(policy, tokens: [Driver.both[0]])
    driver.start()
    let request = driver.answer(.ok(metadata())).requests.first
    #expect(request?.form == ["token=\(Hidden.refreshToken)", "token_type_hint=refresh_token"])
    #expect(request?.fields.contains { $0.name == "Authorization" } == true)
    #expect(driver.answer(.status(200)).exit == .done)
  }
}
