import Crypto
import JSON
import Testing

@testable import Credentials

private let wall: Int64 = 1_800_000_000

private func refusal(_ error: String) -> [UInt8] { bytes("{\"error\":\"\(error)\"}") }

private func tokens(_ type: String) -> [UInt8] { bytes("{\"token_type\":\"\(type)\",\"access_token\":\"t1\"}") }

extension TokenExchange.Step {
  fileprivate var request: TokenHTTPRequest? { if case .send(let request) = self { request } else { nil } }
  fileprivate var answer: TokenAnswer? { if case .finished(let answer) = self { answer } else { nil } }
}

extension TokenExchange {
  fileprivate mutating func begin(_ key: DPoPKey?) throws -> TokenHTTPRequest {
    try #require(start(.init(dpopKey: key), now: 0, wall: wall).request)
  }

  fileprivate mutating func take(_ body: [UInt8], _ status: Int = 400, nonce: String? = nil) -> Step {
    answered(status: status, retryAfter: nil, dpopNonce: nonce, body: body, now: 1, wall: wall + 1)
  }
}

@Suite("Token requests with DPoP")
struct DPoPExchangeTests {
  @Test("each has a proof of its own, for method and URL without query, and no ath")
  func proofs() throws {
    let key = try DPoPKey.generated()
    var exchange = TokenExchange(policy: dpopPolicy())
    let proof = try ReadProof(of: try exchange.begin(key))
    #expect(proof.method == "POST" && proof.uri == "https://login.example.com/token")
    #expect(proof.claims["iat"]?.integer == wall)
    #expect(proof.claims["ath"] == nil && proof.nonce == nil)
    #expect(proof.thumbprint == key.thumbprint)
    _ = exchange.take(tokens("DPoP"), 200)
    let next = try ReadProof(of: try exchange.begin(key))
    #expect(next.identifier != proof.identifier)
  }

  @Test("without dpop there is none")
  func bearer() throws {
    var exchange = TokenExchange(policy: dpopPolicy(dpop: nil))
    #expect(try exchange.begin(nil).fields.allSatisfy { $0.name != "DPoP" })
  }

  @Test("a server that asks for its nonce gets the request once more, with a new proof; never a third time")
  func nonce() throws {
    let key = try DPoPKey.generated()
    var exchange = TokenExchange(policy: dpopPolicy(scope: "a"))
    let first = try exchange.begin(key)
    let second = try #require(exchange.take(refusal("use_dpop_nonce"), nonce: "n-1").request)
    let proof = try ReadProof(of: second)
    #expect(proof.nonce == "n-1")
    #expect(try proof.identifier != ReadProof(of: first).identifier)
    #expect(second.body == first.body && second.url == first.url)
    guard case .refused(let error)? = exchange.take(refusal("use_dpop_nonce"), nonce: "n-2").answer else {
      Issue.record("sent a third time")
      return
    }
    #expect(error.code == .useDPoPNonce)
    #expect(error.classified(for: .refreshToken(Secret("r"))) == .permanent)
    // The nonce of the refusal counts, too.
    #expect(try ReadProof(of: try exchange.begin(key)).nonce == "n-2")
    // So does the one that comes with tokens.
    _ = exchange.take(tokens("DPoP"), 200, nonce: "n-3")
    #expect(try ReadProof(of: try exchange.begin(key)).nonce == "n-3")
  }

  @Test(
    "a refusal for the nonce without a usable one is final",
    arguments: [nil, "", "a b", "a\u{1}", String(repeating: "n", count: 4_096)])
  func unusableNonce(nonce: String?) throws {
    var exchange = TokenExchange(policy: dpopPolicy())
    _ = try exchange.begin(.generated())
    guard case .refused? = exchange.take(refusal("use_dpop_nonce"), nonce: nonce).answer else {
      Issue.record("sent again")
      return
    }
  }

  @Test("the nonce and a refused scope each cost one more request")
  func scopeAndNonce() throws {
    var exchange = TokenExchange(policy: dpopPolicy(grant: .refreshToken(Secret("r")), scope: "a"))
    _ = try exchange.begin(.generated())
    let second = try #require(exchange.take(refusal("use_dpop_nonce"), nonce: "n-1").request)
    #expect(second.form.contains("scope=a"))
    let third = try #require(exchange.take(refusal("invalid_scope"), nonce: "n-2").request)
    #expect(!third.form.contains("scope=a"))
    #expect(try ReadProof(of: third).nonce == "n-2")
  }

