import Credentials
import Settings

/// Keys of `credentials.*.oauth2` that concern logins: with a browser, on another device, and their end.
struct LoginKeys: KeyGroup {
  enum TokenUse: String, CaseIterable {
    case accessToken = "access_token"
    case idToken = "id_token"
  }

  let authorizationURL = Key(
    "authorization_url", .text(.url), .otherwise("what 'issuer' names"),
    "The page where a person logs in: https, or http on loopback.")
  let deviceAuthorizationURL = Key(
    "device_authorization_url", .text(.url), .otherwise("what 'issuer' names"),
    "The endpoint that gives out device codes: https, or http on loopback.")
  let revocationURL = Key(
    "revocation_url", .text(.url), .otherwise("what 'issuer' names"),
    "The endpoint where a logout revokes tokens (RFC 7009): https, or http on loopback.")
  let redirectURI = Key(
    "redirect_uri", .text(.url), .text(RedirectURI.standard.text),
    "Where the server sends the browser: http on loopback, without a port a free one; or https, and the person pastes the answer."
  )
  let authorizationParameters = Key(
    "authorization_parameters", .map(of: .text(.anything)), .otherwise("none"),
    "Adds fields to authorization, pushed and device requests.")
  let use = Key(
    "use", .choice(TokenUse.allCases), default: .accessToken, "Says which of the login's tokens requests carry.")
  let subject = Key(
    "subject", .text(.anything), .otherwise("whoever logs in first"),
    "The only person who may log in, by the claim sub of the id_token.")
  let loginLifetime = Key(
    "login_lifetime", .longDuration(atLeast: 1000), .otherwise("unknown"),
    "How long a login lasts if the server does not say; for warnings before its end.")
}
