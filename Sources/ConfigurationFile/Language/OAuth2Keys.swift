import Credentials
import Settings

/// `credentials.*.oauth2`.
struct OAuth2Keys: KeySet {
  static let table = KeyTable(OAuth2Keys())

  enum Grant: String, CaseIterable {
    case clientCredentials = "client_credentials"
    case refreshToken = "refresh_token"
    case password
    case jwtBearer = "jwt_bearer"
    case authorizationCode = "authorization_code"
    case deviceCode = "device_code"
    case tokenExchange = "token_exchange"

    /// A person logs in, with `authproxy login`.
    var hasLogin: Bool { self == .authorizationCode || self == .deviceCode }
    /// The token store keeps its tokens, so a logout can revoke them.
    var isStored: Bool { hasLogin || self == .refreshToken }
    /// A token in the form says enough, so the client needs neither a name nor a secret.
    var needsNoClient: Bool { self == .jwtBearer || self == .tokenExchange }
  }
  enum ClientAuthentication: String, CaseIterable {
    case basic, post, none
    case privateKeyJWT = "private_key_jwt"
    case clientAssertion = "client_assertion"
    case clientSecretJWT = "client_secret_jwt"
    case tls = "tls_client_auth"
    case selfSignedTLS = "self_signed_tls_client_auth"

    /// The certificate of the connection authenticates the client.
    var isByCertificate: Bool { self == .tls || self == .selfSignedTLS }
    var usesSecret: Bool { self == .basic || self == .post || self == .clientSecretJWT }
  }

  let grant = Key("grant", .choice(Grant.allCases), .required, "Says with which grant the proxy gets tokens.")
  let tokenURL = Key(
    "token_url", .text(.url), .otherwise("what 'issuer' names"), "The token endpoint: https, or http on loopback.")
  let issuer = Key(
    "issuer", .text(.url), .otherwise("'token_url' is used"),
    "The server whose metadata names the endpoints (OIDC, RFC 8414).")
  let clientID = Key(
    "client_id", .text(.anything), .otherwise("none, if an assertion names the client"), "Identifies the client.")
  let clientSecret = Key(
    "client_secret", .secret, .otherwise("none"),
    "Authenticates the client, with client_auth basic, post and client_secret_jwt.")
  let clientAuth = Key(
    "client_auth", .choice(ClientAuthentication.allCases), .otherwise("from the other keys"),
    "Says how the client authenticates itself.")
  let privateKey = Key(
    "private_key", .secret, .otherwise("none"), "Signs for private_key_jwt and jwt_bearer.")
  let passphrase = Key("passphrase", .secret, .otherwise("the key is not encrypted"), "Decrypts the private key.")
  let keyID = Key("key_id", .text(.anything), .otherwise("not sent"), "Tells the server which key made the signature.")
  let proof = ProofKeys()
  let clientAssertion = Key(
    "client_assertion", .secret, .otherwise("none"),
    "A signed JWT that authenticates the client; the proxy reads it again for each use.")
  let username = Key("username", .text(.anything), .otherwise("needed by grant password"), "The user's name.")
  let password = Key("password", .secret, .otherwise("needed by grant password"), "The user's password.")
  let refreshToken = Key(
    "refresh_token", .secret, .otherwise("needed by grant refresh_token"),
    "The first refresh token; the token store keeps later ones.")
  let assertion = Key(
    "assertion", .assertion, .otherwise("needed by grant jwt_bearer"),
    "A signed assertion, the claims of one that the proxy signs with the private key, or 'client' for what the app sends.")
  let scope = Key("scope", .text(.scope), .otherwise("not sent"), "The scope that the proxy asks for.")
  let resource = Key(
    "resource", .oneOrMore(of: .item(.uri)), .otherwise("not sent"),
    "Where the token will be used (RFC 8707), in authorization and token requests.")
  let dpop = Key(
    "dpop", .switched(or: DPoPKeys.self), .text("false"),
    "Binds tokens to a key (RFC 9449): true, and the proxy makes a P-256 key, or a key of yours.")
  let login = LoginKeys()
  let exchange = ExchangeKeys()
  let parameters = Key("parameters", .map(of: .text(.anything)), .otherwise("none"), "Adds form fields to token requests.")
  let trust = Key(
    "trust", .text(.nameInTrust), .otherwise("the policy named 'default' if there is one, else the system's roots"),
    "Names the trust policy that the token endpoint must satisfy.")
  let refreshBeforeExpiry = Key(
    "refresh_before_expiry", .duration(atLeast: 0), default: 300_000,
    "Refreshes this long before expiry, but not earlier than half of the token's lifetime.")
  let defaultLifetime = Key(
    "default_lifetime", .duration(atLeast: 1000), default: 3_600_000,
    "The lifetime of tokens whose response has no expires_in.")
  let refreshWindow = Key(
    "refresh_window", .section(RefreshWindowKeys.self), .otherwise("its defaults"), "Bounds the refreshes after refused tokens."
  )
  let retryStatuses = Key(
    "retry_statuses", .statuses, default: [401], "Lists the statuses with which an upstream refuses a token.")
  let timeout = Key("timeout", .duration(), default: 10_000, "Bounds the time of one token request.")
  let shared = Key(
    "shared", .boolean, .otherwise("true with a token_store that a fleet shares"),
    "Says whether the processes of a fleet share the tokens; false: each process has its own.")
}

/// `credentials.*.oauth2.assertion`, if the proxy signs it. RFC 7523 section 3 requires all three claims.
struct AssertionKeys: KeySet {
  static let table = KeyTable(AssertionKeys())

  let issuer = Key("issuer", .text(.anything), .required, "The claim iss.")
  let subject = Key("subject", .text(.anything), .required, "The claim sub.")
  let audience = Key("audience", .text(.anything), .required, "The claim aud.")
  let lifetime = Key("lifetime", .duration(atLeast: 1000), default: 300_000, "Sets how long an assertion is valid.")
}

/// `credentials.*.oauth2.dpop`, if it has a key.
struct DPoPKeys: KeySet {
  static let table = KeyTable(DPoPKeys())

  let key = Key("key", .secret, .required, "The private key: EC over P-256, in PEM form.")
  let passphrase = Key("passphrase", .secret, .otherwise("the key is not encrypted"), "Decrypts the key.")
}

/// `credentials.*.oauth2.refresh_window`.
struct RefreshWindowKeys: KeySet {
  static let table = KeyTable(RefreshWindowKeys())
  private static let standard = OAuth2Policy.RefreshWindow()

  let interval = Key("interval", .duration(), default: standard.interval, "The time in which the proxy counts refreshes.")
  let attempts = Key(
    "attempts", .integer(1...1_000_000), default: standard.attempts, "Bounds the refreshes within the interval.")
}