  @Test("a refused scope does not bring the nonce's repeat back")
  func scopeAfterNonce() throws {
    var exchange = TokenExchange(policy: dpopPolicy(grant: .refreshToken(Secret("r")), scope: "a"))
    _ = try exchange.begin(.generated())
    _ = exchange.take(refusal("use_dpop_nonce"), nonce: "n-1")
    #expect(exchange.take(refusal("invalid_scope")).request != nil)
    guard case .refused(let error)? = exchange.take(refusal("use_dpop_nonce"), nonce: "n-2").answer else {
      Issue.record("sent a fourth time")
      return
    }
    #expect(error.code == .useDPoPNonce)
  }

  @Test("without a key there is no request")
  func noKey() {
    var exchange = TokenExchange(policy: dpopPolicy())
    guard case .failed(.signing, _)? = exchange.start(.init(), now: 0, wall: wall).answer else {
      Issue.record("sent without proof")
      return
    }
  }

  @Test(
    "a refresh token is kept from an answer that cannot be used",
    arguments: [
      #"{"token_type": "Bearer", "access_token": "t", "refresh_token": "r2"}"#,
      #"{"access_token": "t", "refresh_token": "r2"}"#,
      #"{"token_type": "DPoP", "refresh_token": "r2"}"#,
      #"{"token_type": "DPoP", "access_token": "a b", "refresh_token": "r2"}"#,
    ])
  func keptRefreshToken(body: String) {
    guard case .failed(let failure, _) = TokenResponse.parse(status: 200, body: bytes(body), as: .dpop),
      case .unusable(_, let kept) = failure
    else {
      Issue.record("\(body)")
      return
    }
    #expect(kept == Secret("r2") && !"\(failure)".contains("r2"))
  }

  @Test("what is sent again for a nonce has another client assertion, too")
  func assertions() throws {
    let signing = OAuth2Policy.SigningKey(pem: Secret(try PrivateKey.generateP256().pem()))
    let policy = OAuth2Policy(
      endpoint: .issuer(url: loginIssuer), grant: .authorizationCode(.init()), clientID: "my-app",
      clientAuthentication: .privateKeyJWT(signing), scope: "openid", dpop: .generated)
    var driver = try LoginDriver(policy, dpopKey: .generated())
    let challenge = EndpointAnswer.response(
      status: 400, retryAfter: nil, body: Secret(refusal("use_dpop_nonce")), dpopNonce: "as-1")
    driver.reach(.pushing)
    driver.answer(challenge)
    driver.answer(.ok(json(["request_uri": "urn:x"]), 201))
    driver.callback()
    driver.answer(challenge)
    let sent = driver.log.requests.compactMap { $0.field("client_assertion") }
    #expect(sent.count == 4 && Set(sent).count == 4)
    let codes = driver.log.requests.compactMap { $0.field("code") }
    #expect(codes == [Hidden.code, Hidden.code])
  }

  @Test(
    "the type of the token must be the one that was asked for: Bearer is a downgrade",
    arguments: [
      (OAuth2Policy.DPoP?.some(.generated), "DPoP", true), (.generated, "dpop", true), (.generated, "Bearer", false),
      (.generated, "N_A", false), (nil, "Bearer", true), (nil, "DPoP", false),
    ])
  func types(dpop: OAuth2Policy.DPoP?, type: String, isAccepted: Bool) throws {
    var exchange = TokenExchange(policy: dpopPolicy(dpop: dpop))
    _ = try exchange.begin(dpop == nil ? nil : .generated())
    switch exchange.take(tokens(type), 200).answer {
    case .token? where isAccepted: break
    case .failed(.malformed(let why), _)? where !isAccepted:
      #expect(why == "its token_type is '\(type)', not \(dpop == nil ? "Bearer" : "DPoP")")
    default: Issue.record("wrong answer")
    }
  }

  @Test("another key begins without the nonces of the one before")
  func otherKey() throws {
    var exchange = TokenExchange(policy: dpopPolicy())
    _ = try exchange.begin(.generated())
    _ = exchange.take(tokens("DPoP"), 200, nonce: "n-1")
    #expect(try ReadProof(of: try exchange.begin(.generated())).nonce == nil)
  }

