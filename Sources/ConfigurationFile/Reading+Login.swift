import Credentials
import Settings

/// Reads what `oauth2` says about logins, and what only a login needs.
extension Reading {
  struct ExplicitEndpoints {
    var value = OAuth2Policy.ExplicitEndpoints()
    /// The proxy itself calls one of them over TLS. A browser calls the authorization page.
    var sendsOverTLS = false
  }

  func explicitEndpoints(_ section: Section<OAuth2Keys>) -> ExplicitEndpoints {
    func read(_ key: (OAuth2Keys) -> Key<Located<String>?>) -> (text: String, url: URLText)? {
      guard let text = section.read(key), let url = serverURL(text, section.path(key)) else { return nil }
      return (text.value, url)
    }
    let page = section.read(\.login.authorizationURL).flatMap { text in
      serverURL(text, section.path(\.login.authorizationURL), because: "a person writes a password there").map { _ in text.value
      }
    }
    let device = read(\.login.deviceAuthorizationURL)
    let revocation = read(\.login.revocationURL)
    return ExplicitEndpoints(
      value: OAuth2Policy.ExplicitEndpoints(
        authorization: page, deviceAuthorization: device?.text, revocation: revocation?.text),
      sendsOverTLS: device?.url.isHTTPS == true || revocation?.url.isHTTPS == true)
  }

  /// nil after an error.
  func login(_ section: Section<OAuth2Keys>) -> LoginSettings? {
    let redirectURI = redirectURI(section)
    let parameters = authorizationParameters(section)
    let use = section.read(\.login.use)
    let subject = section.read(\.login.subject)
    let lifetime = section.read(\.login.loginLifetime)
    guard let redirectURI else { return nil }
    return LoginSettings(
      redirectURI: redirectURI, authorizationParameters: parameters, use: use == .idToken ? .idToken : .accessToken,
      subject: subject?.value, lifetime: lifetime)
  }

  private func redirectURI(_ section: Section<OAuth2Keys>) -> RedirectURI? {
    guard let text = section.read(\.login.redirectURI) else {
      return section.has(\.login.redirectURI) ? nil : .standard
    }
    do throws(RedirectURI.Problem) { return try RedirectURI(text.value) } catch {
      let reason =
        switch error {
        case .malformed: "must be an absolute URL, such as \(RedirectURI.standard.text)"
        case .queryFragmentOrUserInformation: "must not have a query, a fragment or a user"
        case .notLoopback: "must be http on 127.0.0.1, [::1] or localhost, or https"
        }
      self.error(text.place, "\(section.path(\.login.redirectURI).shown) \(reason)")
      return nil
    }
  }

  /// Fields of authorization, pushed and device requests that have a key, or a value that is new for each login. A client's
  /// secret would appear in the browser's URL.
  private static let ownAuthorizationParameters = [
    "response_type", "client_id", "redirect_uri", "scope", "state", "nonce", "request", "request_uri", "resource", "dpop_jkt",
    "client_secret", "client_assertion", "client_assertion_type",
  ]
  private static let keysOfParameters = ["client_id", "redirect_uri", "scope", "resource", "client_secret", "client_assertion"]

  private func authorizationParameters(_ section: Section<OAuth2Keys>) -> [String: String] {
    var parameters: [String: String] = [:]
    for field in section.read(\.login.authorizationParameters) ?? [] {
      guard let value = field.value else { continue }
      let name = field.name.value
      // RFC 7636 and what extends it.
      if Reading.ownAuthorizationParameters.contains(name) || name.hasPrefix("code_challenge") {
        let hint = Reading.keysOfParameters.contains(name) ? "; use the key '\(name)' of oauth2" : ""
        error(field.name.place, "\(field.path.shown) is a parameter that the proxy sets itself\(hint)")
      }
      parameters[name] = value.value
    }
    return parameters
  }

  /// RFC 8707 section 2: absolute URIs without a fragment.
  func resource(_ section: Section<OAuth2Keys>) -> [String] {
    guard let resource = section.read(\.resource) else { return [] }
    if resource.items.isEmpty && resource.isWhole { error(resource.place, "\(section.path(\.resource).shown) is empty") }
    for item in resource.items {
      let text = item.text.value
      if !isURI(text) {
        error(
          item.text.place, "\(item.path.shown) must be an absolute URI, such as https://api.example.com, not \(shown(text))")
      } else if text.utf8.contains(UInt8(ascii: "#")) {
        error(item.text.place, "\(item.path.shown) must not have a fragment ('#...')")
      }
    }
    return resource.items.map(\.text.value)
  }

  func isURI(_ text: String) -> Bool {
    let scheme = text.utf8.prefix { $0 != UInt8(ascii: ":") }
    return scheme.count + 1 < text.utf8.count && isScheme(scheme) && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f }
  }

  /// RFC 3986 section 3.1.
  private func isScheme(_ bytes: Substring.UTF8View) -> Bool {
    guard let first = bytes.first, (0x41...0x5a).contains(first) || (0x61...0x7a).contains(first) else { return false }
    return bytes.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
      default: "+-.".utf8.contains(byte)
      }
    }
  }

  /// What the keys say together. Each of them is right by itself.
  /// - Parameter tokenStore: nil if it has an error.
  func checkLogin(
    _ grant: OAuth2Keys.Grant, _ section: Section<OAuth2Keys>, scope: String?, tokenStore: TokenStoreSettings?
  ) {
    let reason = "cannot be used with grant \(grant.rawValue)"
    guard grant.hasLogin else {
      section.refuse(
        [
          \.login.authorizationURL, \.login.deviceAuthorizationURL, \.login.redirectURI, \.login.authorizationParameters,
          \.login.use, \.login.subject, \.login.loginLifetime,
        ], because: reason)
      if !grant.isStored { section.refuse([\.login.revocationURL], because: "\(reason): it has no logout") }
      return
    }
    if grant == .deviceCode { section.refuse([\.login.authorizationURL, \.login.redirectURI], because: reason) }
    if tokenStore == .memory {
      error(
        section.valuePlace(\.grant),
        "\(section.path(\.grant).shown) \(grant.rawValue) needs a 'token_store' other than memory: 'authproxy login' leaves "
          + "the tokens there")
    }
    checkEndpoints(grant, section)
    checkScope(section, scope)
  }

  private func checkEndpoints(_ grant: OAuth2Keys.Grant, _ section: Section<OAuth2Keys>) {
    guard section.has(\.tokenURL), !section.mentions(\.issuer) else { return }
    let key: (OAuth2Keys) -> DescribedKey = grant == .deviceCode ? \.login.deviceAuthorizationURL : \.login.authorizationURL
    section.require(key, because: "beside 'token_url', or 'issuer' instead of it, for grant \(grant.rawValue)")
  }

  private func checkScope(_ section: Section<OAuth2Keys>, _ scope: String?) {
    let isOpenID = (scope ?? "").split(separator: " ").contains("openid")
    if isOpenID, section.has(\.tokenURL), !section.mentions(\.issuer) {
      error(
        section.valuePlace(\.scope),
        "\(section.path(\.scope).shown) has openid, so 'issuer' is needed instead of 'token_url': the id_token must name it")
    }
    guard !isOpenID, !section.isMisspelt(\.scope), scope != nil || !section.has(\.scope) else { return }
    if section.read(\.login.use) == .idToken {
      error(section.valuePlace(\.login.use), "\(section.path(\.login.use).shown) id_token needs openid in 'scope'")
    }
    section.refuse(
      [\.login.subject], because: "needs openid in 'scope': only an id_token says who has logged in")
  }
}
