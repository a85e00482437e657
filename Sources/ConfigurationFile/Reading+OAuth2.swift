import Credentials
import Crypto
import Settings
import TLS

extension Reading {
  /// The keys that identify the client or the user, and their secrets.
  private struct Parts {
    var clientID: Located<String>?
    var clientSecret: Located<Secret>?
    var key: KeyDraft?
    var keyID: Located<String>?
    var algorithm: PrivateKey.JWSAlgorithm?
    var clientAssertion: Located<Secret>?
    var username: Located<String>?
    var password: Located<Secret>?
    var refreshToken: Located<Secret>?
    var assertion: OAuth2Policy.Assertion?
  }

  func oauth2(_ section: Section<OAuth2Keys>, trust: TrustRules, allowUntrusted: Bool, tokenStore: TokenStoreSettings?)
    -> OAuth2Policy?
  {
    let grant = section.read(\.grant)
    let urls = (token: section.read(\.tokenURL), issuer: section.read(\.issuer))
    var parts = Parts()
    parts.clientID = section.read(\.clientID)
    parts.clientSecret = section.read(\.clientSecret)
    let clientAuth = section.read(\.clientAuth)
    let hasKey = section.has(\.privateKey)
    parts.key = privateKey(section, \.privateKey, passphrase: \.passphrase).flatMap { isFitForJWT($0, section) ? $0 : nil }
    parts.keyID = section.read(\.keyID)
    parts.algorithm = section.read(\.proof.signingAlgorithm)
    parts.clientAssertion = section.read(\.clientAssertion)
    parts.username = section.read(\.username)
    parts.password = section.read(\.password)
    parts.refreshToken = section.read(\.refreshToken)
    parts.assertion = assertion(section, parts)
    let scope = scope(section)
    let resource = resource(section)
    let explicit = explicitEndpoints(section)
    let login = login(section)
    let exchange = exchange(section)
    let dpop = dpop(section)
    let parameters = parameters(section, grant)
    let trustName = section.read(\.trust)
    let refreshBefore = section.read(\.refreshBeforeExpiry)
    let lifetime = section.read(\.defaultLifetime)
    let window = refreshWindow(section)
    let statuses = section.read(\.retryStatuses)
    let timeout = section.read(\.timeout)

    var endpoint = endpoint(section, token: urls.token, issuer: urls.issuer)
    if explicit.sendsOverTLS { endpoint?.isHTTPS = true }
    if !hasKey && !section.isMisspelt(\.privateKey) {
      section.refuse(
        [\.passphrase, \.keyID, \.proof.signingAlgorithm], because: "belongs to 'private_key', which is missing")
    }
    let certificate = clientCertificate(section)
    let trustOK = checkTrust(
      of: endpoint.map { AskedServer(name: "the token endpoint", isHTTPS: $0.isHTTPS, place: $0.place) }, section, \.trust,
      trustName, trust, allowUntrusted: allowUntrusted)
    guard let grant else { return nil }
    let policyGrant = self.grant(grant, section, parts, login, exchange)
    let authentication = clientAuthentication(clientAuth, grant, section, parts, hasKey: hasKey)
    if grant == .refreshToken, tokenStore == .memory {
      warning(
        section.valuePlace(\.grant),
        "\(section.path.shown): a rotated refresh token is lost on restart while 'token_store' is memory")
    }
    checkLogin(grant, section, scope: scope, tokenStore: tokenStore)
    checkShared(grant, section, tokenStore: tokenStore)
    checkProof(section)
    checkDPoP(dpop, grant, section, authentication)
    guard let endpoint, let policyGrant, let authentication, let certificate, trustOK else { return nil }
    var policy = OAuth2Policy(
      endpoint: endpoint.value, endpoints: explicit.value, grant: policyGrant, clientID: parts.clientID?.value,
      clientAuthentication: authentication, clientCertificate: certificate, scope: scope, resource: resource,
      parameters: parameters, dpop: dpop?.value, refreshBeforeExpiry: refreshBefore, defaultLifetime: lifetime,
      refreshWindow: window,
      retryStatuses: statuses, timeout: timeout, trust: trustName?.value)
    policy.sharing = sharing(of: policy, section, tokenStore: tokenStore)
    return policy
  }

  private struct TokenEndpoint {
    var value: OAuth2Policy.Endpoint
    var isHTTPS: Bool
    var place: Place
  }

  private func endpoint(_ section: Section<OAuth2Keys>, token: Located<String>?, issuer: Located<String>?) -> TokenEndpoint? {
    switch (section.has(\.tokenURL), section.has(\.issuer)) {
    case (true, true):
      error(section.keyPlace(\.issuer), "\(section.path.shown) has both 'token_url' and 'issuer'; give only one of them")
      return nil
    case (false, false):
      if section.isMisspelt([\.tokenURL, \.issuer]) { return nil }
      error(section.place, "\(section.path.shown) needs 'token_url' or 'issuer'")
      return nil
    default: break
    }
    guard let text = token ?? issuer else { return nil }
    guard let url = serverURL(text, section.path(token == nil ? \.issuer : \.tokenURL), isIssuer: token == nil) else {
      return nil
    }
    return TokenEndpoint(
      value: token == nil ? .issuer(url: text.value) : .token(url: text.value), isHTTPS: url.isHTTPS, place: text.place)
  }

