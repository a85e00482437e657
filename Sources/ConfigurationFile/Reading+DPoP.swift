import Credentials
import Crypto
import Settings

/// Reads `oauth2.dpop`.
extension Reading {
  struct DPoPDraft {
    var place: Place
    var value: OAuth2Policy.DPoP
  }

  /// nil: tokens are Bearer ones, or there is an error.
  func dpop(_ section: Section<OAuth2Keys>) -> DPoPDraft? {
    let place = section.valuePlace(\.dpop)
    switch section.read(\.dpop) {
    case nil, .value(false)?: return nil
    case .value(true)?: return DPoPDraft(place: place, value: .generated)
    case .section(let written)?:
      guard let draft = privateKey(written, \.key, passphrase: \.passphrase) else { return nil }
      do throws(OpenSSLError) { return DPoPDraft(place: place, value: .key(try DPoPKey(draft.key))) } catch {
        self.error(draft.place, "\(written.path(\.key).shown) must be EC over P-256: the proxy signs proofs with ES256")
        return nil
      }
    }
  }

  /// What `dpop` cannot be together with.
  func checkDPoP(
    _ dpop: DPoPDraft?, _ grant: OAuth2Keys.Grant, _ section: Section<OAuth2Keys>,
    _ authentication: OAuth2Policy.ClientAuthentication?
  ) {
    guard let dpop else { return }
    let path = section.path(\.dpop).shown
    if section.read(\.login.use) == .idToken {
      error(dpop.place, "\(path) cannot be used with use id_token: servers bind access tokens only")
    }
    // RFC 9449 section 5.
    if dpop.value == .generated, grant == .refreshToken, authentication == OAuth2Policy.ClientAuthentication.none {
      error(
        dpop.place,
        "\(path) true cannot be used with grant refresh_token of a public client: the server has bound the token to the key of its "
          + "first request; configure that key with {key: {file: ...}}")
    }
  }
}
