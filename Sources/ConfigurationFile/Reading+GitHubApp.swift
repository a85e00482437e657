import Credentials
import Crypto
import Settings

/// Reads `github_app`.
extension Reading {
  func githubApp(
    _ section: Section<GitHubAppKeys>, trust: TrustRules, allowUntrusted: Bool
  ) -> CredentialPolicy.Kind? {
    let appID = section.read(\.appID)
    let installation = section.read(\.installationID)
    let key = privateKey(section, \.privateKey, passphrase: \.passphrase).flatMap { isFitForGitHub($0, section) ? $0 : nil }
    let repositories = repositories(section)
    let permissions = permissions(section)
    let scheme = section.read(\.scheme)
    let api = api(section)
    let trustName = section.read(\.trust)
    let isTrusted = checkTrust(
      of: api.map { AskedServer(name: "the API", isHTTPS: $0.isHTTPS, place: $0.place) }, section, \.trust, trustName, trust,
      allowUntrusted: allowUntrusted)
    var isGood = isTrusted
    if let installation, !installation.value.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) {
      error(
        installation.place,
        "\(section.path(\.installationID).shown) must be the number at the end of the installation's address, not "
          + shown(installation.value))
      isGood = false
    }
    guard let appID, let installation, let key, let repositories, let permissions, let api, isGood else { return nil }
    let app = GitHubApp(
      appID: appID.value, installationID: installation.value,
      key: OAuth2Policy.SigningKey(pem: key.pem, passphrase: key.passphrase, algorithm: .rs256), repositories: repositories,
      permissions: permissions, scheme: scheme, api: api.text)
    return .oauth2(OAuth2Policy(source: .githubApp(app), server: api.text, trust: trustName?.value))
  }

  /// GitHub takes RS256 only.
  private func isFitForGitHub(_ draft: KeyDraft, _ section: Section<GitHubAppKeys>) -> Bool {
    if draft.key.jwsAlgorithms.contains(.rs256) { return true }
    error(draft.place, "\(section.path(\.privateKey).shown) must be RSA of 2048 bits or more, as GitHub's keys are")
    return false
  }

  private func repositories(_ section: Section<GitHubAppKeys>) -> [String]? {
    guard let listed = section.read(\.repositories) else { return section.has(\.repositories) ? nil : [] }
    var isGood = listed.isWhole
    if listed.items.isEmpty, listed.isWhole {
      error(listed.place, "\(section.path(\.repositories).shown) is empty")
      isGood = false
    }
    for item in listed.items where item.text.value.contains("/") {
      error(item.text.place, "\(item.path.shown) must be a name without its owner, not \(shown(item.text.value))")
      isGood = false
    }
    return isGood ? listed.items.map(\.text.value) : nil
  }

  private func permissions(_ section: Section<GitHubAppKeys>) -> [GitHubApp.Permission]? {
    guard let named = section.read(\.permissions) else { return section.has(\.permissions) ? nil : [] }
    let permissions = named.compactMap { permission in
      permission.value.map { GitHubApp.Permission(name: permission.name.value, access: $0.rawValue) }
    }
    return permissions.count == named.count ? permissions : nil
  }

  private struct API {
    /// Without a slash at its end.
    var text: String
    var isHTTPS: Bool
    var place: Place
  }

  private func api(_ section: Section<GitHubAppKeys>) -> API? {
    guard let text = section.read(\.api) else {
      return section.has(\.api) ? nil : API(text: GitHubApp.api, isHTTPS: true, place: section.place)
    }
    let path = section.path(\.api)
    guard let url = serverURL(text, path, because: "the proxy sends a signed token there") else { return nil }
    guard !url.target.contains("?") else {
      error(text.place, "\(path.shown) must not have a query")
      return nil
    }
    var address = text.value
    while address.hasSuffix("/") { address.removeLast() }
    return API(text: address, isHTTPS: url.isHTTPS, place: text.place)
  }
}
