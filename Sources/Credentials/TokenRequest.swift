import Crypto

/// An HTTP request of a token exchange. The owner sends it.
public struct TokenHTTPRequest: Sendable, Hashable {
  public enum Method: String, Sendable, Hashable {
    case get = "GET"
    case post = "POST"
  }
  public var method: Method
  public var url: String
  /// Names and values without line breaks. The sender adds `Host` and `Content-Length`.
  public var fields: [(name: String, value: Secret)] {
    get { storage.map { ($0.name, $0.value) } }
    set { storage = newValue.map { Field(name: $0.name, value: $0.value) } }
  }
  public var body: Secret
  /// Largest response body, in bytes, that the sender needs to read.
  public var maximumAnswer: Int

  private struct Field: Sendable, Hashable {
    var name: String
    var value: Secret
  }
  private var storage: [Field]

  init(method: Method, url: String, fields: [(name: String, value: Secret)], body: Secret, maximumAnswer: Int) {
    self.method = method
    self.url = url
    self.storage = fields.map { Field(name: $0.name, value: $0.value) }
    self.body = body
    self.maximumAnswer = maximumAnswer
  }
}

/// Builds the request to a token endpoint: grants of RFC 6749 sections 4 and 6 and RFC 7523, with any client authentication.
public struct TokenRequest {
  /// Lifetime of a client assertion in seconds: long enough for clock skew, short enough to be soon useless.
  static let clientAssertionLifetime: Int64 = 120
  /// RFC 7523 section 2.2 and 2.1.
  static let assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
  static let bearerGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer"

  /// What differs between two requests.
  public struct Material: Sendable {
    /// The current token, for the grant `refresh_token`.
    public var refreshToken: Secret?
    /// A signed JWT from its source, for client authentication or grant; nil = the configuration's.
    public var clientAssertion: Secret?
    public var grantAssertion: Secret?
    public init(refreshToken: Secret? = nil, clientAssertion: Secret? = nil, grantAssertion: Secret? = nil) {
      self.refreshToken = refreshToken
      self.clientAssertion = clientAssertion
      self.grantAssertion = grantAssertion
    }
  }

  public let http: TokenHTTPRequest
  /// Secrets that must not appear in an error's text.
  public let secrets: [Secret]

  /// - Parameter wall: Unix seconds, for assertions.
  public init(policy: OAuth2Policy, endpoint: String, material: Material, wall: Int64) throws(TokenFailure) {
    var form = Form()
    var fields: [(name: String, value: Secret)] = [
      ("Content-Type", Secret("application/x-www-form-urlencoded")), ("Accept", Secret("application/json")),
    ]
    switch policy.grant {
    case .clientCredentials:
      form.add("grant_type", "client_credentials")
    case .refreshToken(let first):
      form.add("grant_type", "refresh_token")
      form.add(secret: "refresh_token", material.refreshToken ?? first)
    case .password(let username, let password):
      form.add("grant_type", "password")
      form.add("username", username)
      form.add(secret: "password", password)
    case .jwtBearer(let assertion):
      form.add("grant_type", Self.bearerGrant)
      form.add(secret: "assertion", try Self.assertion(assertion, fresh: material.grantAssertion, wall: wall))
    }
    if let scope = policy.scope, !scope.isEmpty { form.add("scope", scope) }
    let clientID = policy.clientID ?? ""
    switch policy.clientAuthentication {
    case .basic(let secret):
      // RFC 6749 section 2.3.1: both parts are form-encoded before they are joined, as a colon separates them in Basic.
      let joined = FormEncoding.encode(Array(clientID.utf8)) + [UInt8(ascii: ":")] + FormEncoding.encode(secret.bytes)
      let encoded = Base64.encode(joined)
      fields.append(("Authorization", Secret(Array("Basic ".utf8) + encoded)))
      form.secrets += [secret, Secret(encoded)]
    case .post(let secret):
      form.add("client_id", clientID)
      form.add(secret: "client_secret", secret)
    case .privateKeyJWT(let key):
      let claims = JSONWebToken.Claims(
        issuer: clientID, subject: clientID, audience: endpoint, issuedAt: wall, lifetime: Self.clientAssertionLifetime,
        identifier: try JSONWebToken.identifier())
      form.add("client_id", clientID)
      form.add("client_assertion_type", Self.assertionType)
      form.add(secret: "client_assertion", try JSONWebToken.sign(claims, with: key))
    case .clientAssertion(let first):
      if !clientID.isEmpty { form.add("client_id", clientID) }
      form.add("client_assertion_type", Self.assertionType)
      form.add(secret: "client_assertion", material.clientAssertion ?? first)
    case .none:
      if !clientID.isEmpty { form.add("client_id", clientID) }
    }
    for name in policy.parameters.keys.sorted() {
      form.add(name, policy.parameters[name] ?? "")
    }
    http = TokenHTTPRequest(
      method: .post, url: endpoint, fields: fields, body: Secret(FormEncoding.encode(form.fields)),
      maximumAnswer: TokenResponse.maximumBody)
    secrets = form.secrets
  }

  private static func assertion(
    _ assertion: OAuth2Policy.Assertion, fresh: Secret?, wall: Int64
  ) throws(TokenFailure) -> Secret {
    switch assertion {
    case .ready(let first): return fresh ?? first
    case .signed(let issuer, let subject, let audience, let lifetime, let key):
      let claims = JSONWebToken.Claims(
        issuer: issuer, subject: subject, audience: audience, issuedAt: wall, lifetime: max(1, Int64(lifetime / 1000)),
        identifier: try JSONWebToken.identifier())
      return try JSONWebToken.sign(claims, with: key)
    }
  }

  private struct Form {
    var fields: [(name: String, value: [UInt8])] = []
    var secrets: [Secret] = []

    mutating func add(_ name: String, _ value: String) { add(name, Array(value.utf8)) }

    mutating func add(secret name: String, _ value: Secret) {
      add(name, value.bytes)
      secrets.append(value)
    }

    /// RFC 6749 section 3.2: no parameter may occur twice. The grant's own came first and stay.
    private mutating func add(_ name: String, _ value: [UInt8]) {
      guard !fields.contains(where: { $0.name == name }) else { return }
      fields.append((name, value))
    }
  }
}
