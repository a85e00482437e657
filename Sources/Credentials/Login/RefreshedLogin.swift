/// What a refresh brought for a credential with a login.
public struct RefreshedLogin: Sendable, Hashable {
  /// What requests send as Bearer, by `use`.
  public let bearer: Secret
  /// Whole seconds; nil = the policy's default lifetime.
  public let lifetime: Int64?

  /// - Parameters:
  ///   - subject: of the stored login; nil if nobody knows it.
  ///   - wall: Unix seconds.
  /// - Throws: `malformed`, if the answer has an id_token of another server or person, or lacks one that requests send.
  public init(_ grant: TokenGrant, policy: OAuth2Policy, subject: String?, wall: Int64) throws(TokenFailure) {
    let sendsIDToken = policy.login?.use == .idToken
    var idToken: IDToken?
    // A refresh may bring none (OpenID Connect Core section 12.2).
    if policy.login != nil, policy.isOpenID, let issuer = policy.issuer, let token = grant.idToken {
      do throws(IDToken.Problem) {
        let parsed = try IDToken(token)
        try parsed.checkRefreshed(issuer: issuer, subject: subject ?? parsed.subject)
        idToken = parsed
      } catch {
        throw .malformed("\(error)")
      }
    }
    guard sendsIDToken else {
      bearer = grant.accessToken
      lifetime = grant.lifetime
      return
    }
    guard let idToken, let token = grant.idToken, TokenResponse.isAccessToken(token.bytes) else {
      throw .malformed("it has no id_token, which requests send")
    }
    guard idToken.expiry > wall else { throw .expiredOnArrival }
    bearer = token
    lifetime = min(idToken.expiry - wall, TokenResponse.maximumLifetime)
  }
}
