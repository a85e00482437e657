import Credentials
import Settings
import TLS

extension Reading {
  private enum GrantName: String, CaseIterable {
    case clientCredentials = "client_credentials"
    case refreshToken = "refresh_token"
    case password
    case jwtBearer = "jwt_bearer"
  }
  private enum AuthenticationName: String, CaseIterable {
    case basic, post, none
    case privateKeyJWT = "private_key_jwt"
    case clientAssertion = "client_assertion"
  }
  /// Everything that carries a secret or a name of the client's, as written.
  private struct Parts {
    var clientID: Located<String>?
    var clientSecret: Located<Secret>?
    var key: KeyDraft?
    var keyID: Located<String>?
    var clientAssertion: Located<Secret>?
    var username: Located<String>?
    var password: Located<Secret>?
    var refreshToken: Located<Secret>?
    var assertion: OAuth2Policy.Assertion?
  }

  func oauth2(_ section: Section, trust: TrustRules, allowUntrusted: Bool, tokenStore: TokenStoreSettings) -> OAuth2Policy? {
    section.require("grant")
    let grantName = section.text("grant")
    let grant = grantName.flatMap { GrantName(rawValue: $0.value) }
    if let grantName, grant == nil {
      error(
        grantName.place, "\(section.path.key("grant").shown) \(notAmong(grantName.value, GrantName.allCases.map(\.rawValue)))")
    }
    let urls = (token: section.text("token_url"), issuer: section.text("issuer"))
    var parts = Parts()
    parts.clientID = section.text("client_id")
    parts.clientSecret = section.secret("client_secret")
    let authenticationName = section.text("client_auth")
    let hasKey = section.has("private_key")
    parts.key = privateKey(section, key: "private_key").flatMap { isFitForJWT($0, section) ? $0 : nil }
    parts.keyID = section.text("key_id")
    parts.clientAssertion = section.secret("client_assertion")
    parts.username = section.text("username")
    parts.password = section.secret("password")
    parts.refreshToken = section.secret("refresh_token")
    parts.assertion = assertion(section, key: parts.key, keyID: parts.keyID)
    let scope = scope(section)
    let parameters = parameters(section)
    let trustName = section.text("trust")
    let refreshBefore = section.duration("refresh_before_expiry", default: 300_000, atLeast: 0)
    let lifetime = section.duration("default_lifetime", default: 3_600_000, atLeast: 1000)
    let window = refreshWindow(section)
    let statuses = statuses(section, "retry_statuses", default: [401])
    let timeout = section.duration("timeout", default: 10_000)
    section.finish()

    let endpoint = endpoint(section, token: urls.token, issuer: urls.issuer)
    if !hasKey && !section.isMisspelt(["private_key"]) {
      section.refuse(["passphrase", "key_id"], because: "belongs to 'private_key', which is missing")
    }
    let trustOK = tokenEndpointTrust(section, endpoint: endpoint, name: trustName, trust: trust, allowUntrusted: allowUntrusted)
    guard let grant else { return nil }
    let policyGrant = self.grant(grant, section, parts)
    let authentication = clientAuthentication(authenticationName, grant, section, parts, hasKey: hasKey)
    if grant == .refreshToken, tokenStore == .memory {
      warning(
        grantName?.place, "\(section.path.shown): a rotated refresh token is lost on restart while 'token_store' is memory")
    }
    guard let endpoint, let policyGrant, let authentication, trustOK else { return nil }
    return OAuth2Policy(
      endpoint: endpoint.value, grant: policyGrant, clientID: parts.clientID?.value, clientAuthentication: authentication,
      scope: scope, parameters: parameters, refreshBeforeExpiry: refreshBefore, defaultLifetime: lifetime,
      refreshWindow: window,
      retryStatuses: statuses, timeout: timeout, trust: trustName?.value)
  }

  private struct TokenEndpoint {
    var value: OAuth2Policy.Endpoint
    var isHTTPS: Bool
    var place: Place
  }

