import JSON
import Testing

@testable import Credentials

@Suite("What a login does with the server's tokens")
struct LoginTokenTests {
  private func exchanged(
    _ policy: OAuth2Policy = loginPolicy(), options: LoginOptions = .init(), _ answer: (LoginDriver) -> EndpointAnswer
  ) throws -> LoginDriver {
    var driver = try LoginDriver(policy, options: options)
    driver.reach(.exchanging)
    driver.answer(answer(driver))
    return driver
  }

  // MARK: Bad servers

  static let badAnswers: [(EndpointAnswer, LoginExit)] = [
    (.status(500), .unavailable), (.status(503, retryAfter: 1), .unavailable), (.status(429, retryAfter: 1), .unavailable),
    (.status(307), .unavailable), (.status(301), .unavailable), (.status(404), .unavailable),
    (.status(403, "<html>"), .unavailable),
    (.ok(bytes("<html>no</html>")), .unavailable), (.ok([]), .unavailable), (.failed(.tooLarge), .unavailable),
    (.ok([UInt8](repeating: 0x20, count: 2_000_000)), .unavailable), (.failed(.timedOut), .unavailable),
    (.failed(.unreachable("the connection ended early")), .unavailable), (.ok(bytes("{\"access_token\":\"a")), .unavailable),
    (.ok(json(["access_token": "a"])), .unavailable), (.ok(json(["access_token": "a", "token_type": "mac"])), .unavailable),
    (.ok(json(["access_token": "a b", "token_type": "Bearer"])), .unavailable),
    (.refusal("invalid_grant"), .refused), (.refusal("invalid_client"), .refused), (.refusal("server_error"), .unavailable),
    (.ok(json(["error": "invalid_grant"])), .refused), (.failed(.notTrusted("unknown authority")), .refused),
  ]

  @Test("a token endpoint that fails ends the login, the code is not sent again, and nothing is stored", arguments: badAnswers)
  func badServer(answer: EndpointAnswer, exit: LoginExit) throws {
    var driver = try exchanged { _ in answer }
    #expect(driver.log.exit == exit)
    #expect(driver.log.answered[1]?.status == 400)
    #expect(driver.log.requests.filter { $0.field("code") != nil }.count == 1)
    driver.pass(3_600_000)
    #expect(driver.take(.timer).isEmpty && driver.callback().isEmpty)
    #expect(driver.log.stores.isEmpty && !driver.log.contains(.openStore))
  }

  @Test("an error that repeats code and verifier does not show them")
  func quoting() throws {
    let driver = try exchanged {
      let values = [$0.secrets.verifier, $0.secrets.state, $0.secrets.nonce].map { text($0.bytes) }.joined(separator: " ")
      return .refusal("invalid_grant", "code \(Hidden.code) \(values)")
    }
    #expect(driver.log.ends.first?.text == "the token server refused: invalid_grant (code *** *** *** ***)")
  }

  static let badClaims: [([String: JSONValue?], String)] = [
    (["nonce": "other"], "nonce"), (["nonce": nil], "nonce"), (["aud": "other"], "aud"), (["azp": "other"], "azp"),
    (["iss": "https://evil.example"], "another issuer"), (["exp": .integer(1_799_999_940)], "expired"),
    (["sub": nil], "no sub"),
  ]

  @Test("an id_token that is not about this login ends it, and nothing is stored", arguments: badClaims)
  func badIDToken(changes: [String: JSONValue?], says: String) throws {
    let driver = try exchanged { $0.tokens(claims: changes) }
    #expect(driver.log.exit == .refused)
    #expect(driver.log.ends.first?.text.contains(says) == true)
    #expect(!driver.log.contains(.openStore))
  }

  @Test("with openid an id_token must come, without openid none is read")
  func openID() throws {
    #expect(try exchanged { $0.tokens(["id_token": nil]) }.log.exit == .refused)
    #expect(try exchanged { $0.tokens(["id_token": .integer(1)]) }.log.exit == .refused)
    var without = try exchanged(loginPolicy(scope: "mail")) { $0.tokens(["id_token": "garbage"]) }
    without.take(.storeOpened(subject: nil))
    #expect(without.log.stores.first.map { $0.subject == nil && $0.person == nil } == true)
  }

  // MARK: What is stored

  private func stored(
    _ policy: OAuth2Policy = loginPolicy(), _ answer: (LoginDriver) -> EndpointAnswer
  ) throws -> (login: CompletedLogin, last: [LoginAction]) {
    var driver = try exchanged(policy, answer)
    let login = try #require(driver.take(.storeOpened(subject: nil)).stores.first)
    return (login, driver.take(.stored))
  }

  @Test("the login as it is stored, and who logged in")
  func complete() throws {
    let (login, last) = try stored { $0.tokens(["scope": "openid mail", "refresh_token_expires_in": .integer(86_400)]) }
    #expect(login.accessToken == Secret(Hidden.accessToken) && login.bearer == login.accessToken)
    #expect(login.refreshToken == Secret(Hidden.refreshToken))
    #expect(login.lifetime == 3_600 && login.expiresAt == 1_800_003_600)
    #expect(login.loggedInAt == 1_800_000_000 && login.loginExpiresAt == 1_800_086_400)
    #expect(login.scope == "openid mail" && login.subject == "alice-17")
    #expect(last.ends == [LoginEnd(.done, "logged in to mailbox as alice@example.com (subject alice-17)")])
    let page = text(last.answered[1]?.body ?? [])
    #expect(page.contains("You are logged in to mailbox as alice@example.com"))
    #expect(last.words == "page 200, finish 0")
  }