  /// A URL of an authorization server; nil after an error.
  func serverURL(
    _ text: Located<String>, _ path: KeyPath, isIssuer: Bool = false, because reason: String = "the proxy sends secrets there"
  ) -> URLText? {
    do throws(HostError) {
      let url = try URLText(parsing: text.value)
      // RFC 8414 section 2: an issuer has neither query nor fragment.
      if isIssuer, url.target.contains("?") { throw HostError("must not have a query") }
      guard url.isHTTPS || url.isLoopback else {
        throw HostError("must be https unless it is on loopback: \(reason)")
      }
      return url
    } catch {
      self.error(text.place, "\(path.shown) \(error)")
      return nil
    }
  }

  /// A server that the proxy itself asks for a credential's tokens.
  struct AskedServer {
    /// As errors call it.
    var name: String
    var isHTTPS: Bool
    var place: Place
  }

  /// Whether the server's trust policy is there and fits. Reports what does not.
  /// - Parameter server: nil: it is not known, because of an error.
  func checkTrust<Keys: KeySet>(
    of server: AskedServer?, _ section: Section<Keys>, _ key: (Keys) -> DescribedKey, _ name: Located<String>?,
    _ trust: TrustRules,
    allowUntrusted: Bool
  ) -> Bool {
    let path = section.path(key)
    if let name, !trust.check(name, path, self) { return false }
    guard let server else { return true }
    guard server.isHTTPS else {
      if let name { error(name.place, "\(path.shown) has no effect: \(server.name) is http://") }
      return true
    }
    if name == nil && trust.allMustBeNamed && !section.has(key) {
      error(server.place, "\(section.path.shown) names no 'trust', but all_hosts_must_be_evaluated is true")
    }
    if let gap = trust.gap(name?.value), !allowUntrusted {
      error(name?.place ?? server.place, untrusted(server.name, section.path, gap))
    }
    return true
  }

  func untrusted(_ server: String, _ path: KeyPath, _ gap: (name: String, what: String)) -> String {
    "\(path.shown): trust \(shown(gap.name)) \(gap.what), so secrets may go to \(server) only with 'allow_untrusted: true' in the "
      + "credential"
  }

  private func grant(
    _ grant: OAuth2Keys.Grant, _ section: Section<OAuth2Keys>, _ parts: Parts, _ login: LoginSettings?,
    _ exchange: ExchangeDraft
  ) -> OAuth2Policy.Grant? {
    let reason = "cannot be used with grant \(grant.rawValue)"
    if grant != .password { section.refuse([\.username, \.password], because: reason) }
    if grant != .refreshToken { section.refuse([\.refreshToken], because: reason) }
    if grant != .jwtBearer { section.refuse([\.assertion], because: reason) }
    let exchange = exchangeSettings(exchange, grant, section)
    let because = "for grant \(grant.rawValue)"
    switch grant {
    case .clientCredentials: return .clientCredentials
    case .refreshToken:
      section.require(\.refreshToken, because: because)
      return parts.refreshToken.map { .refreshToken($0.value) }
    case .password:
      section.require(\.username, because: because)
      section.require(\.password, because: because)
      guard let username = parts.username, let password = parts.password else { return nil }
      return .password(username: username.value, password: password.value)
    case .jwtBearer:
      section.require(\.assertion, because: because)
      return parts.assertion.map { .jwtBearer($0) }
    case .authorizationCode: return login.map { .authorizationCode($0) }
    case .deviceCode: return login.map { .deviceCode($0) }
    case .tokenExchange: return exchange.map { .tokenExchange($0) }
    }
  }

