/// An HTTP request of a token exchange. The owner sends it.
public struct TokenHTTPRequest: Sendable, Hashable {
  public enum Method: String, Sendable, Hashable {
    case get = "GET"
    case post = "POST"
    case put = "PUT"
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
  /// Milliseconds; nil: the policy's.
  public internal(set) var timeout: Int?
  /// The sender signs it so.
  public internal(set) var signature: AWSRequestSignature?
  /// To the machine's own surroundings (IMDS, a container's endpoint): never through a parent proxy.
  public internal(set) var isLocal = false
  /// The sender reads the client's assertion and adds it. Only in the requests of logins and logouts.
  public internal(set) var awaitsAssertion = false

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

  /// The request as it is sent, if it awaits an assertion.
  public func adding(clientAssertion: Secret) -> TokenHTTPRequest {
    var request = self
    request.body = Secret(body.bytes + Array("&".utf8) + FormEncoding.encode([("client_assertion", clientAssertion.bytes)]))
    request.awaitsAssertion = false
    return request
  }
}

/// Builds the request to a token endpoint: grants of RFC 6749 sections 4 and 6, RFC 7523 and RFC 8628, with any client
/// authentication.
public struct TokenRequest {
  /// Lifetime of a client assertion in seconds: long enough for clock skew, short enough to be soon useless.
  static let clientAssertionLifetime: Int64 = 120
  /// RFC 7523 section 2.2 and 2.1.
  static let assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
  static let bearerGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer"
  /// RFC 8628 section 3.4.
  static let deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

  /// RFC 8693 section 2.1.
  static let exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange"

  /// What differs between two requests.
  public struct Material: Sendable {
    /// The current token, for the grant `refresh_token` and after a login.
    public var refreshToken: Secret?
    /// A signed JWT from its source, for client authentication or grant; nil = the configuration's.
    public var clientAssertion: Secret?
    public var grantAssertion: Secret?
    /// What a person's login brought; its request gets the first tokens. Only for the grants with a login.
    public var proof: LoginProof?
    /// For an exchange: from their sources; nil = the configuration's. The subject is also the assertion that an app sends.
    public var subject: Secret?
    public var actor: Secret?
    /// Each request proves that its sender has this key; nil without DPoP.
    public var dpopKey: DPoPKey?
    /// What a `TokenSource` may read.
    public var access = SourceAccess.none
    public init(
      refreshToken: Secret? = nil, clientAssertion: Secret? = nil, grantAssertion: Secret? = nil, proof: LoginProof? = nil,
      dpopKey: DPoPKey? = nil
    ) {
      self.refreshToken = refreshToken
      self.clientAssertion = clientAssertion
      self.grantAssertion = grantAssertion
      self.proof = proof
      self.dpopKey = dpopKey
    }
  }

  /// What a login exchanges for its first tokens.
  public enum LoginProof: Sendable, Hashable {
    /// `redirectURI`: byte for byte the one of the authorization request.
    case code(Secret, redirectURI: String, verifier: Secret)
    case deviceCode(Secret)
  }

  public let http: TokenHTTPRequest
  /// Secrets that must not appear in an error's text.
  public let secrets: [Secret]

  /// It names a scope that a refresh can do without: the one of the first grant (RFC 6749 section 6).
  public let sendsOptionalScope: Bool

  /// - Parameters:
  ///   - audience: of client assertions; nil = the endpoint.
  ///   - wall: Unix seconds, for assertions.
  ///   - withScope: false after the server refused the scope.
  public init(
    policy: OAuth2Policy, endpoint: String, audience: String? = nil, material: Material, wall: Int64, withScope: Bool = true
  ) throws(TokenFailure) {
    var form = EndpointForm()
    var sendsScope = withScope
    var isRefresh = false
    switch policy.grant {
    case .clientCredentials:
      form.add("grant_type", "client_credentials")
    case .refreshToken(let first):
      form.addRefresh(material.refreshToken ?? first)
      isRefresh = true
    case .password(let username, let password):
      form.add("grant_type", "password")
      form.add("username", username)
      form.add(secret: "password", password)
    case .jwtBearer(let assertion):
      form.add("grant_type", Self.bearerGrant)
      form.add(
        secret: "assertion", try Self.assertion(assertion, fresh: material.grantAssertion ?? material.subject, wall: wall))
    case .tokenExchange(let settings):
      try form.add(settings, subject: material.subject, actor: material.actor)
    case .source: throw .unfit("no OAuth 2.0 server issues its tokens")
    case .authorizationCode, .deviceCode:
      if let proof = material.proof {
        form.add(proof)
        // The authorization request has named it (RFC 6749 section 4.1.3, RFC 8628 section 3.4).
        sendsScope = false
      } else if let token = material.refreshToken {
        form.addRefresh(token)
        isRefresh = true
      } else {
        throw .noLogin
      }
    }
    if sendsScope, let scope = policy.scope, !scope.isEmpty {
      form.add("scope", scope)
      sendsOptionalScope = isRefresh
    } else {
      sendsOptionalScope = false
    }
    form.add("resource", each: policy.resource)
    try form.authenticate(
      policy, tokenEndpoint: audience ?? endpoint,
      assertion: material.proof == nil ? .read(material.clientAssertion) : .addedBySender, wall: wall)
    form.add(policy.parameters)
    http = form.request(to: endpoint)
    secrets = form.secrets
  }

  private static func assertion(
    _ assertion: OAuth2Policy.Assertion, fresh: Secret?, wall: Int64
  ) throws(TokenFailure) -> Secret {
    switch assertion {
    case .ready(let first): return fresh ?? first
    case .client:
      guard let fresh else { throw .source("", .temporarily("it has no token", retryAfter: 1)) }
      return fresh
    case .signed(let issuer, let subject, let audience, let lifetime, let key):
      let claims = JSONWebToken.Claims(
        issuer: issuer, subject: subject, audience: audience, issuedAt: wall, lifetime: max(1, Int64(lifetime / 1000)),
        identifier: try JSONWebToken.identifier())
      return try JSONWebToken.sign(claims, with: key)
    }
  }
}

extension EndpointForm {
  fileprivate mutating func addRefresh(_ token: Secret) {
    add("grant_type", "refresh_token")
    add(secret: "refresh_token", token)
  }

  fileprivate mutating func add(_ proof: TokenRequest.LoginProof) {
    switch proof {
    case .code(let code, let redirectURI, let verifier):
      add("grant_type", "authorization_code")
      add(secret: "code", code)
      add("redirect_uri", redirectURI)
      add(secret: "code_verifier", verifier)
    case .deviceCode(let code):
      add("grant_type", TokenRequest.deviceGrant)
      add(secret: "device_code", code)
    }
  }
}
