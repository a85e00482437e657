import Crypto

/// One entry of `credentials`, with its secrets. If a reload brings an equal policy, the credential keeps its state.
public struct CredentialPolicy: Sendable, Hashable {
  public enum Kind: Sendable, Hashable {
    case basic(username: String, password: Secret)
    case bearer(token: Secret)
    /// `format` contains `{value}` exactly once.
    case header(name: String, value: Secret, format: String)
    case oauth2(OAuth2Policy)
    case sigv4(SigV4Policy)
    case jwt(JWTPolicy)
    case hmac(HMACPolicy)
    case httpSignature(HTTPSignaturePolicy)
    case digest(DigestPolicy)
    case negotiate(NegotiatePolicy)
    /// A parameter of the request's query, with this name.
    case query(name: String, value: Secret)
    /// The first segment of the path at the origin. `segment` contains `{value}` exactly once.
    case path(segment: String, value: Secret)
  }
  public var name: String
  public var kind: Kind
  public var allowPlaintext: Bool
  public var allowUntrusted: Bool
  public init(name: String, kind: Kind, allowPlaintext: Bool = false, allowUntrusted: Bool = false) {
    self.name = name
    self.kind = kind
    self.allowPlaintext = allowPlaintext
    self.allowUntrusted = allowUntrusted
  }
}

extension CredentialPolicy {
  /// How the token machine gets what expires; nil: nothing of it does, or the proxy makes it itself.
  public var tokens: OAuth2Policy? {
    switch kind {
    case .oauth2(let policy): return policy
    case .sigv4(let policy): if case .fetched(let keys) = policy.keys { return keys } else { return nil }
    case .basic, .bearer, .header, .jwt, .hmac, .httpSignature, .digest, .negotiate, .query, .path: return nil
    }
  }

  /// What makes this the same credential in another configuration, as parts of a digest. Leaves out rotating secrets and times.
  public var continuity: [[UInt8]] {
    switch kind {
    case .sigv4(let policy):
      let scope = "sigv4 \(policy.service) \(policy.region) \(policy.payload)"
      switch policy.keys {
      case .fixed(let keys): return [scope, keys.accessKeyID].map { Array($0.utf8) }
      case .fetched(let source): return [Array("\(scope) fetched".utf8)] + Self.continuity(of: source)
      }
    // All but the secrets, which no description shows.
    case .jwt(let policy): return [Array("jwt \(policy)".utf8)]
    case .httpSignature(let policy): return [Array("http_signature \(policy)".utf8)]
    case .digest(let policy): return [Array("digest \(policy)".utf8)]
    case .negotiate(let policy): return policy.continuity
    case .hmac(let policy): return [Array("hmac \(policy)".utf8)]
    case .basic(let username, _): return [Array("basic".utf8), Array(username.utf8)]
    case .bearer: return [Array("bearer".utf8)]
    case .header(let name, _, let format): return [Array("header".utf8), Array(name.lowercased().utf8), Array(format.utf8)]
    case .oauth2(let policy): return Self.continuity(of: policy)
    case .query(let name, _): return [Array("query".utf8), Array(name.utf8)]
    case .path(let segment, _): return [Array("path".utf8), Array(segment.utf8)]
    }
  }

  private static func continuity(of policy: OAuth2Policy) -> [[UInt8]] {
    var parts = [Array("oauth2".utf8), TokenBinding.digest(of: policy), Array((policy.scope ?? "").utf8)]
    for (name, value) in policy.parameters.sorted(by: { $0.key < $1.key }) { parts += [Array(name.utf8), Array(value.utf8)] }
    if case .jwtBearer(.signed(let issuer, let subject, let audience, _, _)) = policy.grant {
      parts += [issuer, subject, audience].map { Array($0.utf8) }
    }
    if !policy.resource.isEmpty { parts += ["resource"].map { Array($0.utf8) } + policy.resource.map { Array($0.utf8) } }
    if case .jwtBearer(.client) = policy.grant { parts.append(Array("client".utf8)) }
    if let exchange = policy.exchange { parts += exchange.continuity }
    // With `dpop`, its key is in the binding.
    if policy.login?.use == .idToken { parts.append(Array("id_token".utf8)) }
    if let thumbprint = policy.boundThumbprint { parts += [Array("certificate".utf8), thumbprint] }
    // Not where: a new secret has another record, and the token stays.
    if policy.sharing != nil { parts.append(Array("shared".utf8)) }
    return parts
  }
}

