import Credentials
import Settings
import TLS

extension Reading {
  /// A credential as far as it could be read: what the upstreams' checks need is known of a wrong one, too.
  struct CredentialDraft {
    var place: Place
    var policy: CredentialPolicy?
    var allowPlaintext: Bool
    var allowUntrusted: Bool
  }

  func credentials(_ root: Section, trust: TrustRules, tokenStore: TokenStoreSettings) -> [String: CredentialDraft] {
    guard let section = root.section("credentials") else { return [:] }
    var drafts: [String: CredentialDraft] = [:]
    for (name, place, node) in section.named() {
      let path = section.path.named(name)
      _ = checkName(Located(value: name, place: place), path)
      guard let entry = self.section(node, path, place: place) else {
        drafts[name] = CredentialDraft(place: place, policy: nil, allowPlaintext: true, allowUntrusted: true)
        continue
      }
      drafts[name] = credential(name, entry, trust: trust, tokenStore: tokenStore)
    }
    return drafts
  }

  private static let kindsOfCredential = ["basic", "bearer", "header", "oauth2"]

  private func credential(_ name: String, _ entry: Section, trust: TrustRules, tokenStore: TokenStoreSettings)
    -> CredentialDraft
  {
    let basic = entry.section("basic")
    let bearer = entry.section("bearer")
    let header = entry.section("header")
    let oauth2 = entry.section("oauth2")
    let allowPlaintext = entry.bool("allow_plaintext", default: false)
    let allowUntrusted = entry.bool("allow_untrusted", default: false)
    entry.finish()
    var draft = CredentialDraft(place: entry.place, policy: nil, allowPlaintext: allowPlaintext, allowUntrusted: allowUntrusted)
    guard Reading.kindsOfCredential.filter(entry.has).count == 1 else {
      if !entry.isMisspelt(Reading.kindsOfCredential) {
        error(entry.place, "\(entry.path.shown) must hold one of 'basic', 'bearer', 'header' and 'oauth2'")
      }
      return draft
    }
    let kind =
      basic.flatMap(self.basic) ?? bearer.flatMap(self.bearer) ?? header.flatMap(self.header)
      ?? oauth2.flatMap { self.oauth2($0, trust: trust, allowUntrusted: allowUntrusted, tokenStore: tokenStore) }.map {
        .oauth2($0)
      }
    draft.policy = kind.map {
      CredentialPolicy(name: name, kind: $0, allowPlaintext: allowPlaintext, allowUntrusted: allowUntrusted)
    }
    return draft
  }

  private func basic(_ section: Section) -> CredentialPolicy.Kind? {
    section.require("username")
    section.require("password")
    let username = section.text("username")
    let password = section.secret("password")
    section.finish()
    guard let username, let password else { return nil }
    // RFC 7617 section 2: the first colon ends the user-id.
    guard FieldText.hasNoControls(username.value.utf8), !username.value.utf8.contains(UInt8(ascii: ":")) else {
      error(username.place, "\(section.path.key("username").shown) must not hold a ':' or a control character")
      return nil
    }
    guard FieldText.hasNoControls(password.value.bytes) else {
      error(password.place, "\(section.path.key("password").shown) holds a control character, maybe a line end")
      return nil
    }
    return .basic(username: username.value, password: password.value)
  }

  private func bearer(_ section: Section) -> CredentialPolicy.Kind? {
    section.require("token")
    let token = section.secret("token")
    section.finish()
    guard let token else { return nil }
    guard TokenResponse.isAccessToken(token.value.bytes) else {
      error(
        token.place,
        "\(section.path.key("token").shown) holds a character that no access token has: not visible ASCII (RFC 6749 appendix A.12)"
      )
      return nil
    }
    return .bearer(token: token.value)
  }

  private func header(_ section: Section) -> CredentialPolicy.Kind? {
    section.require("name")
    section.require("value")
    let name = section.text("name")
    let value = section.secret("value")
    let format = section.text("format")
    section.finish()
    guard let name, let value, format != nil || !section.has("format") else { return nil }
    guard FieldText.isToken(name.value) else {
      error(name.place, "\(section.path.key("name").shown) must be the name of a field, not \(shown(name.value))")
      return nil
    }
    guard !FieldText.reserved.contains(name.value.lowercased()) else {
      error(
        name.place,
        "\(section.path.key("name").shown): \(shown(name.value)) belongs to the connection and cannot carry a credential")
      return nil
    }
    guard FieldText.isFieldValue(value.value.bytes) else {
      error(value.place, "\(section.path.key("value").shown) holds a character that no field value has, maybe a line end")
      return nil
    }
    guard let format else { return .header(name: name.value, value: value.value, format: "{value}") }
    // Not shown: people write secrets into it.
    let path = section.path.key("format").shown
    guard format.value.occurrences(of: "{value}") == 1 else {
      error(format.place, "\(path) must hold {value} once")
      return nil
    }
    guard FieldText.isFieldValue(Array(format.value.utf8)) else {
      error(format.place, "\(path) holds a character that no field value has, or a space at an end")
      return nil
    }
    return .header(name: name.value, value: value.value, format: format.value)
  }

  func tokenStore(_ root: Section) -> TokenStoreSettings {
    guard let node = root.node("token_store") else { return .memory }
    let path = root.path.key("token_store")
    if case .scalar(let text, _) = node.content {
      if text != "memory" { error(node.place, "token_store must be memory or {file: ...}, not \(shown(text))") }
      return .memory
    }
    guard let section = section(node, path, place: root.keyPlace("token_store")) else { return .memory }
    section.require("file")
    let file = section.filePath("file")
    let key = section.secret("key")
    section.finish()
    guard let file else { return .memory }
    guard let key else { return .file(path: file.value, key: nil) }
    guard let bytes = Base64.decode(key.value.bytes), bytes.count == 32 else {
      error(key.place, "token_store.key must be 32 bytes in base64 (openssl rand -base64 32)")
      return .file(path: file.value, key: nil)
    }
    return .file(path: file.value, key: Secret(bytes))
  }
}

extension String {
  /// How often a text stands in this one, without overlaps.
  fileprivate func occurrences(of text: String) -> Int {
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