  @Test("without scope, lifetimes and words about the login's end the configuration counts")
  func defaults() throws {
    let settings = LoginSettings(lifetime: 7_776_000_000)
    let (login, _) = try stored(loginPolicy(settings: settings)) { $0.tokens(["expires_in": nil]) }
    #expect(login.scope == "openid offline_access")
    #expect(login.lifetime == 3_600)
    #expect(login.loginExpiresAt == 1_807_776_000)
    #expect(try stored { $0.tokens() }.login.loginExpiresAt == nil)
    #expect(
      try stored(loginPolicy(settings: settings)) { $0.tokens(["refresh_expires_in": .integer(60)]) }.login.loginExpiresAt
        == 1_800_000_060)
  }

  @Test("lifetimes count from the request")
  func slowAnswer() throws {
    var driver = try LoginDriver()
    driver.reach(.exchanging)
    driver.pass(9_500)
    driver.answer(driver.tokens(["refresh_token_expires_in": .integer(100)]))
    let login = try #require(driver.take(.storeOpened(subject: nil)).stores.first)
    #expect(login.expiresAt == driver.wall - 10 + 3_600)
    #expect(login.loginExpiresAt == driver.wall - 10 + 100)
    var dead = try LoginDriver()
    dead.reach(.exchanging)
    dead.pass(9_500)
    #expect(dead.answer(dead.tokens(["expires_in": .integer(5)])).exit == .unavailable)
  }

  @Test("without refresh token the login succeeds with a warning that says when it ends")
  func noRefreshToken() throws {
    let (login, last) = try stored { $0.tokens(["refresh_token": nil, "refresh_expires_in": .integer(9)]) }
    #expect(login.refreshToken == nil && login.loginExpiresAt == login.expiresAt)
    #expect(last.exit == .done)
    let warning = try #require(last.notes.first)
    #expect(warning.contains("expires in 60 minutes") && warning.contains("offline_access") && warning.contains("access_type"))
  }

  @Test("use: id_token sends the id_token for as long as it is valid")
  func useIDToken() throws {
    let policy = loginPolicy(settings: .init(use: .idToken))
    let (login, _) = try stored(policy) { $0.tokens(claims: ["exp": .integer(1_800_000_300)]) }
    #expect(login.bearer != login.accessToken && login.bearer.bytes.filter { $0 == UInt8(ascii: ".") }.count == 2)
    #expect(login.expiresAt == 1_800_000_300 && login.lifetime == 300)
    #expect(try exchanged(policy) { $0.tokens(["id_token": nil]) }.log.exit == .refused)
    let expired = try exchanged(policy) { $0.tokens(claims: ["exp": .integer(1_799_999_990)]) }
    #expect(expired.log.exit == .unavailable, "within the skew, but of no use")
  }

  // MARK: Who

  static let subjects: [(configured: String?, recorded: String?, logsIn: String?, other: Bool, isAccepted: Bool)] = [
    (nil, nil, "alice-17", false, true), (nil, "alice-17", "alice-17", false, true), (nil, "bob-3", "alice-17", false, false),
    (nil, "bob-3", "alice-17", true, true), (nil, "alice-1", "alice-17", false, false),
    (nil, "ALICE-17", "alice-17", false, false),
    ("alice-17", nil, "alice-17", false, true), ("bob-3", nil, "alice-17", false, false),
    ("bob-3", nil, "alice-17", true, true),
    // The configuration is newer than the record.
    ("alice-17", "bob-3", "alice-17", false, true), ("bob-3", "alice-17", "alice-17", false, false),
    // Without OpenID nobody says who it is.
    (nil, nil, nil, false, true), (nil, "bob-3", nil, false, false), ("bob-3", nil, nil, false, false),
    ("bob-3", nil, nil, true, true),
  ]

  @Test("another person than the recorded or configured one is refused, unless asked for", arguments: subjects)
  func subject(configured: String?, recorded: String?, logsIn: String?, other: Bool, isAccepted: Bool) throws {
    let policy = loginPolicy(settings: .init(subject: configured), scope: logsIn == nil ? "mail" : "openid")
    var driver = try exchanged(policy, options: .init(otherAccount: other)) { $0.tokens() }
    let actions = driver.take(.storeOpened(subject: recorded))
    if isAccepted {
      #expect(actions.words == "store")
    } else {
      #expect(actions.words == "closeStore, page 400, finish 77")
      #expect(actions.ends.first?.text.contains("--other-account") == true)
    }
  }

  @Test("a store that fails is no login")
  func storeFails() throws {
    for opens in [true, false] {
      var driver = try exchanged { $0.tokens() }
      if opens { driver.take(.storeOpened(subject: nil)) }
      let actions = driver.take(.storeFailed("No space left on device"))
      #expect(actions.exit == .unavailable)
      #expect(actions.ends.first?.text == "the token store failed: No space left on device; nothing was stored")
      #expect(actions.answered[1]?.status == 400)
    }
  }
}
