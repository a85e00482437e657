import Crypto
import JSON
import Testing

@testable import Credentials

/// Not read by this module; only its thumbprint and its presence count.
func certificate(_ byte: UInt8 = 1, bindsTokens: Bool = false) -> OAuth2Policy.ClientCertificate {
  OAuth2Policy.ClientCertificate(
    files: CertificateFiles(certificates: [byte], key: Secret([byte])), thumbprint: .init(repeating: byte, count: 32),
    bindsTokens: bindsTokens)
}

@Suite("A client with a certificate (RFC 8705)")
struct ClientCertificateTests {
  private static let aliases: JSONValue = [
    "token_endpoint": "https://mtls.example.com/token",
    "device_authorization_endpoint": "https://mtls.example.com/device",
    "revocation_endpoint": "https://mtls.example.com/revoke",
    "pushed_authorization_request_endpoint": "https://mtls.example.com/par",
    "authorization_endpoint": "https://mtls.example.com/authorize",
  ]
  private static let document = metadata([
    "pushed_authorization_request_endpoint": "https://login.example.com/par", "mtls_endpoint_aliases": aliases,
  ])

  private func read(_ changes: [String: JSONValue?]) throws -> ServerMetadata {
    try Discovery.read(metadata(changes), issuer: loginIssuer)
  }

  // MARK: Metadata

  @Test("aliases take precedence, for clients with a certificate, and never for the page")
  func aliases() throws {
    let found = try Discovery.read(Self.document, issuer: loginIssuer)
    for (endpoint, path) in [
      (ServerMetadata.Endpoint.token, "token"), (.deviceAuthorization, "device"), (.revocation, "revoke"),
      (.pushedAuthorization, "par"),
    ] {
      #expect(try found.url(of: endpoint, withCertificate: true) == "https://mtls.example.com/\(path)")
      #expect(try found.url(of: endpoint) == "https://login.example.com/\(path)")
    }
    #expect(try found.url(of: .authorization, withCertificate: true) == "https://login.example.com/authorize")
  }

