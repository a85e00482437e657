import Crypto
import JSON
import Testing

@testable import Credentials

@Suite("A token exchange asks as the RFCs say")
struct ExchangeTests {
  private func send(
    _ policy: OAuth2Policy, _ material: TokenRequest.Material = .init()
  ) throws -> (fields: [String: String], form: String, request: TokenHTTPRequest) {
    var exchange = TokenExchange(policy: policy)
    guard case .send(let request) = exchange.start(material, now: 0, wall: 1_800_000_000) else {
      throw TokenFailure.malformed("nothing was sent")
    }
    let fields = Dictionary(uniqueKeysWithValues: request.fields.map { ($0.name, text($0.value.bytes)) })
    return (fields, text(request.body.bytes), request)
  }

  @Test("client_credentials with basic authentication encodes both parts before joining them")
  func basic() throws {
    let sent = try send(
      makePolicy(clientID: "my app:1", authentication: .basic(secret: Secret("p+ä%~*")), scope: "read write"))
    #expect(sent.form == "grant_type=client_credentials&scope=read+write")
    let authorization = try #require(sent.fields["Authorization"])
    let decoded = try #require(Base64.decode(authorization.dropFirst(6).utf8))
    #expect(text(decoded) == "my+app%3A1:p%2B%C3%A4%25%7E*")
    #expect(sent.fields["Content-Type"] == "application/x-www-form-urlencoded")
    #expect(sent.fields["Accept"] == "application/json")
    #expect(sent.request.method == .post)
    #expect(sent.request.url == "https://login.example.com/token")
  }

  @Test("a refresh whose scope is refused is repeated once without scope; nothing else is")
  func refusedScope() {
    let refresh = TokenRequest.Material(refreshToken: Secret("r1"))
    let login = OAuth2Policy.Grant.authorizationCode(.init())
    for (name, policy, material, error, repeats) in [
      ("refresh", makePolicy(grant: .refreshToken(Secret("r0")), scope: "a b"), refresh, "invalid_scope", true),
      ("login", makePolicy(grant: login, scope: "a b"), refresh, "invalid_scope", true),
      ("no scope", makePolicy(grant: login), refresh, "invalid_scope", false),
      ("another error", makePolicy(grant: login, scope: "a b"), refresh, "invalid_grant", false),
      ("another grant", makePolicy(scope: "a b"), .init(), "invalid_scope", false),
    ] {
      var exchange = TokenExchange(policy: policy)
      func answer(_ error: String) -> TokenExchange.Step {
        exchange.answered(
          status: 400, retryAfter: nil, body: bytes("{\"error\":\"\(error)\"}"), now: 1, wall: 1_800_000_000)
      }
      guard case .send(let first) = exchange.start(material, now: 0, wall: 1_800_000_000) else {
        Issue.record("\(name): nothing was sent")
        continue
      }
      #expect(first.form.contains("scope=a b") == (policy.scope != nil), "\(name)")
      let step = answer(error)
      guard repeats else {
        guard case .finished(.refused) = step else {
          Issue.record("\(name): repeated")
          continue
        }
        continue
      }
      guard case .send(let second) = step else {
        Issue.record("\(name): not repeated")
        continue
      }
      #expect(second.form == first.form.filter { !$0.hasPrefix("scope=") }, "\(name)")
      guard case .finished(.refused(let last)) = answer("invalid_scope") else {
        Issue.record("\(name): repeated twice")
        continue
      }
      #expect(last.code == .invalidScope)
    }
  }

