/// What both kinds of logins do with the server's tokens: check them, compare the person, tell what happened.
struct LoginJudgement {
  let name: String
  let policy: OAuth2Policy
  let settings: LoginSettings
  let options: LoginOptions
  /// The key to which the server binds this login's tokens; nil without DPoP.
  var dpopKey: DPoPKey?

  /// - Parameters:
  ///   - nonce: of the request; nil for a device, whose request has none.
  ///   - requested: monotonic milliseconds when the token request was sent; lifetimes count from then.
  func complete(
    _ grant: TokenGrant, nonce: Secret?, requested: Int64, now: Int64, wall: Int64
  ) throws(LoginEnd) -> CompletedLogin {
    let elapsed = max(0, (now - requested + 999) / 1000)
    let idToken = try checkedIDToken(grant, nonce: nonce, wall: wall)
    var bearer = grant.accessToken
    var lifetime = min(grant.lifetime ?? max(1, Int64(policy.defaultLifetime) / 1000), TokenResponse.maximumLifetime)
    var expiresAt = wall - elapsed + lifetime
    if settings.use == .idToken {
      guard let idToken, let token = grant.idToken, TokenResponse.isAccessToken(token.bytes) else {
        throw LoginEnd(.refused, "the server sent no id_token, but 'use' says that requests send it")
      }
      bearer = token
      expiresAt = idToken.expiry
      lifetime = min(max(1, expiresAt - wall), TokenResponse.maximumLifetime)
    }
    guard expiresAt > wall else { throw LoginEnd(.expiredOnArrival) }
    var stored: Secret?
    if policy.dpop == .generated {
      guard let key = try? dpopKey?.stored() else { throw LoginEnd(.signing("the DPoP key cannot be stored")) }
      stored = key
    }
    return CompletedLogin(
      accessToken: grant.accessToken, refreshToken: grant.refreshToken, bearer: bearer, expiresAt: expiresAt,
      lifetime: lifetime,
      loggedInAt: wall, loginExpiresAt: loginExpiry(grant, expiresAt: expiresAt, wall: wall - elapsed),
      scope: grant.scope ?? policy.scope, subject: idToken?.subject, person: idToken?.person,
      dpopKey: stored)
  }

  private func checkedIDToken(_ grant: TokenGrant, nonce: Secret?, wall: Int64) throws(LoginEnd) -> IDToken? {
    // Without openid in the scope nobody promised what an id_token says.
    guard policy.isOpenID, let issuer = policy.issuer else { return nil }
    guard let token = grant.idToken else {
      // OpenID Connect defines none for a device's grant, though most servers send one.
      guard nonce != nil else { return nil }
      throw LoginEnd(.refused, "the server sent no id_token, although the scope has openid")
    }
    do throws(IDToken.Problem) {
      let parsed = try IDToken(token)
      try parsed.check(issuer: issuer, clientID: policy.clientID ?? "", nonce: nonce, wall: wall)
      return parsed
    } catch {
      throw LoginEnd(.refused, LogText.bounded("\(error)", hiding: secrets(of: grant)))
    }
  }

  private func secrets(of grant: TokenGrant) -> [Secret] {
    [grant.accessToken, grant.refreshToken, grant.idToken].compactMap { $0 }
  }

  private func loginExpiry(_ grant: TokenGrant, expiresAt: Int64, wall: Int64) -> Int64? {
    guard grant.refreshToken != nil else { return expiresAt }
    return (grant.refreshLifetime ?? settings.lifetime.map { Int64($0) / 1000 }).map { wall + $0 }
  }

  /// Whether this person may take the place of the one in the store: the URL stands in the browser's arguments, where another
  /// user of this host could read it and answer first as himself.
  ///
  /// - Parameter recorded: subject of the store's record, if it belongs to this configuration.
  func checkSubject(_ login: CompletedLogin, recorded: String?) throws(LoginEnd) {
    guard !options.otherAccount, let expected = settings.subject ?? recorded else { return }
    let rule = settings.subject == nil ? "the stored login is of" : "the configuration allows only"
    let whose = "\(rule) subject \(IDToken.printable(expected))"
    guard let subject = login.subject else {
      throw LoginEnd(.refused, "the server did not say who logged in, but \(whose); --other-account accepts it")
    }
    guard subject.utf8.elementsEqual(expected.utf8) else {
      throw LoginEnd(.refused, "\(login.person ?? "another person") logged in, but \(whose); --other-account accepts it")
    }
  }

  /// What the person should know although the login succeeded; nil: nothing.
  func warning(_ login: CompletedLogin, wall: Int64) -> String? {
    guard login.refreshToken == nil else { return nil }
    return """
      warning: the server granted no refresh token, so this login expires in \(DurationText.of(login.expiresAt - wall)); \
      request one with scope offline_access, or with access_type: offline in authorization_parameters
      """
  }

  func success(_ login: CompletedLogin) -> LoginEnd {
    LoginEnd(.done, "logged in to \(name)" + (login.person.map { " as \($0)" } ?? ""))
  }
}
