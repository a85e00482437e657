import Credentials
import Settings

extension Reading {
  /// A credential as far as it could be read. Even one with errors has what the checks of upstreams need.
  struct CredentialDraft {
    var place: Place
    var policy: CredentialPolicy?
    var allowPlaintext: Bool
    var allowUntrusted: Bool
    /// Its entries present its certificate to their origins.
    var isCertificateBound = false
    /// The credentials whose tokens it exchanges.
    var sources: [SourceReference] = []
  }

  func credentials(_ root: Section<RootKeys>, trust: TrustRules, tokenStore: TokenStoreSettings?) -> [String: CredentialDraft] {
    var drafts: [String: CredentialDraft] = [:]
    for entry in root.read(\.credentials) ?? [] {
      let name = entry.name.value
      _ = checkName(entry.name, entry.path)
      drafts[name] =
        entry.value.map { credential(name, $0, trust: trust, tokenStore: tokenStore) }
        ?? CredentialDraft(place: entry.name.place, policy: nil, allowPlaintext: true, allowUntrusted: true)
    }
    checkSources(&drafts, (root.read(\.credentials) ?? []).map(\.name.value))
    return drafts
  }

  /// - Parameter tokenStore: nil if it has an error.
  func credential(
    _ name: String, _ entry: Section<CredentialKeys>, trust: TrustRules, tokenStore: TokenStoreSettings?
  ) -> CredentialDraft {
    let basic = entry.read(\.basic)
    let bearer = entry.read(\.bearer)
    let header = entry.read(\.header)
    let oauth2 = entry.read(\.oauth2)
    let sigv4 = entry.read(\.sigv4)
    let cloudIdentity = entry.read(\.cloudIdentity)
    let githubApp = entry.read(\.githubApp)
    let digest = entry.read(\.digest)
    let jwt = entry.read(\.jwt)
    let hmac = entry.read(\.hmac)
    let httpSignature = entry.read(\.httpSignature)
    let negotiate = entry.read(\.negotiate)
    let query = entry.read(\.query)
    let path = entry.read(\.path)
    sourceReferences = []
    let allowPlaintext = entry.read(\.allowPlaintext)
    let allowUntrusted = entry.read(\.allowUntrusted)
    var draft = CredentialDraft(place: entry.place, policy: nil, allowPlaintext: allowPlaintext, allowUntrusted: allowUntrusted)
    draft.isCertificateBound = oauth2?.read(\.proof.certificateBound) ?? false
    guard entry.countOfAlternatives == 1 else {
      if !entry.isMisspelt(CredentialKeys.alternatives) {
        let kinds = listed(CredentialKeys.alternativeNames.map { "'\($0)'" }, "and")
        error(entry.place, "\(entry.path.shown) must have one of \(kinds)")
      }
      return draft
    }
    var kind: CredentialPolicy.Kind?
    // There is exactly one of them.
    if let basic { kind = self.basic(basic) }
    if let bearer { kind = self.bearer(bearer) }
    if let header { kind = self.header(header) }
    if let oauth2 {
      kind = self.oauth2(oauth2, trust: trust, allowUntrusted: allowUntrusted, tokenStore: tokenStore).map { .oauth2($0) }
    }
    if let sigv4 { kind = sigV4(sigv4, trust: trust, allowUntrusted: allowUntrusted) }
    if let cloudIdentity { kind = self.cloudIdentity(cloudIdentity, trust: trust, allowUntrusted: allowUntrusted) }
    if let jwt { kind = self.jwt(jwt) }
    if let githubApp { kind = self.githubApp(githubApp, trust: trust, allowUntrusted: allowUntrusted) }
    if let hmac { kind = self.hmac(hmac) }
    if let httpSignature { kind = self.httpSignature(httpSignature) }
    if let digest { kind = self.digest(digest) }
    if let negotiate { kind = self.negotiate(negotiate) }
    if let query { kind = self.query(query) }
    if let path { kind = self.path(path) }
    if case .oauth2(let policy)? = kind, policy.sharing != nil { checkRecordName(name, entry, tokenStore: tokenStore) }
    draft.sources = sourceReferences
    draft.policy = kind.map {
      CredentialPolicy(name: name, kind: $0, allowPlaintext: allowPlaintext, allowUntrusted: allowUntrusted)
    }
    return draft
  }

  private func basic(_ section: Section<BasicKeys>) -> CredentialPolicy.Kind? {
    let username = section.read(\.username)
    let password = section.read(\.password)
    guard let username, let password else { return nil }
    // RFC 7617 section 2: the first colon ends the user name.
    guard FieldText.hasNoControls(username.value.utf8), !username.value.utf8.contains(UInt8(ascii: ":")) else {
      error(username.place, "\(section.path(\.username).shown) must not contain a ':' or a control character")
      return nil
    }
    guard FieldText.hasNoControls(password.value.bytes) else {
      error(password.place, "\(section.path(\.password).shown) contains a control character, possibly a line break")
      return nil
    }
    return .basic(username: username.value, password: password.value)
  }

  private func bearer(_ section: Section<BearerKeys>) -> CredentialPolicy.Kind? {
    guard let token = section.read(\.token) else { return nil }
    guard TokenResponse.isAccessToken(token.value.bytes) else {
      error(
        token.place,
        "\(section.path(\.token).shown) contains a character that is not visible ASCII, as access tokens require (RFC 6749 appendix A.12)"
      )
      return nil
    }
    return .bearer(token: token.value)
  }

  private func header(_ section: Section<HeaderKeys>) -> CredentialPolicy.Kind? {
    let name = section.read(\.name)
    let value = section.read(\.value)
    let format = section.read(\.format)
    guard let name, let value, format != nil || !section.has(\.format) else { return nil }
    guard canCarryCredential(name, section.path(\.name)) else { return nil }
    guard FieldText.isFieldValue(value.value.bytes) else {
      error(
        value.place, "\(section.path(\.value).shown) contains a character that field values cannot have, possibly a line break")
      return nil
    }
    guard let format else { return .header(name: name.value, value: value.value, format: HeaderKeys.placeholder) }
    guard isFormat(format, section.path(\.format), placeholder: HeaderKeys.placeholder) else { return nil }
    return .header(name: name.value, value: value.value, format: format.value)
  }
}

extension String {
  /// How often `text` occurs in this one, without overlaps.
  func occurrences(of text: String) -> Int {
    let (all, wanted) = (Array(utf8), Array(text.utf8))
    var (count, at) = (0, 0)
    while at + wanted.count <= all.count {
      let here = all[at..<(at + wanted.count)].elementsEqual(wanted)
      count += here ? 1 : 0
      at += here ? wanted.count : 1
    }
    return count
  }
}
