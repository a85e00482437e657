import Credentials
import Settings

/// Reads `cloud_identity`.
extension Reading {
  func cloudIdentity(
    _ section: Section<CloudIdentityKeys>, trust: TrustRules, allowUntrusted: Bool
  ) -> CredentialPolicy.Kind? {
    let cloud = section.read(\.cloud)
    let scopes = section.read(\.scopes)
    let audience = section.read(\.idTokenAudience)
    let resource = section.read(\.resource)
    let clientID = section.read(\.clientID)
    guard let cloud else { return nil }
    let reason = "cannot be used with cloud \(cloud.rawValue)"
    let environment = SourceEnvironment(environment)
    let identity: CloudIdentity
    switch cloud {
    case .google:
      section.refuse([\.resource, \.clientID], because: reason)
      if section.mentions(\.idTokenAudience) { section.refuse([\.scopes], because: "cannot be used with 'id_token_audience'") }
      if let audience {
        identity = .google(.identity(audience: audience.value), environment: environment)
      } else {
        guard let scopes = self.scopes(scopes, section) else { return nil }
        identity = .google(.access(scopes: scopes), environment: environment)
      }
    case .azure:
      section.refuse([\.scopes, \.idTokenAudience], because: reason)
      section.require(\.resource, because: "with cloud azure")
      guard let resource else { return nil }
      identity = .azure(resource: resource.value, clientID: clientID?.value, environment: environment)
    }
    if identity.asksSecurely, !allowUntrusted, let gap = trust.gap(nil) {
      error(section.place, untrusted("IDENTITY_ENDPOINT", section.path, gap))
    }
    return .oauth2(OAuth2Policy(source: .cloudIdentity(identity)))
  }

  /// nil after an error.
  private func scopes(_ listed: Listed<TextItem>?, _ section: Section<CloudIdentityKeys>) -> [String]? {
    guard let listed else { return section.has(\.scopes) ? nil : [] }
    if listed.items.isEmpty, listed.isWhole {
      error(listed.place, "\(section.path(\.scopes).shown) is empty")
      return nil
    }
    var isGood = listed.isWhole
    for item in listed.items where !item.text.value.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: ",") }) {
      // The metadata server takes them with commas between.
      error(item.text.place, "\(item.path.shown) must be one scope, without spaces and commas")
      isGood = false
    }
    return isGood ? listed.items.map(\.text.value) : nil
  }
}
