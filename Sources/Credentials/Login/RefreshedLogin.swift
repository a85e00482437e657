/// What a refresh brought for a credential with a login.
public struct RefreshedLogin: Sendable, Hashable {
  /// What requests send as Bearer, by `use`.
  public let bearer: Secret
  /// Whole seconds; nil = the policy's default lifetime.
  public let lifetime: Int64?

  /// The answer is of no use as a login's.
  public struct Problem: Error, Sendable, Hashable {
    public let failure: TokenFailure
    /// It is of another server or person, so that the login has ended; otherwise a later refresh may bring a better one.
    public let isForeign: Bool
  }

  /// - Parameters:
  ///   - subject: of the stored login; nil if nobody knows it.
  ///   - wall: Unix seconds.
  /// - Throws: if the answer has an id_token of another server or person, or lacks one that requests send.
  public init(_ grant: TokenGrant, policy: OAuth2Policy, subject: String?, wall: Int64) throws(Problem) {
    let sendsIDToken = policy.login?.use == .idToken
    var idToken: IDToken?
    // A refresh may bring none (OpenID Connect Core section 12.2).
    if policy.login != nil, policy.isOpenID, let issuer = policy.issuer, let token = grant.idToken {
      do throws(IDToken.Problem) {
        let parsed = try IDToken(token)
        try parsed.checkRefreshed(issuer: issuer, subject: subject ?? parsed.subject)
        idToken = parsed
      } catch {
        throw Problem(failure: .malformed("\(error)"), isForeign: true)
      }
    }
    guard sendsIDToken else {
      bearer = grant.accessToken
      lifetime = grant.lifetime
      return
    }
    guard let idToken, let token = grant.idToken, TokenResponse.isAccessToken(token.bytes) else {
      throw Problem(failure: .malformed("it has no id_token, which requests send"), isForeign: false)
    }
    guard idToken.expiry > wall else { throw Problem(failure: .expiredOnArrival, isForeign: false) }
    bearer = token
    lifetime = min(idToken.expiry - wall, TokenResponse.maximumLifetime)
  }
}
