import Credentials
import Settings

/// Reads `sigv4`, but for where fetched keys come from.
extension Reading {
  func sigV4(_ section: Section<SigV4Keys>, trust: TrustRules, allowUntrusted: Bool) -> CredentialPolicy.Kind? {
    let service = scope(section, \.service, isService: true)
    let region = scope(section, \.region, isService: false)
    let payload = payload(section, service)
    let keys: SigV4Policy.Keys?
    if section.mentions(\.accessKeyID) || section.mentions(\.secretAccessKey) {
      keys = fixedKeys(section, trust: trust, allowUntrusted: allowUntrusted)
    } else {
      section.refuse([\.sessionToken], because: "belongs to 'access_key_id', which is missing")
      keys = awsKeySource(section, trust: trust, allowUntrusted: allowUntrusted)
    }
    guard let service, let region, let payload, let keys else { return nil }
    return .sigv4(
      SigV4Policy(service: service, region: region, payload: payload, keys: keys, defaultRegion: defaultRegion(section)))
  }

  /// nil after an error.
  private func scope(
    _ section: Section<SigV4Keys>, _ key: (SigV4Keys) -> Key<Listed<TextItem>?>, isService: Bool
  ) -> SigV4Policy.Scope? {
    guard section.has(key) else { return .auto }
    guard let listed = section.read(key), listed.isWhole else { return nil }
    let path = section.path(key).shown
    guard !listed.items.isEmpty else {
      error(listed.place, "\(path) is empty")
      return nil
    }
    var isGood = true
    let isAlone = if case .sequence? = section.written(key)?.node.content { false } else { true }
    for item in listed.items {
      let name = item.text.value
      if name == SigV4Keys.automatic, !isAlone {
        error(item.text.place, "\(item.path.shown): '\(name)' cannot be in a list: a list is auto, but only these")
        isGood = false
      } else if !isName(name, isService: isService) {
        let characters = isService ? "lower-case letters, digits, '-' and '.'" : "letters, digits, '-', '_' and '.'"
        error(item.text.place, "\(item.path.shown) must consist of at most 64 \(characters), not \(shown(name))")
        isGood = false
      }
    }
    guard isGood else { return nil }
    let names = listed.items.map(\.text.value)
    if !isAlone { return .oneOf(names) }
    return names[0] == SigV4Keys.automatic ? .auto : .named(names[0])
  }

  /// It goes between slashes in a line that has a form of its own.
  private func isName(_ text: String, isService: Bool) -> Bool {
    guard (1...64).contains(text.utf8.count) else { return false }
    return text.utf8.allSatisfy { byte in
      switch byte {
      case 0x61...0x7a, 0x30...0x39, UInt8(ascii: "-"), UInt8(ascii: "."): true
      case 0x41...0x5a, UInt8(ascii: "_"): !isService
      default: false
      }
    }
  }

  private func payload(_ section: Section<SigV4Keys>, _ service: SigV4Policy.Scope?) -> SigV4Policy.Payload? {
    let payload = section.read(\.payload)
    guard payload == .unsigned else { return payload == .signed ? .signed : .auto }
    let named: [String] =
      switch service {
      case .named(let name)?: [name]
      case .oneOf(let names)?: names
      case .auto?, nil: []
      }
    for name in named where !["s3", "s3-object-lambda", "s3-outposts", "s3express"].contains(name) {
      error(
        section.valuePlace(\.payload),
        "\(section.path(\.payload).shown) unsigned is for s3, not for \(shown(name)): other services need the body's hash")
      return nil
    }
    return .unsigned
  }

  /// Keys that the configuration names, and nobody refreshes.
  private func fixedKeys(_ section: Section<SigV4Keys>, trust: TrustRules, allowUntrusted: Bool) -> SigV4Policy.Keys? {
    let id = section.read(\.accessKeyID)
    let secret = section.read(\.secretAccessKey)
    let token = section.read(\.sessionToken)
    section.require(\.accessKeyID, because: "beside 'secret_access_key'")
    section.require(\.secretAccessKey, because: "beside 'access_key_id'")
    let reason = "cannot be used with static keys ('access_key_id')"
    section.refuse([\.keySource.source, \.keySource.profile], because: reason)
    // They may assume a role.
    if !section.mentions(\.keySource.assumeRole) {
      section.refuse([\.keySource.sts, \.keySource.refreshBeforeExpiry, \.keySource.trust], because: reason)
    }
    var isGood = true
    if let id, id.value.utf8.count > 128 || !id.value.utf8.allSatisfy({ 0x21...0x7e ~= $0 && $0 != UInt8(ascii: ",") }) {
      error(id.place, "\(section.path(\.accessKeyID).shown) must consist of at most 128 visible ASCII characters without ','")
      isGood = false
    }
    if let secret, !FieldText.hasNoControls(secret.value.bytes) {
      error(
        secret.place,
        "\(section.path(\.secretAccessKey).shown) contains a control character, possibly a line break")
      isGood = false
    }
    if let token, !token.value.bytes.allSatisfy({ 0x21...0x7e ~= $0 }) {
      error(token.place, "\(section.path(\.sessionToken).shown) contains a character that is not visible ASCII")
      isGood = false
    }
    guard let id, let secret, isGood, token != nil || !section.has(\.sessionToken) else { return nil }
    if id.value.hasPrefix("AKIA") {
      warning(
        id.place,
        "\(section.path(\.accessKeyID).shown) is a long-term key of a user; temporary keys from 'source' are worth less to a thief"
      )
    }
    let keys = AWSKeys(accessKeyID: id.value, secretAccessKey: secret.value, sessionToken: token?.value)
    guard section.mentions(\.keySource.assumeRole) else { return .fixed(keys) }
    return awsKeySource(section, trust: trust, allowUntrusted: allowUntrusted, fixed: keys)
  }

  private func defaultRegion(_ section: Section<SigV4Keys>) -> String? {
    for name in ["AWS_REGION", "AWS_DEFAULT_REGION"] {
      if let region = environment[name], isName(region, isService: false) { return region }
    }
    return awsProfileRegion(section).flatMap { isName($0, isService: false) ? $0 : nil }
  }
}