  @Test(
    "the forms of the other grants and authentications",
    arguments: [
      (
        makePolicy(grant: .refreshToken(Secret("first")), authentication: .post(secret: Secret("s&s"))), "now",
        "grant_type=refresh_token&refresh_token=now&client_id=app&client_secret=s%26s"
      ),
      (
        makePolicy(grant: .refreshToken(Secret("first")), authentication: .none), nil,
        "grant_type=refresh_token&refresh_token=first&client_id=app"
      ),
      (
        makePolicy(grant: .password(username: "u@x", password: Secret("p w")), clientID: nil, authentication: .none), nil,
        "grant_type=password&username=u%40x&password=p+w"
      ),
      (
        makePolicy(
          grant: .jwtBearer(.ready(Secret("a.b.c"))), clientID: nil, authentication: .none, scope: "s",
          parameters: ["audience": "https://api", "Zed": "1", "grant_type": "evil"]), nil,
        "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=a.b.c&scope=s&Zed=1"
          + "&audience=https%3A%2F%2Fapi"
      ),
      (
        makePolicy(authentication: .clientAssertion(Secret("x.y.z"))), nil,
        "grant_type=client_credentials&client_id=app&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3A"
          + "client-assertion-type%3Ajwt-bearer&client_assertion=x.y.z"
      ),
    ] as [(OAuth2Policy, String?, String)])
  func forms(policy: OAuth2Policy, refreshToken: String?, form: String) throws {
    let sent = try send(policy, .init(refreshToken: refreshToken.map { Secret($0) }))
    #expect(sent.form == form)
    #expect(sent.fields["Authorization"] == nil)
  }

  @Test("a ready assertion is the one that was read last")
  func freshAssertion() throws {
    let client = try send(makePolicy(authentication: .clientAssertion(Secret("old"))), .init(clientAssertion: Secret("new")))
    #expect(client.form.hasSuffix("client_assertion=new"))
    let user = try send(makePolicy(grant: .jwtBearer(.ready(Secret("old")))), .init(grantAssertion: Secret("new")))
    #expect(user.form.contains("assertion=new"))
  }

  private func decoded(_ jwt: String) throws -> (header: JSONValue, claims: JSONValue, input: [UInt8], signature: [UInt8]) {
    let parts = jwt.split(separator: ".", omittingEmptySubsequences: false)
    try #require(parts.count == 3)
    let pieces = try parts.map { try #require(Base64.decodeURL($0.utf8)) }
    return (try JSONParser.parse(pieces[0]), try JSONParser.parse(pieces[1]), bytes("\(parts[0]).\(parts[1])"), pieces[2])
  }

  private func key(for algorithm: String) throws -> PrivateKey {
    switch algorithm {
    case "ES256": try .generateP256()
    case "ES384": try .generateP384()
    case "EdDSA": try .generateEd25519()
    default: try .generateRSA(bits: 2048)
    }
  }

  @Test(
    "private_key_jwt is signed by the key, for the endpoint, briefly", arguments: ["ES256", "RS256", "PS256", "ES384", "EdDSA"])
  func privateKeyJWT(algorithm: String) throws {
    let key = try key(for: algorithm)
    let pem = Secret(try key.pem(passphrase: bytes("open")))
    let signing = OAuth2Policy.SigningKey(
      pem: pem, passphrase: Secret("open"), keyID: "2026-01",
      // The others are their key's default.
      algorithm: algorithm == "PS256" ? .ps256 : nil)
    let policy = makePolicy(authentication: .privateKeyJWT(signing))
    let sent = try send(policy)
    let marker = "&client_assertion="
    let range = try #require(sent.form.firstRange(of: marker))
    let jwt = try decoded(String(sent.form[range.upperBound...]))
    #expect(jwt.header["alg"] == .string(algorithm))
    #expect(jwt.header["kid"] == .string("2026-01"))
    #expect(jwt.claims["iss"] == .string("app"))
    #expect(jwt.claims["sub"] == .string("app"))
    #expect(jwt.claims["aud"] == .string("https://login.example.com/token"))
    #expect(jwt.claims["iat"]?.integer == 1_800_000_000)
    #expect(jwt.claims["exp"]?.integer == 1_800_000_120)
    let used = try #require(PrivateKey.JWSAlgorithm(rawValue: algorithm))
    #expect(key.verify(jwt.signature, of: jwt.input, as: used))
    let again = try send(policy)
    #expect(again.form != sent.form, "each assertion has an identifier of its own")
  }

  @Test("client_secret_jwt is an HMAC with the secret, which is not sent")
  func clientSecretJWT() throws {
    let secret = "0123456789abcdef0123456789abcdef"
    let sent = try send(makePolicy(authentication: .secretJWT(Secret(secret))))
    let range = try #require(sent.form.firstRange(of: "&client_assertion="))
    #expect(
      sent.form.hasPrefix(
        "grant_type=client_credentials&client_id=app&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3A"
          + "client-assertion-type%3Ajwt-bearer&client_assertion="))
    let jwt = try decoded(String(sent.form[range.upperBound...]))
    #expect(jwt.header["alg"] == .string("HS256"))
    #expect(jwt.claims["iss"] == .string("app") && jwt.claims["sub"] == .string("app"))
    #expect(jwt.claims["aud"] == .string("https://login.example.com/token"))
    #expect(jwt.claims["exp"]?.integer == 1_800_000_120)
    #expect(jwt.signature == (try HMACSHA256.code(of: jwt.input, key: bytes(secret))))
    #expect(!sent.form.contains(secret))
  }