  private func endpoint(_ section: Section, token: Located<String>?, issuer: Located<String>?) -> TokenEndpoint? {
    switch (section.has("token_url"), section.has("issuer")) {
    case (true, true):
      error(section.keyPlace("issuer"), "\(section.path.shown) has both 'token_url' and 'issuer'; the one replaces the other")
      return nil
    case (false, false):
      if section.isMisspelt(["token_url", "issuer"]) { return nil }
      error(section.place, "\(section.path.shown) needs 'token_url' or 'issuer'")
      return nil
    default: break
    }
    guard let text = token ?? issuer else { return nil }
    let path = section.path.key(token == nil ? "issuer" : "token_url").shown
    do throws(HostError) {
      let url = try URLText(parsing: text.value)
      // RFC 8414 section 2: an issuer has neither query nor fragment.
      if token == nil, url.target.contains("?") { throw HostError("must not have a query") }
      guard url.isHTTPS || url.isLoopback else {
        throw HostError("must be https unless it is on loopback: secrets go there")
      }
      return TokenEndpoint(
        value: token == nil ? .issuer(url: text.value) : .token(url: text.value), isHTTPS: url.isHTTPS, place: text.place)
    } catch {
      self.error(text.place, "\(path) \(error)")
      return nil
    }
  }

  private func tokenEndpointTrust(
    _ section: Section, endpoint: TokenEndpoint?, name: Located<String>?, trust: TrustRules, allowUntrusted: Bool
  ) -> Bool {
    let path = section.path.key("trust")
    if let name, !trust.check(name, path, self) { return false }
    guard let endpoint else { return true }
    guard endpoint.isHTTPS else {
      if let name { error(name.place, "\(path.shown) would protect nothing: the token endpoint is http://") }
      return true
    }
    if name == nil && trust.allMustBeNamed && !section.has("trust") {
      error(endpoint.place, "\(section.path.shown) names no 'trust', but all_hosts_must_be_evaluated is true")
    }
    if let gap = trust.gap(name?.value), !allowUntrusted {
      error(
        name?.place ?? endpoint.place,
        "\(section.path.shown): trust \(shown(gap.name)) \(gap.what), so secrets may go to the token endpoint "
          + "only with 'allow_untrusted: true' in the credential"
      )
    }
    return true
  }

  private func grant(_ grant: GrantName, _ section: Section, _ parts: Parts) -> OAuth2Policy.Grant? {
    let reason = "has no meaning for grant \(grant.rawValue)"
    if grant != .password { section.refuse(["username", "password"], because: reason) }
    if grant != .refreshToken { section.refuse(["refresh_token"], because: reason) }
    if grant != .jwtBearer { section.refuse(["assertion"], because: reason) }
    let because = "for grant \(grant.rawValue)"
    switch grant {
    case .clientCredentials: return .clientCredentials
    case .refreshToken:
      section.require("refresh_token", because: because)
      return parts.refreshToken.map { .refreshToken($0.value) }
    case .password:
      section.require("username", because: because)
      section.require("password", because: because)
      guard let username = parts.username, let password = parts.password else { return nil }
      return .password(username: username.value, password: password.value)
    case .jwtBearer:
      section.require("assertion", because: because)
      return parts.assertion.map { .jwtBearer($0) }
    }
  }

  private func clientAuthentication(
    _ written: Located<String>?, _ grant: GrantName, _ section: Section, _ parts: Parts, hasKey: Bool
  ) -> OAuth2Policy.ClientAuthentication? {
    let path = section.path.key("client_auth").shown
    let name: AuthenticationName
    if let written {
      guard let known = AuthenticationName(rawValue: written.value) else {
        error(written.place, "\(path) \(notAmong(written.value, AuthenticationName.allCases.map(\.rawValue)))")
        return nil
      }
      name = known
    } else if section.has("client_secret") {
      name = .basic
    } else if section.has("client_assertion") {
      name = .clientAssertion
    } else if hasKey && grant != .jwtBearer {
      name = .privateKeyJWT
    } else {
      name = .none
      if grant == .clientCredentials {
        if section.isMisspelt(["client_secret", "private_key", "client_assertion"]) { return nil }
        // RFC 6749 section 4.4: confidential clients only.
        error(
          section.place,
          "\(section.path.shown) needs 'client_secret', 'private_key' or 'client_assertion' for grant client_credentials")
        return nil
      }
    }
    let reason = "has no meaning with client_auth \(name.rawValue)"
    if name != .basic && name != .post { section.refuse(["client_secret"], because: reason) }
    if name != .clientAssertion { section.refuse(["client_assertion"], because: reason) }
    if name != .privateKeyJWT && grant != .jwtBearer { section.refuse(["private_key"], because: reason) }
    // RFC 7521 section 4.2 and RFC 7523 section 3: an assertion names the client by itself.
    if name != .clientAssertion && !(name == .none && grant == .jwtBearer) { section.require("client_id") }
    let because = "for client_auth \(name.rawValue)"
    switch name {
    case .basic, .post:
      section.require("client_secret", because: because)
      return parts.clientSecret.map { name == .basic ? .basic(secret: $0.value) : .post(secret: $0.value) }
    case .none: return OAuth2Policy.ClientAuthentication.none
    case .clientAssertion:
      section.require("client_assertion", because: because)
      return parts.clientAssertion.map { .clientAssertion($0.value) }
    case .privateKeyJWT:
      section.require("private_key", because: because)
      return parts.key.map { .privateKeyJWT(signingKey($0, parts.keyID)) }
    }
  }

