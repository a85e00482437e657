/// What a token store keeps of one credential: enough to continue after a restart, and for other processes.
public struct TokenRecord: Sendable, Hashable {
  /// Of `TokenBinding`. A record with another one belongs to another configuration and is replaced.
  public let binding: [UInt8]
  /// Increases with each issued token, login and logout; the higher one is newer.
  public var generation: UInt64
  /// nil if the server granted none to a login, and after a logout.
  public var refreshToken: Secret?
  /// What requests send as Bearer; with `use: id_token`, an id_token. Kept so that a restart and other processes need no
  /// refresh.
  public var accessToken: Secret?
  /// The access token that came with an id_token that requests send. Only a logout needs it.
  public var issuedAccessToken: Secret?
  /// SHA-256 of the client certificate that the access token is bound to (RFC 8705 section 3); nil = to none.
  public private(set) var certificate: [UInt8]?
  /// Unix seconds, of `accessToken`.
  public var expiresAt: Int64
  /// Seconds of lifetime when it was issued: bounds `expiresAt` if the clock was set back.
  public var lifetime: Int64
  /// The generated key to which the tokens are bound: a private key, in PEM. nil without DPoP, and with a configured key.
  public private(set) var dpopKey: Secret?
  /// Set before a request sends `refreshToken`, cleared by its answer. If another process finds it set, the token may be used
  /// up.
  public var inFlight: Bool
  /// Who logged in, and when; nil for grants without a login.
  public var login: Login?
  /// What processes tell each other.
  public var shared = Shared()
  /// Of `TokenBinding.request`: what `accessToken` was asked for with; nil in records of earlier versions.
  public private(set) var request: [UInt8]?
  /// Somebody has logged out: no process may use an older record's tokens, or write a record of a lower generation.
  public var tombstone: Tombstone?

  public struct Login: Sendable, Hashable {
    /// Unix seconds.
    public var loggedInAt: Int64
    /// Of the record that began with it: two logins may come in one second. nil: written by an earlier version.
    public var generation: UInt64?
    /// Unix seconds: when a person must log in again, as far as anybody said.
    public var expiresAt: Int64?
    /// The granted scope; nil if nobody named one.
    public var scope: String?
    /// `sub` of the id_token; nil without OpenID.
    public var subject: String?
    /// Who logged in, as printable text for people.
    public var person: String?
    /// Tokens of earlier logins that a logout could not revoke. For the next logout only.
    public var unrevoked: [RevocableToken] = []
    public init(
      loggedInAt: Int64, expiresAt: Int64? = nil, scope: String? = nil, subject: String? = nil, person: String? = nil
    ) {
      self.loggedInAt = loggedInAt
      self.expiresAt = expiresAt
      self.scope = scope
      self.subject = subject
      self.person = person
    }
  }

  public struct Shared: Sendable, Hashable {
    /// Of the last refresh; nil if it succeeded.
    public var lastError: RefreshError?
    /// nil: the last attempt succeeded, or has ended for good.
    public var backOff: SharedBackOff?
    /// The refreshes of the last `refresh_window` that refusals caused.
    public var refusals: [RefusalStart] = []
    /// Who refreshes now, in a shared store; nil: nobody. A file has locks instead.
    public var claim: TokenClaim?
    public init() {}
  }

  public struct RefreshError: Sendable, Hashable {
    /// Bounded, printable and without secrets.
    public var text: String
    /// Unix seconds.
    public var at: Int64
    /// The server has refused the refresh token: nobody needs to try again.
    public var isFinal: Bool
    public init(_ text: String, at: Int64, isFinal: Bool) {
      self.text = text
      self.at = at
      self.isFinal = isFinal
    }

    private static let clearanceText = "cleared by an operator"
    /// An operator says that what was wrong is so no more: all processes try again.
    public static func clearance(at: Int64) -> RefreshError { RefreshError(clearanceText, at: at, isFinal: false) }
    public var isClearance: Bool { text == Self.clearanceText }
  }

  public struct Tombstone: Sendable, Hashable {
    /// Unix seconds.
    public var loggedOutAt: Int64
    /// What the server has not revoked yet. For the next logout only.
    public var unrevoked: [RevocableToken]
    /// Of the only person who may log in next, after a logout that was the beginning of a login.
    public var subject: String?
    public init(loggedOutAt: Int64, unrevoked: [RevocableToken] = [], subject: String? = nil) {
      self.loggedOutAt = loggedOutAt
      self.unrevoked = unrevoked
      self.subject = subject
    }
  }

  public init(
    binding: [UInt8], generation: UInt64, refreshToken: Secret?, accessToken: Secret? = nil, expiresAt: Int64 = 0,
    lifetime: Int64 = 0, inFlight: Bool = false, dpopKey: Secret? = nil
  ) {
    self.binding = binding
    self.generation = generation
    self.refreshToken = refreshToken
    self.accessToken = accessToken
    self.expiresAt = expiresAt
    self.lifetime = lifetime
    self.inFlight = inFlight
    self.dpopKey = dpopKey
  }
}

extension TokenRecord {
  /// The access token was asked for with what has this digest (`TokenBinding.request`).
  mutating func note(request: [UInt8]) { self.request = request }

  /// The server has bound the access token to the certificate with this thumbprint; nil: to none.
  public mutating func bind(to certificate: [UInt8]?) { self.certificate = certificate }

  /// There are no tokens yet: they will be bound to this key.
  mutating func bind(toKey key: Secret?) { dpopKey = key }

  /// The record of a login.
  public init(_ login: CompletedLogin, binding: [UInt8], generation: UInt64) {
    self.init(
      binding: binding, generation: generation, refreshToken: login.refreshToken, accessToken: login.bearer,
      expiresAt: login.expiresAt, lifetime: login.lifetime, dpopKey: login.dpopKey)
    if login.bearer != login.accessToken { issuedAccessToken = login.accessToken }
    self.login = Login(
      loggedInAt: login.loggedInAt, expiresAt: login.loginExpiresAt, scope: login.scope, subject: login.subject,
      person: login.person)
    self.login?.generation = generation
  }

  /// What a logout revokes, in this order: the refresh token, with which most servers revoke the access tokens too.
  public var revocableTokens: [RevocableToken] {
    var tokens = refreshToken.map { [RevocableToken($0, hint: .refreshToken)] } ?? []
    if let token = issuedAccessToken ?? accessToken { tokens.append(RevocableToken(token, hint: .accessToken)) }
    return tokens + unrevoked
  }

  /// What earlier logouts left.
  var unrevoked: [RevocableToken] { tombstone?.unrevoked ?? login?.unrevoked ?? [] }

  /// Whether it is of this configuration's server and client. A record of another one counts for nothing.
  public func belongs(to policy: OAuth2Policy) -> Bool { binding == TokenBinding.digest(of: policy) }
}

extension TokenRecord {
  public var lastError: RefreshError? {
    get { shared.lastError }
    set { shared.lastError = newValue }
  }
  public var backOff: SharedBackOff? {
    get { shared.backOff }
    set { shared.backOff = newValue }
  }
  public var refusals: [RefusalStart] {
    get { shared.refusals }
    set { shared.refusals = newValue }
  }
  public var claim: TokenClaim? {
    get { shared.claim }
    set { shared.claim = newValue }
  }
}