  @Test("a secret that is too short, or an algorithm that does not fit the key, signs nothing")
  func unfitForSigning() throws {
    let pem = Secret(try PrivateKey.generateP256().pem())
    for authentication in [
      OAuth2Policy.ClientAuthentication.secretJWT(Secret("0123456789abcdef0123456789abcde")),
      .privateKeyJWT(.init(pem: pem, algorithm: .es384)), .privateKeyJWT(.init(pem: pem, algorithm: .rs256)),
    ] {
      var exchange = TokenExchange(policy: makePolicy(authentication: authentication))
      guard case .finished(.failed(.signing(let why), _)) = exchange.start(.init(), now: 0, wall: 0) else {
        Issue.record("it did not fail")
        continue
      }
      #expect(!why.contains("abcde"))
    }
  }

  @Test("a signed jwt_bearer assertion says what the configuration says")
  func signedGrant() throws {
    let pem = Secret(try PrivateKey.generateP256().pem())
    let assertion = OAuth2Policy.Assertion.signed(
      issuer: "iss@x", subject: "", audience: "https://aud", lifetime: 300_000, key: .init(pem: pem))
    let sent = try send(makePolicy(grant: .jwtBearer(assertion), clientID: nil, authentication: .none))
    let range = try #require(sent.form.firstRange(of: "&assertion="))
    let jwt = try decoded(String(sent.form[range.upperBound...]))
    #expect(jwt.claims["iss"] == .string("iss@x"))
    #expect(jwt.claims["sub"] == nil)
    #expect(jwt.claims["aud"] == .string("https://aud"))
    #expect(jwt.claims["exp"]?.integer == 1_800_000_300)
    #expect(jwt.header["kid"] == nil)
  }

  @Test("a key that cannot sign is a failure, not a crash, and stays unseen")
  func badKey() {
    var exchange = TokenExchange(
      policy: makePolicy(authentication: .privateKeyJWT(.init(pem: Secret("-----BEGIN PRIVATE KEY-----\nhidden\n")))))
    guard case .finished(.failed(.signing(let why), _)) = exchange.start(.init(), now: 0, wall: 0) else {
      Issue.record("it did not fail")
      return
    }
    #expect(!why.contains("hidden"))
  }

  @Test("nothing of a request's secrets is in its description")
  func requestRedaction() throws {
    let sent = try send(makePolicy(authentication: .post(secret: Secret("hush-hush"))))
    var dumped = ""
    dump(sent.request, to: &dumped)
    #expect(!dumped.contains("hush"))
    #expect(!"\(sent.request)".contains("hush"))
  }