  /// RS256 or ES256 (RFC 7518 section 3.1); RSA keys from 2048 bits on (section 3.3).
  private func isFitForJWT(_ draft: KeyDraft, _ section: Section) -> Bool {
    switch draft.key.algorithm {
    case .p256: return true
    case .rsa(let bits) where bits >= 2048: return true
    case .rsa, .other:
      error(draft.place, "\(section.path.key("private_key").shown) must be RSA of 2048 bits or more, or EC over P-256")
      return false
    }
  }

  private func signingKey(_ key: KeyDraft, _ keyID: Located<String>?) -> OAuth2Policy.SigningKey {
    OAuth2Policy.SigningKey(pem: key.pem, passphrase: key.passphrase, keyID: keyID?.value)
  }

  /// `{issuer, subject, audience, lifetime}` to be signed, or a secret that is a ready assertion.
  private func assertion(_ section: Section, key: KeyDraft?, keyID: Located<String>?) -> OAuth2Policy.Assertion? {
    guard let node = section.node("assertion") else { return nil }
    let path = section.path.key("assertion")
    guard case .mapping(let entries) = node.content, !entries.contains(where: { ["file", "env", "command"].contains($0.key) })
    else {
      return secret(node, path, place: section.keyPlace("assertion")).map { .ready($0.value) }
    }
    guard let claims = section.section("assertion") else { return nil }
    let issuer = claims.text("issuer")
    let subject = claims.text("subject")
    let audience = claims.text("audience")
    let lifetime = claims.duration("lifetime", default: 300_000, atLeast: 1000)
    claims.finish()
    // RFC 7523 section 3: all three are required.
    for claim in ["issuer", "subject", "audience"] { claims.require(claim) }
    guard section.require("private_key", because: "to sign the assertion"), let key, let issuer, let subject, let audience
    else {
      return nil
    }
    return .signed(
      issuer: issuer.value, subject: subject.value, audience: audience.value, lifetime: lifetime, key: signingKey(key, keyID))
  }

  private func scope(_ section: Section) -> String? {
    guard let scope = section.text("scope") else { return nil }
    // RFC 6749 section 3.3: scope-tokens, a space between.
    let tokens = scope.value.split(separator: " ", omittingEmptySubsequences: false)
    let good = tokens.allSatisfy { token in
      !token.isEmpty && token.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
    }
    if !good {
      error(scope.place, "\(section.path.key("scope").shown) must be words with one space between, not \(shown(scope.value))")
    }
    return scope.value
  }

  private static let ownParameters = [
    "grant_type", "client_id", "client_secret", "client_assertion", "client_assertion_type", "scope", "username", "password",
    "refresh_token", "assertion",
  ]

  private func parameters(_ section: Section) -> [String: String] {
    guard let fields = section.section("parameters") else { return [:] }
    var parameters: [String: String] = [:]
    for (name, place, node) in fields.named() {
      guard let value = text(node, fields.path.named(name)) else { continue }
      if Reading.ownParameters.contains(name) {
        error(place, "\(fields.path.named(name).shown) is set by the grant itself")
      }
      parameters[name] = value.value
    }
    return parameters
  }

  private func refreshWindow(_ section: Section) -> OAuth2Policy.RefreshWindow {
    var window = OAuth2Policy.RefreshWindow()
    guard let fields = section.section("refresh_window") else { return window }
    window.interval = fields.duration("interval", default: window.interval)
    window.attempts = fields.integer("attempts", default: window.attempts, in: 1...1_000_000)
    fields.finish()
    return window
  }

  /// A list of statuses that mean refusal or failure.
  func statuses(_ section: Section, _ key: String, default standard: Set<Int>) -> Set<Int> {
    guard let items = section.texts(key) else { return standard }
    var statuses: Set<Int> = []
    for item in items {
      if let status = try? Units.integer(item.text.value), (400...599).contains(status) {
        statuses.insert(status)
      } else {
        error(item.text.place, "\(item.path.shown) must be a status from 400 to 599, not \(shown(item.text.value))")
      }
    }
    return statuses
  }
}