  @Test("an endpoint without an alias is the plain one, and one that has only an alias is there")
  func partialAliases() throws {
    let found = try read(["revocation_endpoint": nil, "mtls_endpoint_aliases": ["revocation_endpoint": "https://m/r"]])
    #expect(try found.url(of: .token, withCertificate: true) == "https://login.example.com/token")
    #expect(try found.url(of: .revocation, withCertificate: true) == "https://m/r")
    #expect(found.names(.revocation, withCertificate: true) && !found.names(.revocation))
    for odd: JSONValue in [.null, "https://m/t", .array(["https://m/t"]), ["token_endpoint": .integer(7)]] {
      #expect(
        try read(["mtls_endpoint_aliases": odd]).url(of: .token, withCertificate: true) == "https://login.example.com/token")
    }
  }

  @Test("an alias that cannot be used is refused, and the plain endpoint does not take its place")
  func badAliases() throws {
    for (url, problem) in [
      ("http://evil.example/t", .notHTTPS), ("http://127.0.0.1:8080/t", .withoutCertificate), ("/t", .malformed),
      ("https://u@evil.example/t", .fragmentOrUserInformation),
    ] as [(String, EndpointURL.Problem)] {
      let found = try read(["mtls_endpoint_aliases": ["token_endpoint": .string(url)]])
      #expect(throws: Discovery.Failure.badAlias(.token, problem)) { try found.url(of: .token, withCertificate: true) }
      #expect(try found.url(of: .token) == "https://login.example.com/token")
    }
    let plain = try read(["token_endpoint": "http://[::1]:80/t", "authorization_endpoint": "http://[::1]:80/a"])
    #expect(throws: Discovery.Failure.badEndpoint(.token, .withoutCertificate)) {
      try plain.url(of: .token, withCertificate: true)
    }
    #expect(try plain.url(of: .authorization, withCertificate: true) == "http://[::1]:80/a")
    #expect(try plain.url(of: .token) == "http://[::1]:80/t")
  }

  @Test("the second document adds aliases that the first lacks")
  func secondDocument() throws {
    var first = try read(["mtls_endpoint_aliases": ["token_endpoint": "https://a/t"]])
    first.complete(
      from: try read(["mtls_endpoint_aliases": ["token_endpoint": "https://b/t", "revocation_endpoint": "https://b/r"]]))
    #expect(try first.url(of: .token, withCertificate: true) == "https://a/t")
    #expect(try first.url(of: .revocation, withCertificate: true) == "https://b/r")
  }

  // MARK: Requests

  private func exchanged(_ policy: OAuth2Policy, _ document: [UInt8]) -> TokenExchange.Step {
    var exchange = TokenExchange(policy: policy)
    _ = exchange.start(.init(), now: 0, wall: 1_800_000_000)
    return exchange.answered(status: 200, retryAfter: nil, body: document, now: 0, wall: 1_800_000_000)
  }

  @Test("the form has client_id and no secret, and goes to the alias")
  func form() throws {
    let policy = makePolicy(
      endpoint: .issuer(url: loginIssuer), authentication: .certificate, scope: "a", certificate: certificate())
    guard case .send(let request) = exchanged(policy, Self.document) else { throw TokenFailure.noLogin }
    #expect(request.url == "https://mtls.example.com/token")
    #expect(request.form == ["grant_type=client_credentials", "scope=a", "client_id=app"])
    #expect(request.fields.map(\.name) == ["Content-Type", "Accept"])
  }

  @Test("without a certificate the plain endpoint is used")
  func plain() throws {
    guard case .send(let request) = exchanged(makePolicy(endpoint: .issuer(url: loginIssuer)), Self.document) else {
      throw TokenFailure.noLogin
    }
    #expect(request.url == "https://login.example.com/token")
  }

  @Test("a lying alias gets nothing")
  func lie() {
    let policy = makePolicy(
      endpoint: .issuer(url: loginIssuer), authentication: .certificate, certificate: certificate())
    let lie = metadata(["mtls_endpoint_aliases": ["token_endpoint": "http://evil.example/token"]])
    guard case .finished(.failed(let failure, _)) = exchanged(policy, lie) else {
      Issue.record("it was used")
      return
    }
    #expect(
      "\(failure)" == "the discovered mtls_endpoint_aliases.token_endpoint cannot be used: it is not https, and not loopback")
  }

  private func audience(of request: TokenHTTPRequest?) throws -> String? {
    let parts = try #require(request?.field("client_assertion")).split(separator: ".").map(String.init)
    return try JSONParser.parse(try #require(Base64.decodeURL(parts[1].utf8)))["aud"]?.string
  }

  @Test("an assertion names the plain token endpoint, and the alias if there is no other")
  func assertionAudience() throws {
    let key = OAuth2Policy.SigningKey(pem: Secret(try PrivateKey.generateP256().pem()))
    let policy = makePolicy(
      endpoint: .issuer(url: loginIssuer), authentication: .privateKeyJWT(key), certificate: certificate())
    for (document, url, audience) in [
      (Self.document, "https://mtls.example.com/token", "https://login.example.com/token"),
      (
        metadata(["token_endpoint": nil, "mtls_endpoint_aliases": Self.aliases]), "https://mtls.example.com/token",
        "https://mtls.example.com/token"
      ),
    ] {
      guard case .send(let request) = exchanged(policy, document) else { throw TokenFailure.noLogin }
      #expect(request.url == url)
      #expect(try self.audience(of: request) == audience)
    }
  }

  // MARK: Logins

  @Test("a login uses the aliases, with the token endpoint as audience everywhere")
  func login() throws {
    let secret = Secret([UInt8](repeating: 0x61, count: 32))
    let policy = loginPolicy(authentication: .secretJWT(secret), scope: "a", certificate: certificate())
    var driver = try LoginDriver(policy, document: Self.document)
    driver.start()
    driver.answer(.ok(Self.document))
    driver.take(.listening(port: 4711))
    let pushed = driver.log.requests.last
    #expect(pushed?.url == "https://mtls.example.com/par")
    #expect(try audience(of: pushed) == "https://login.example.com/token")
    let answered = driver.answer(.ok(json(["request_uri": "urn:x", "expires_in": .integer(60)]), 201))
    #expect(
      answered.contains {
        if case .print(let line) = $0 { line.hasPrefix("https://login.example.com/authorize?") } else { false }
      })
    driver.callback()
    let token = driver.log.requests.last
    #expect(token?.url == "https://mtls.example.com/token")
    #expect(try audience(of: token) == "https://login.example.com/token")
  }

  @Test("a login on a device, and a logout, too")
  func deviceAndLogout() throws {
    let secret = Secret([UInt8](repeating: 0x61, count: 32))
    let policy = loginPolicy(isDevice: true, authentication: .secretJWT(secret), scope: "a", certificate: certificate())
    var device = DeviceFlow(name: "mailbox", policy: policy, options: .init())
    var actions = device.start(now: 0, wall: 0)
    actions = device.handle(.answer(fetch: actions.ids.last ?? 0, .ok(Self.document)), now: 0, wall: 0)
    #expect(actions.requests.first?.url == "https://mtls.example.com/device")
    #expect(try audience(of: actions.requests.first) == "https://login.example.com/token")

    var logout = LogoutFlow(
      name: "mailbox", policy: policy, tokens: [RevocableToken(Secret("t"), hint: .accessToken)])
    actions = logout.start(now: 0, wall: 0)
    actions = logout.handle(.answer(fetch: actions.ids.last ?? 0, .ok(Self.document)), now: 0, wall: 0)
    #expect(actions.requests.first?.url == "https://mtls.example.com/revoke")
    #expect(try audience(of: actions.requests.first) == "https://login.example.com/token")
  }

  // MARK: Tokens that are bound to the certificate

  @Test("another certificate is another credential if it binds tokens, and the same one if not")
  func continuity() {
    func parts(_ certificate: OAuth2Policy.ClientCertificate?) -> [[UInt8]] {
      CredentialPolicy(name: "a", kind: .oauth2(makePolicy(certificate: certificate))).continuity
    }
    #expect(parts(certificate(1)) == parts(certificate(2)))
    #expect(parts(certificate(1)) == parts(nil))
    #expect(parts(certificate(1, bindsTokens: true)) != parts(certificate(2, bindsTokens: true)))
    #expect(parts(certificate(1, bindsTokens: true)) != parts(certificate(1)))
    // Whoever logged in with the certificate before need not do so again.
    #expect(
      TokenBinding.digest(of: makePolicy(certificate: certificate(1, bindsTokens: true)))
        == TokenBinding.digest(of: makePolicy()))
  }

  @Test("a public client's refresh token is bound to the certificate, and is sent with no other", arguments: [true, false])
  func publicClient(isPublic: Bool) {
    func policy(_ seed: UInt8) -> OAuth2Policy {
      makePolicy(
        grant: .refreshToken(Secret("first")), authentication: isPublic ? .none : .basic(secret: Secret("s")),
        certificate: certificate(seed, bindsTokens: true))
    }
    let store = MemoryTokenStore()
    var first = Process(policy(1), store: store)
    first.need()
    first.answer(grant("one", refreshToken: "second"))
    var next = Process(policy(2), store: store)
    next.need()
    #expect(next.sent == [isPublic ? "first" : "second"])
  }

  private func policy(_ certificate: OAuth2Policy.ClientCertificate?) -> OAuth2Policy {
    makePolicy(grant: .refreshToken(Secret("first")), certificate: certificate)
  }

  @Test("a token in the store is used with its own certificate only; its refresh token with any")
  func adoption() {
    let (one, two) = (certificate(1, bindsTokens: true), certificate(2, bindsTokens: true))
    for (before, after, isAdopted) in [
      (one, one, true), (one, two, false), (nil, two, false), (one, nil, false), (nil, nil, true),
    ] {
      let store = MemoryTokenStore()
      var first = Process(policy(before), store: store)
      first.need()
      first.answer(grant("one", refreshToken: "second"))
      var next = Process(policy(after), store: store)
      next.need()
      #expect(next.published == (isAdopted ? ["one"] : []), "\(String(describing: after))")
      #expect(next.sent == (isAdopted ? [] : ["second"]))
      guard !isAdopted else { continue }
      next.answer(grant("two", refreshToken: "third"))
      #expect(next.published == ["two"])
      var third = Process(policy(after), store: store)
      third.need()
      #expect(third.published == ["two"])
    }
  }
}
