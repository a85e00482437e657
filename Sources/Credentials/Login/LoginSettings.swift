/// What the configuration says about logins of one credential, for the grants `authorization_code` and `device_code`.
public struct LoginSettings: Sendable, Hashable {
  public enum TokenUse: Sendable, Hashable {
    case accessToken
    /// The id_token is sent as Bearer, for Kubernetes and identity-aware proxies.
    case idToken
  }
  public var redirectURI: RedirectURI
  /// Extra fields of authorization, pushed and device requests. They never replace a field of the protocol.
  public var authorizationParameters: [String: String]
  public var use: TokenUse
  /// `subject:`: the only person, by the id_token's `sub`, who may log in; nil = see `LoginOptions.otherAccount`.
  public var subject: String?
  /// `login_lifetime:` in milliseconds: how long a login lasts if the server does not say.
  public var lifetime: Int?

  public init(
    redirectURI: RedirectURI = .standard, authorizationParameters: [String: String] = [:], use: TokenUse = .accessToken,
    subject: String? = nil, lifetime: Int? = nil
  ) {
    self.redirectURI = redirectURI
    self.authorizationParameters = authorizationParameters
    self.use = use
    self.subject = subject
    self.lifetime = lifetime
  }
}

extension OAuth2Policy {
  /// nil for grants without a login.
  public var login: LoginSettings? {
    switch grant {
    case .authorizationCode(let settings), .deviceCode(let settings): settings
    case .clientCredentials, .refreshToken, .password, .jwtBearer, .tokenExchange, .source: nil
    }
  }

  /// nil if the configuration names the token endpoint alone.
  var issuer: String? {
    if case .issuer(let url) = endpoint { url } else { nil }
  }

  /// Whether the requested scope makes the login an OpenID Connect one.
  var isOpenID: Bool { (scope ?? "").split(separator: " ").contains("openid") }
}