  @Test("an answer's error does not repeat the refresh token that was sent")
  func answerRedaction() {
    var exchange = TokenExchange(policy: makePolicy(grant: .refreshToken(Secret("first"))))
    _ = exchange.start(.init(refreshToken: Secret("rt-12345")), now: 0, wall: 0)
    let body = bytes("{\"error\":\"invalid_grant\",\"error_description\":\"no such token: rt-12345\"}")
    let step = exchange.answered(status: 400, retryAfter: nil, body: body, now: 0, wall: 0)
    let error = OAuthError(code: .invalidGrant, text: "invalid_grant (no such token: ***)")
    #expect(step == .finished(.refused(error)))
  }

  // MARK: Discovery

  private let issuer = "https://login.example.com/tenant"
  private let document = bytes(
    "{\"issuer\":\"https://login.example.com/tenant\",\"token_endpoint\":\"https://login.example.com/t2\"}")

  @Test(
    "where a discovery document may be",
    arguments: [
      (
        "https://login.example.com",
        [
          "https://login.example.com/.well-known/openid-configuration",
          "https://login.example.com/.well-known/oauth-authorization-server",
        ]
      ),
      (
        "https://LOGIN.example.com:8443/a/b/",
        [
          "https://login.example.com:8443/a/b/.well-known/openid-configuration",
          "https://login.example.com:8443/.well-known/oauth-authorization-server/a/b",
        ]
      ),
    ])
  func wellKnown(issuer: String, urls: [String]) throws {
    #expect(try Discovery.documentURLs(issuer: issuer) == urls)
  }

  @Test("discovery asks OpenID's address, then RFC 8414's, and then for the token; the endpoint is remembered for an hour")
  func discovery() throws {
    var exchange = TokenExchange(policy: makePolicy(endpoint: .issuer(url: issuer)))
    guard case .send(let first) = exchange.start(.init(), now: 0, wall: 0),
      case .send(let second) = exchange.answered(status: 404, retryAfter: nil, body: [], now: 1, wall: 0),
      case .send(let third) = exchange.answered(status: 200, retryAfter: nil, body: document, now: 2, wall: 0)
    else {
      Issue.record("three requests were due")
      return
    }
    #expect(first.method == .get && first.body.isEmpty)
    #expect(first.url == "https://login.example.com/tenant/.well-known/openid-configuration")
    #expect(second.url == "https://login.example.com/.well-known/oauth-authorization-server/tenant")
    #expect(third.method == .post && third.url == "https://login.example.com/t2")
    _ = exchange.answered(status: 500, retryAfter: nil, body: [], now: 3, wall: 0)
    for (now, url) in [(Int64(1_000_000), third.url), (3_700_000, first.url)] {
      guard case .send(let next) = exchange.start(.init(), now: now, wall: 0) else {
        Issue.record("nothing was sent")
        return
      }
      #expect(next.url == url)
    }
  }

  /// The requests until the token's, with these documents in turn; nil: the request brings no response.
  private func asked(_ documents: [[UInt8]?], hasCertificate: Bool = false) -> [String] {
    var exchange = TokenExchange(
      policy: makePolicy(endpoint: .issuer(url: issuer), certificate: hasCertificate ? certificate(1) : nil))
    var (step, urls) = (exchange.start(.init(), now: 0, wall: 0), [String]())
    for document in documents {
      guard case .send(let request) = step else { break }
      urls.append(request.url)
      step =
        document.map { exchange.answered(status: 200, retryAfter: nil, body: $0, now: 1, wall: 0) }
        ?? exchange.failed(.timedOut)
    }
    if case .send(let last) = step { urls.append(last.url) }
    return urls
  }