  private func clientAuthentication(
    _ written: OAuth2Keys.ClientAuthentication?, _ grant: OAuth2Keys.Grant, _ section: Section<OAuth2Keys>, _ parts: Parts,
    hasKey: Bool
  ) -> OAuth2Policy.ClientAuthentication? {
    let name: OAuth2Keys.ClientAuthentication
    if let written {
      name = written
    } else if section.has(\.clientAuth) {
      return nil
    } else if section.has(\.clientSecret) {
      name = .basic
    } else if section.has(\.clientAssertion) {
      name = .clientAssertion
    } else if hasKey && grant != .jwtBearer {
      name = .privateKeyJWT
    } else {
      name = .none
      if grant == .clientCredentials {
        if section.isMisspelt([\.clientSecret, \.privateKey, \.clientAssertion, \.clientAuth]) { return nil }
        if section.has(\.proof.clientCertificate) {
          error(
            section.keyPlace(\.proof.clientCertificate),
            "\(section.path.shown) needs 'client_auth: tls_client_auth' or 'client_auth: self_signed_tls_client_auth' if the "
              + "certificate alone authenticates the client")
          return nil
        }
        // RFC 6749 section 4.4: confidential clients only.
        error(
          section.place,
          "\(section.path.shown) needs 'client_secret', 'private_key' or 'client_assertion' for grant client_credentials")
        return nil
      }
    }
    let reason = "cannot be used with client_auth \(name.rawValue)"
    if !name.usesSecret { section.refuse([\.clientSecret], because: reason) }
    if name != .clientAssertion { section.refuse([\.clientAssertion], because: reason) }
    if name != .privateKeyJWT && grant != .jwtBearer { section.refuse([\.privateKey], because: reason) }
    // RFC 7521 section 4.2 and RFC 7523 section 3: an assertion names the client by itself.
    // Authorization and device requests have no assertion.
    if grant.hasLogin || (name != .clientAssertion && !(name == .none && grant.needsNoClient)) { section.require(\.clientID) }
    let because = "for client_auth \(name.rawValue)"
    switch name {
    case .basic, .post:
      section.require(\.clientSecret, because: because)
      return parts.clientSecret.map { name == .basic ? .basic(secret: $0.value) : .post(secret: $0.value) }
    case .none: return OAuth2Policy.ClientAuthentication.none
    case .clientAssertion:
      section.require(\.clientAssertion, because: because)
      return parts.clientAssertion.map { .clientAssertion($0.value) }
    case .privateKeyJWT:
      section.require(\.privateKey, because: because)
      return parts.key.map { .privateKeyJWT(signingKey($0, parts)) }
    case .clientSecretJWT:
      section.require(\.clientSecret, because: because)
      return parts.clientSecret.flatMap { isFitForHMAC($0, section) ? .secretJWT($0.value) : nil }
    case .tls, .selfSignedTLS:
      section.require(\.proof.clientCertificate, because: because)
      return .certificate
    }
  }

  private func signingKey(_ key: KeyDraft, _ parts: Parts) -> OAuth2Policy.SigningKey {
    OAuth2Policy.SigningKey(
      pem: key.pem, passphrase: key.passphrase, keyID: parts.keyID?.value, algorithm: parts.algorithm)
  }

  /// `{issuer, subject, audience, lifetime}`, which the proxy signs, or a secret that is a signed assertion.
  private func assertion(_ section: Section<OAuth2Keys>, _ parts: Parts) -> OAuth2Policy.Assertion? {
    let claims: Section<AssertionKeys>
    switch section.read(\.assertion) {
    case nil: return nil
    case .client?: return .client
    case .secret(let ready)?: return .ready(ready.value)
    case .section(let written)?: claims = written
    }
    let issuer = claims.read(\.issuer)
    let subject = claims.read(\.subject)
    let audience = claims.read(\.audience)
    let lifetime = claims.read(\.lifetime)
    guard section.require(\.privateKey, because: "to sign the assertion"), let key = parts.key, let issuer, let subject,
      let audience
    else { return nil }
    return .signed(
      issuer: issuer.value, subject: subject.value, audience: audience.value, lifetime: lifetime,
      key: signingKey(key, parts))
  }

  private func scope(_ section: Section<OAuth2Keys>) -> String? {
    guard let scope = section.read(\.scope) else { return nil }
    // RFC 6749 section 3.3: scope-tokens, a space between.
    let tokens = scope.value.split(separator: " ", omittingEmptySubsequences: false)
    let good = tokens.allSatisfy { token in
      !token.isEmpty && token.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
    }
    if !good {
      error(scope.place, "\(section.path(\.scope).shown) must be words separated by single spaces, not \(shown(scope.value))")
    }
    return scope.value
  }

  private static let ownParameters = [
    "grant_type", "client_id", "client_secret", "client_assertion", "client_assertion_type", "scope", "username", "password",
    "refresh_token", "assertion",
  ]
  /// Those of a login's first token request.
  private static let ownLoginParameters = ["code", "code_verifier", "redirect_uri", "device_code"]

  private static let ownExchangeParameters = [
    "subject_token", "subject_token_type", "actor_token", "actor_token_type", "requested_token_type", "audience",
  ]

  private func parameters(_ section: Section<OAuth2Keys>, _ grant: OAuth2Keys.Grant?) -> [String: String] {
    let own =
      Reading.ownParameters + (grant?.hasLogin == true ? Reading.ownLoginParameters : [])
      + (grant == .tokenExchange ? Reading.ownExchangeParameters : [])
    var parameters: [String: String] = [:]
    for field in section.read(\.parameters) ?? [] {
      guard let value = field.value else { continue }
      if field.name.value == "resource", section.has(\.resource) {
        error(field.name.place, "\(field.path.shown) would be sent twice: write it into the key 'resource' only")
      }
      if own.contains(field.name.value) {
        error(field.name.place, "\(field.path.shown) is a parameter that the proxy sets itself")
      }
      parameters[field.name.value] = value.value
    }
    return parameters
  }

  private func refreshWindow(_ section: Section<OAuth2Keys>) -> OAuth2Policy.RefreshWindow {
    var window = OAuth2Policy.RefreshWindow()
    guard let fields = section.read(\.refreshWindow) else { return window }
    window.interval = fields.read(\.interval)
    window.attempts = fields.read(\.attempts)
    return window
  }
}