  @Test("a login binds its tokens to one key: dpop_jkt, pushed request and code; the store gets the key")
  func login() throws {
    let key = try DPoPKey.generated()
    var policy = OAuth2Policy(
      endpoint: .issuer(url: loginIssuer), grant: .authorizationCode(.init()), clientID: "my-app", clientAuthentication: .none,
      scope: "openid", dpop: .generated)
    for dpop in [OAuth2Policy.DPoP.generated, .key(key)] {
      policy = OAuth2Policy(
        endpoint: policy.endpoint, grant: policy.grant, clientID: policy.clientID, clientAuthentication: .none, scope: "openid",
        dpop: dpop)
      var driver = try LoginDriver(policy, dpopKey: key)
      driver.reach(.pushing)
      let pushed = try #require(driver.log.requests.last)
      #expect(pushed.field("dpop_jkt") == key.thumbprint)
      #expect(try ReadProof(of: pushed).uri == "https://login.example.com/par")
      driver.answer(
        .response(status: 400, retryAfter: nil, body: Secret(refusal("use_dpop_nonce")), dpopNonce: "as-1"))
      let again = try #require(driver.log.requests.last)
      #expect(try ReadProof(of: again).nonce == "as-1" && again.body == pushed.body)
      driver.answer(.ok(json(["request_uri": "urn:x"]), 201))
      driver.callback()
      let code = try #require(driver.log.requests.last)
      #expect(code.field("code") == Hidden.code)
      #expect(try ReadProof(of: code).nonce == "as-1")
      #expect(try ReadProof(of: code).thumbprint == key.thumbprint)
      driver.answer(driver.tokens(["token_type": "DPoP"]))
      driver.take(.storeOpened(subject: nil))
      let stored = try #require(driver.log.stores.first)
      #expect(stored.dpopKey == (dpop == .generated ? try key.stored() : nil))
    }
  }

  @Test("a login with Bearer tokens ends, and nothing is stored; one that always asks for a nonce ends, too")
  func badLogins() throws {
    let policy = OAuth2Policy(
      endpoint: .issuer(url: loginIssuer), grant: .authorizationCode(.init()), clientID: "my-app", clientAuthentication: .none,
      scope: "openid", dpop: .generated)
    var downgraded = try LoginDriver(policy, dpopKey: .generated())
    downgraded.reach(.exchanging)
    downgraded.answer(downgraded.tokens())
    #expect(downgraded.log.exit == .refused || downgraded.log.exit == .unavailable)
    #expect(downgraded.log.stores.isEmpty)
    var endless = try LoginDriver(policy, dpopKey: .generated())
    endless.reach(.exchanging)
    let before = endless.log.requests.count
    for number in 0..<2 {
      endless.answer(
        .response(status: 400, retryAfter: nil, body: Secret(refusal("use_dpop_nonce")), dpopNonce: "as-\(number)"))
    }
    #expect(endless.log.requests.count == before + 1)
    #expect(endless.log.ends.count == 1 && endless.log.stores.isEmpty)
  }

  @Test("a device's polls have proofs")
  func device() throws {
    let key = try DPoPKey.generated()
    let policy = OAuth2Policy(
      endpoint: .token(url: "https://login.example.com/token"),
      endpoints: .init(deviceAuthorization: "https://login.example.com/device"), grant: .deviceCode(.init()),
      clientID: "my-app", clientAuthentication: .none, dpop: .generated)
    var flow = DeviceFlow(name: "tv", policy: policy, options: .init(), dpopKey: key)
    var log = flow.start(now: 0, wall: wall)
    log += flow.handle(
      .answer(
        fetch: log.ids.last ?? 0,
        .ok(
          json([
            "device_code": .string(Hidden.deviceCode), "user_code": "AB-12", "verification_uri": "https://login.example.com/d",
          ]))), now: 0, wall: wall)
    log += flow.handle(.timer, now: 5_000, wall: wall + 5)
    let poll = try #require(log.requests.last)
    #expect(try ReadProof(of: poll).uri == "https://login.example.com/token")
    let again = flow.handle(
      .answer(
        fetch: log.ids.last ?? 0,
        .response(status: 400, retryAfter: nil, body: Secret(refusal("use_dpop_nonce")), dpopNonce: "as-1")), now: 5_001,
      wall: wall + 5)
    #expect(try ReadProof(of: try #require(again.requests.last)).nonce == "as-1")
    let done = flow.handle(
      .answer(fetch: again.ids.last ?? 0, .ok(json(["token_type": "DPoP", "access_token": "t1"]))), now: 5_002, wall: wall + 5)
    #expect(done.words == "openStore")
  }
}