  @Test("a document without a token endpoint, or without the alias for a certificate, is no reason to stop")
  func otherDocument() {
    let (first, second) = (
      "https://login.example.com/tenant/.well-known/openid-configuration",
      "https://login.example.com/.well-known/oauth-authorization-server/tenant"
    )
    let none = bytes(#"{"issuer": "\#(issuer)"}"#)
    let aliased = bytes(
      #"""
      {"issuer": "\#(issuer)", "token_endpoint": "https://login.example.com/t3",
      "mtls_endpoint_aliases": {"token_endpoint": "https://mtls.example.com/t"}}
      """#)
    let (plain, alias) = ("https://login.example.com/t2", "https://mtls.example.com/t")
    #expect(asked([none, document]) == [first, second, plain])
    #expect(asked([none, none]) == [first, second])
    #expect(asked([document]) == [first, plain])
    #expect(asked([document, aliased], hasCertificate: true) == [first, second, alias])
    #expect(asked([aliased], hasCertificate: true) == [first, alias])
    for useless in [none, nil, bytes("<html>"), document] {
      #expect(asked([document, useless], hasCertificate: true) == [first, second, plain])
    }
  }

  @Test("a discovery server in trouble is not asked for the other document")
  func discoveryTrouble() {
    var exchange = TokenExchange(policy: makePolicy(endpoint: .issuer(url: issuer)))
    _ = exchange.start(.init(), now: 0, wall: 0)
    guard
      case .finished(.failed(.discovery, _)) = exchange.answered(status: 503, retryAfter: nil, body: [], now: 1, wall: 0)
    else {
      Issue.record("it went on")
      return
    }
  }

  @Test(
    "a discovery document that is not this issuer's, or leads into the clear, is refused",
    arguments: [
      ("{\"issuer\":\"https://login.example.com/tenant/\",\"token_endpoint\":\"https://x/t\"}", "belongs to another issuer"),
      ("{\"issuer\":\"https://LOGIN.example.com/tenant\",\"token_endpoint\":\"https://x/t\"}", "belongs to another issuer"),
      ("{\"token_endpoint\":\"https://x/t\"}", "has no issuer"),
      ("{\"issuer\":\"https://login.example.com/tenant\"}", "has no token_endpoint"),
      ("{\"issuer\":\"https://login.example.com/tenant\",\"token_endpoint\":\"http://x/t\"}", "not https"),
      ("{\"issuer\":\"https://login.example.com/tenant\",\"token_endpoint\":\"/t\"}", "not an absolute URL"),
      ("<html>", "not valid JSON"),
    ])
  func badDocuments(document: String, says: String) {
    do throws(Discovery.Failure) {
      _ = try Discovery.tokenEndpoint(bytes(document), issuer: issuer)
      Issue.record("believed")
    } catch {
      #expect("\(error)".contains(says))
    }
  }

  @Test(
    "token endpoints are https unless loopback",
    arguments: [
      ("https://a.example/token?x=1", nil), ("http://127.0.0.1:8080/t", nil), ("http://localhost/t", nil),
      ("http://[::1]:1/t", nil),
      ("https://[2001:db8::1]/t", nil),
      ("http://a.example/t", .notHTTPS), ("http://127.0.0.1.evil.example/t", .notHTTPS), ("http://localhost.evil/t", .notHTTPS),
      ("ftp://a/t", .notHTTPS), ("https://u:p@a/t", .fragmentOrUserInformation), ("https://a/t#f", .fragmentOrUserInformation),
      ("a.example/t", .malformed), ("https:///t", .malformed), ("https://a b/", .malformed), ("https://a:0/", .malformed),
      ("https://a:99999/", .malformed), ("https://a/\r\nx", .malformed), ("", .malformed), ("https://[::1/t", .malformed),
    ] as [(String, EndpointURL.Problem?)])
  func endpoints(url: String, problem: EndpointURL.Problem?) {
    do throws(EndpointURL.Problem) {
      _ = try EndpointURL(url)
      #expect(problem == nil)
    } catch {
      #expect(error == problem)
    }
  }
}
