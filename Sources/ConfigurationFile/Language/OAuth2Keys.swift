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
  }
  enum ClientAuthentication: String, CaseIterable {
    case basic, post, none
    case privateKeyJWT = "private_key_jwt"
    case clientAssertion = "client_assertion"
  }

  let grant = Key("grant", .choice(Grant.allCases), .required, "Says how tokens are got.")
  let tokenURL = Key(
    "token_url", .text(.url), .otherwise("what 'issuer' names"), "Is the token endpoint: https, or http on loopback.")
  let issuer = Key(
    "issuer", .text(.url), .otherwise("'token_url' stands instead"),
    "Names the server whose metadata names the token endpoint (OIDC, RFC 8414).")
  let clientID = Key(
    "client_id", .text(.anything), .otherwise("none, where an assertion names the client"), "Identifies the client.")
  let clientSecret = Key("client_secret", .secret, .otherwise("none"), "Proves the client, with client_auth basic and post.")
  let clientAuth = Key(
    "client_auth", .choice(ClientAuthentication.allCases), .otherwise("by what is given"), "Says how the client proves itself.")
  let privateKey = Key(
    "private_key", .secret, .otherwise("none"), "Signs for private_key_jwt and jwt_bearer: RS256 or ES256 by the key's type.")
  let passphrase = Key("passphrase", .secret, .otherwise("the key is not encrypted"), "Opens the private key.")
  let keyID = Key("key_id", .text(.anything), .otherwise("not sent"), "Tells the server which key has signed.")
  let clientAssertion = Key(
    "client_assertion", .secret, .otherwise("none"), "Is a ready JWT that proves the client, read again for each use.")
  let username = Key("username", .text(.anything), .otherwise("needed by grant password"), "Is the user's name.")
  let password = Key("password", .secret, .otherwise("needed by grant password"), "Is the user's password.")
  let refreshToken = Key(
    "refresh_token", .secret, .otherwise("needed by grant refresh_token"),
    "Is the first refresh token; later ones live in the token store.")
  let assertion = Key(
    "assertion", .secret(or: AssertionKeys.self), .otherwise("needed by grant jwt_bearer"),
    "Is a ready assertion, or the claims of one that is signed with the private key.")
  let scope = Key("scope", .text(.scope), .otherwise("not sent"), "Is the scope that is asked for.")
  let parameters = Key("parameters", .map(of: .text(.anything)), .otherwise("none"), "Adds form fields to token requests.")
  let trust = Key(
    "trust", .text(.nameInTrust), .otherwise("the policy named 'default' if there is one, else the system's roots"),
    "Names the trust policy that the token endpoint must satisfy.")
  let refreshBeforeExpiry = Key(
    "refresh_before_expiry", .duration(atLeast: 0), default: 300_000,
    "Refreshes this long before expiry, but not before half of the token's lifetime.")
  let defaultLifetime = Key(
    "default_lifetime", .duration(atLeast: 1000), default: 3_600_000,
    "Is the lifetime of tokens whose response has no expires_in.")
  let refreshWindow = Key(
    "refresh_window", .section(RefreshWindowKeys.self), .otherwise("its defaults"), "Bounds refreshes that refusals cause.")
  let retryStatuses = Key(
    "retry_statuses", .statuses, default: [401], "Lists the statuses by which an upstream refuses the token.")
  let timeout = Key("timeout", .duration(), default: 10_000, "Bounds one token request.")
}

/// `credentials.*.oauth2.assertion`, where it is to be signed. RFC 7523 section 3 requires all three claims.
struct AssertionKeys: KeySet {
  static let table = KeyTable(AssertionKeys())

  let issuer = Key("issuer", .text(.anything), .required, "Is the claim iss.")
  let subject = Key("subject", .text(.anything), .required, "Is the claim sub.")
  let audience = Key("audience", .text(.anything), .required, "Is the claim aud.")
  let lifetime = Key("lifetime", .duration(atLeast: 1000), default: 300_000, "Sets how long an assertion holds.")
}

/// `credentials.*.oauth2.refresh_window`.
struct RefreshWindowKeys: KeySet {
  static let table = KeyTable(RefreshWindowKeys())
  private static let standard = OAuth2Policy.RefreshWindow()

  let interval = Key("interval", .duration(), default: standard.interval, "Is the time in which attempts are counted.")
  let attempts = Key(
    "attempts", .integer(1...1_000_000), default: standard.attempts, "Bounds the refreshes within the interval.")
}
