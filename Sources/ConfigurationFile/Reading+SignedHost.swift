import Credentials
import Settings

extension Reading {
  /// An app that names the host in a signed request could have one signed for a host that it does not go to.
  func checkSignedHost(_ settings: UpstreamSettings, _ entry: Section<UpstreamKeys>, _ credential: CredentialDraft?) {
    guard credential?.policy?.signsHost == true, settings.hostHeader == .app else { return }
    error(
      entry.valuePlace(\.hostHeader),
      "\(entry.path(\.hostHeader).shown) cannot be app: credential \(shown(settings.credential ?? "")) signs for the host that "
        + "the request goes to")
  }
}

extension CredentialPolicy {
  /// The host is part of what it signs.
  fileprivate var signsHost: Bool {
    switch kind {
    case .sigv4: true
    // Nothing covers Host itself, which belongs to one hop.
    case .hmac(let hmac): hmac.message.pieces.contains { $0 == .authority || $0 == .url }
    case .httpSignature(let signature): signature.components.contains { $0 == "@authority" || $0 == "@target-uri" }
    case .basic, .bearer, .header, .oauth2, .jwt, .digest, .negotiate, .query, .path: false
    }
  }
}
