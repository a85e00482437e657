import Testing

@testable import Credentials

@Suite("The token machine keeps what comes from a source")
struct SourceMachineTests {
  private let keys = AWSKeys(accessKeyID: "AKIA", secretAccessKey: Secret("s"), sessionToken: Secret("t"))

  private func driver(_ source: TokenSource) -> Driver { Driver(OAuth2Policy(source: source)) }
  private var aws: TokenSource { .aws(AWSKeySource()) }
  private var google: TokenSource { .cloudIdentity(.google(.access(scopes: []), environment: SourceEnvironment())) }
  private func github(_ scheme: GitHubApp.Scheme) -> TokenSource {
    .githubApp(
      GitHubApp(appID: "1", installationID: "2", key: OAuth2Policy.SigningKey(pem: Secret("k")), scheme: scheme))
  }

  private func answered(_ driver: inout Driver, _ token: Secret, warning: String? = nil) -> [OAuth2Machine.Action] {
    _ = driver.need()
    var grant = TokenGrant(accessToken: token, lifetime: 3600)
    grant.warning = warning
    return driver.answer(.token(grant))
  }

  @Test("keys become material, tokens become fields")
  func content() throws {
    var machine = driver(aws)
    let published = try #require(answered(&machine, keys.token).published.first)
    #expect(published.material == .awsKeys(keys))
    #expect(text(published.line) == "X-Amz-Security-Token: t\r\n")
    machine = driver(google)
    #expect(answered(&machine, Secret("ya29")).published.first.map { text($0.line) } == "Authorization: Bearer ya29\r\n")
    machine = driver(github(.bearer))
    #expect(answered(&machine, Secret("ghs_x")).published.first.map { text($0.line) } == "Authorization: Bearer ghs_x\r\n")
    machine = driver(github(.basic))
    #expect(
      answered(&machine, Secret("ghs_x")).published.first.map { text($0.line) }
        == "Authorization: Basic eC1hY2Nlc3MtdG9rZW46Z2hzX3g=\r\n")
    machine = driver(aws)
    #expect(answered(&machine, Secret("no keys")).published.isEmpty)
  }

  @Test("a warning is reported with its token")
  func warning() {
    var machine = driver(aws)
    #expect(answered(&machine, keys.token, warning: "old").reports.contains(.warning("old")))
  }

  @Test("nothing to get keys with: requests learn that an operator must act, and attempts go on")
  func unfit() {
    var machine = driver(aws)
    _ = machine.need()
    let actions = machine.answer(.failed(.unfit("there are no keys")))
    #expect(actions.failedWaiters == [.needsOperator("there are no keys")])
    #expect(machine.need().need.unavailable == .needsOperator("there are no keys"))
    machine.pass(1_000)
    #expect(machine.need().need.isWait)
    #expect(machine.answer(.failed(.timedOut)).failedWaiters.count == 1)
    #expect(machine.need().need.unavailable.map { if case .temporarily = $0 { true } else { false } } == true)
  }

  @Test("a refused role backs off, GitHub's refusal is final")
  func refused() {
    let refusal = TokenAnswer.refused(OAuthError(code: .other, text: "no"))
    var machine = driver(aws)
    _ = machine.need()
    #expect(machine.answer(refusal).failedWaiters == [.needsOperator("no")])
    machine.pass(1_000)
    #expect(machine.need().need.isWait)
    machine = driver(github(.bearer))
    _ = machine.need()
    #expect(machine.answer(refusal).failedWaiters == [.needsOperator("no")])
    machine.pass(3_600_000)
    #expect(machine.need().need.unavailable == .needsOperator("no"))
  }

  @Test("a reload of the same configuration asks about GitHub's refusal again")
  func askAgain() {
    var machine = driver(github(.bearer))
    _ = machine.need()
    _ = machine.answer(.refused(OAuthError(code: .other, text: "no")))
    machine.pass(3_600_000)
    _ = machine.machine.askAgain(now: machine.now)
    #expect(machine.need().need.isWait)
    #expect(machine.answer(.token(TokenGrant(accessToken: Secret("ghs_x"), lifetime: 3600))).published.count == 1)
  }

  @Test("GitHub's Retry-After counts for as long as it says, also over a reload; AWS's for five minutes")
  func retryAfter() {
    var machine = driver(github(.bearer))
    _ = machine.need()
    _ = machine.answer(.failed(.server("limit"), retryAfter: 3_600_000))
    machine.pass(3_599_000)
    _ = machine.machine.askAgain(now: machine.now)
    #expect(machine.need().need.unavailable == .temporarily("limit", retryAfter: 1_000))
    machine.pass(1_000)
    #expect(machine.need().need.isWait)
    machine = driver(aws)
    _ = machine.need()
    _ = machine.answer(.failed(.server("limit"), retryAfter: 3_600_000))
    machine.pass(300_000)
    #expect(machine.need().need.isWait)
  }

  @Test("a reload ends a source's back-off, also of a fetch ahead, but no limit of GitHub's")
  func reloadInBackOff() {
    for source in [aws, google, github(.bearer)] {
      var machine = driver(source)
      _ = machine.need()
      _ = machine.answer(.failed(.server("down"), retryAfter: 300_000))
      machine.pass(1_000)
      #expect(machine.need().need.unavailable == .temporarily("down", retryAfter: 299_000))
      _ = machine.machine.askAgain(now: machine.now)
      #expect(machine.need().need.isWait)
      // The next failure backs off again.
      _ = machine.answer(.failed(.server("down"), retryAfter: 300_000))
      #expect(machine.need().need.unavailable == .temporarily("down", retryAfter: 300_000))
    }
    var machine = driver(aws)
    _ = machine.note(machine.machine.ahead(now: machine.now))
    _ = machine.answer(.failed(.server("down"), retryAfter: 300_000))
    machine.pass(1_000)
    _ = machine.note(machine.machine.askAgain(now: machine.now))
    #expect(machine.wakeAt == machine.now)
    _ = machine.wake()
    #expect(machine.answer(.token(TokenGrant(accessToken: keys.token, lifetime: 3600))).published.count == 1)
  }

  @Test("a role that is refused later does not take valid keys away")
  func stillValid() {
    var machine = driver(aws)
    _ = answered(&machine, keys.token)
    machine.pass(3_400_000)
    _ = machine.timer()
    _ = machine.answer(.refused(OAuthError(code: .other, text: "no")))
    #expect(machine.need().need.version == 1)
    machine.pass(200_000)
    #expect(machine.need().need.version == nil)
  }

  @Test("an exchange asks the source, and forgets what it sent")
  func exchange() {
    let source = AWSKeySource(base: .fixed(keys), roles: [.init(arn: "arn:r")], region: "eu-west-1")
    var exchange = TokenExchange(policy: OAuth2Policy(source: .aws(source)))
    let step = exchange.start(.init(), now: 0, wall: 0)
    #expect(step.sending?.signature?.keys == keys)
    exchange.abandon()
    #expect(exchange.answered(status: 200, retryAfter: nil, body: [], now: 0, wall: 0).failure != nil)
  }

  @Test("another source is another credential; another secret is not")
  func continuity() {
    func parts(_ source: TokenSource) -> [[UInt8]] {
      CredentialPolicy(name: "a", kind: .oauth2(OAuth2Policy(source: source))).continuity
    }
    #expect(parts(github(.bearer)) != parts(github(.basic)))
    #expect(parts(google) != parts(.cloudIdentity(.google(.access(scopes: ["x"]), environment: SourceEnvironment()))))
    #expect(parts(aws) != parts(.aws(AWSKeySource(profile: "x"))))
    let other = AWSKeys(accessKeyID: "AKIA", secretAccessKey: Secret("new"))
    #expect(parts(.aws(AWSKeySource(base: .fixed(keys)))) == parts(.aws(AWSKeySource(base: .fixed(other)))))
  }
}