/// The `oauth2` part of a credential. All durations are milliseconds.
public struct OAuth2Policy: Sendable, Hashable {
  public enum Endpoint: Sendable, Hashable {
    case token(url: String)
    case issuer(url: String)
  }
  public enum Grant: Sendable, Hashable {
    case clientCredentials
    /// The first refresh token; the token store keeps later ones.
    case refreshToken(Secret)
    case password(username: String, password: Secret)
    case jwtBearer(Assertion)
    /// A person logs in with a browser. The token store has all tokens; the configuration has none.
    case authorizationCode(LoginSettings)
    /// The same without a browser on this machine (RFC 8628).
    case deviceCode(LoginSettings)
    case tokenExchange(ExchangeSettings)
    /// No grant of OAuth 2.0: the keys of a cloud, a machine's identity, an app's installation.
    case source(TokenSource)

    /// Whether its refresh tokens are in a store, which other processes may use.
    var isStored: Bool {
      switch self {
      case .refreshToken, .authorizationCode, .deviceCode: true
      case .clientCredentials, .password, .jwtBearer, .tokenExchange, .source: false
      }
    }
  }
  /// Endpoints that the configuration names, as discovery lacks or misstates them. They take precedence.
  public struct ExplicitEndpoints: Sendable, Hashable {
    public var authorization: String?
    public var deviceAuthorization: String?
    public var revocation: String?
    public init(authorization: String? = nil, deviceAuthorization: String? = nil, revocation: String? = nil) {
      self.authorization = authorization
      self.deviceAuthorization = deviceAuthorization
      self.revocation = revocation
    }
  }
  public enum Assertion: Sendable, Hashable {
    case signed(issuer: String, subject: String, audience: String, lifetime: Int, key: SigningKey)
    case ready(Secret)
    /// The token that the app itself sends: the request is on behalf of its user.
    case client
  }
  public struct SigningKey: Sendable, Hashable {
    /// PEM text as read.
    public var pem: Secret
    public var passphrase: Secret?
    public var keyID: String?
    /// nil: the default of the key.
    public var algorithm: PrivateKey.JWSAlgorithm?
    public init(
      pem: Secret, passphrase: Secret? = nil, keyID: String? = nil, algorithm: PrivateKey.JWSAlgorithm? = nil
    ) {
      self.pem = pem
      self.passphrase = passphrase
      self.keyID = keyID
      self.algorithm = algorithm
    }
  }
  public enum ClientAuthentication: Sendable, Hashable {
    case basic(secret: Secret)
    case post(secret: Secret)
    case privateKeyJWT(SigningKey)
    /// A signed JWT. These bytes are from the first reading; the proxy reads the file again for each use.
    case clientAssertion(Secret)
    /// Signs client assertions with HS256 (`client_secret_jwt`).
    case secretJWT(Secret)
    /// The certificate of the connection authenticates the client (RFC 8705 section 2), whoever has signed it.
    case certificate
    case none
  }
  public struct RefreshWindow: Sendable, Hashable {
    public var interval: Int
    public var attempts: Int
    public init(interval: Int = 30_000, attempts: Int = 5) {
      self.interval = interval
      self.attempts = attempts
    }
  }
  public let endpoint: Endpoint
  public let endpoints: ExplicitEndpoints
  public var grant: Grant
  public let clientID: String?
  public let clientAuthentication: ClientAuthentication
  public let clientCertificate: ClientCertificate?
  public let scope: String?
  /// RFC 8707: where the token will be used.
  public let resource: [String]
  public let parameters: [String: String]
  /// RFC 9449; nil: tokens are Bearer ones.
  public let dpop: DPoP?
  public let refreshBeforeExpiry: Int
  public let defaultLifetime: Int
  public let refreshWindow: RefreshWindow
  public let retryStatuses: Set<Int>
  public let timeout: Int
  /// Name of the trust policy of the token endpoint; nil = as for upstreams.
  public let trust: String?
  /// Of `TokenBinding.shared`: where a store that many processes share keeps its record; nil: its tokens are not there.
  public var sharing: [UInt8]?
  public init(
    endpoint: Endpoint, endpoints: ExplicitEndpoints = ExplicitEndpoints(), grant: Grant, clientID: String?,
    clientAuthentication: ClientAuthentication, clientCertificate: ClientCertificate? = nil, scope: String? = nil,
    resource: [String] = [], parameters: [String: String] = [:], dpop: DPoP? = nil,
    refreshBeforeExpiry: Int = 300_000, defaultLifetime: Int = 3_600_000,
    refreshWindow: RefreshWindow = RefreshWindow(), retryStatuses: Set<Int> = [401], timeout: Int = 10_000, trust: String? = nil
  ) {
    self.endpoint = endpoint
    self.endpoints = endpoints
    self.grant = grant
    self.clientID = clientID
    self.clientAuthentication = clientAuthentication
    self.clientCertificate = clientCertificate
    self.scope = scope
    self.resource = resource
    self.parameters = parameters
    self.dpop = dpop
    self.refreshBeforeExpiry = refreshBeforeExpiry
    self.defaultLifetime = defaultLifetime
    self.refreshWindow = refreshWindow
    self.retryStatuses = retryStatuses
    self.timeout = timeout
    self.trust = trust
  }
}
