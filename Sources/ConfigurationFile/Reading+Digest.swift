import Credentials
import Settings

/// Reads `credentials.*.digest`.
extension Reading {
  func digest(_ section: Section<DigestKeys>) -> CredentialPolicy.Kind? {
    let username = section.read(\.username)
    let password = section.read(\.password)
    let algorithms = algorithms(section)
    guard let username, let password, let algorithms else { return nil }
    let bytes = username.value.utf8
    guard 1...DigestPolicy.maximumUserName ~= bytes.count, FieldText.hasNoControls(bytes) else {
      error(
        username.place,
        "\(section.path(\.username).shown) must have 1 to \(DigestPolicy.maximumUserName) bytes and no control character"
      )
      return nil
    }
    guard FieldText.hasNoControls(password.value.bytes) else {
      error(password.place, "\(section.path(\.password).shown) contains a control character, possibly a line break")
      return nil
    }
    if algorithms.contains(.md5) {
      warning(
        section.has(\.algorithms) ? section.valuePlace(\.algorithms) : section.place,
        "\(section.path.shown) answers to MD5, which is weak; if the server can do better, set algorithms: [SHA-512-256, SHA-256]"
      )
    }
    return .digest(DigestPolicy(username: username.value, password: password.value, algorithms: algorithms))
  }

  /// nil after an error.
  private func algorithms(_ section: Section<DigestKeys>) -> [DigestPolicy.Algorithm]? {
    guard let items = section.read(\.algorithms) else {
      return section.has(\.algorithms) ? nil : DigestPolicy.Algorithm.allCases
    }
    var algorithms: [DigestPolicy.Algorithm] = []
    var isGood = true
    for item in items {
      if let algorithm = DigestPolicy.Algorithm(rawValue: item.text.value), !algorithms.contains(algorithm) {
        algorithms.append(algorithm)
      } else {
        let isTwice = DigestKeys.allAlgorithms.contains(item.text.value)
        let reason = isTwice ? "is already in this list" : notAmong(item.text.value, DigestKeys.allAlgorithms)
        error(item.text.place, "\(item.path.shown) \(reason)")
        isGood = false
      }
    }
    if section.hasEmptyList(\.algorithms) {
      error(section.valuePlace(\.algorithms), "\(section.path(\.algorithms).shown) is empty")
      isGood = false
    }
    return isGood ? algorithms : nil
  }

  /// What an entry whose credential answers challenges cannot be, and what an operator should know of it.
  func checkChallenges(_ settings: UpstreamSettings, _ entry: Section<UpstreamKeys>, _ credential: CredentialDraft?) {
    guard case .digest? = credential?.policy?.kind else { return }
    let name = shown(settings.credential ?? "")
    if settings.clientAuthorization == .keep {
      error(
        entry.valuePlace(\.clientAuthorization),
        "\(entry.path(\.clientAuthorization).shown) cannot be keep: credential \(name) answers the origin's challenges itself")
    }
    if settings.origin.scheme == .http {
      warning(
        entry.valuePlace(\.credential),
        "\(entry.path(\.credential).shown): credential \(name) goes to an http:// origin with Digest: who listens can try passwords "
          + "on what is sent, and change the requests")
    }
  }
}
