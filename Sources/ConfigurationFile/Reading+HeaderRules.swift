import Credentials
import Settings

/// `request_headers` and `response_headers` of an entry.
extension Reading {
  /// - Parameters:
  ///   - key: of the rules.
  ///   - credential: the entry's, whose fields `request_headers` cannot touch.
  func headerRules(
    _ entry: Section<UpstreamKeys>, _ key: (UpstreamKeys) -> Key<Section<HeaderRuleKeys>?>,
    credential: CredentialDraft?
  ) -> HeaderRuleSettings {
    var rules = HeaderRuleSettings()
    guard let section = entry.read(key) else { return rules }
    let isRequest = UpstreamKeys.table.name(key) == UpstreamKeys.table.name(\.requestHeaders)
    let policy = isRequest ? credential?.policy : nil
    for item in section.read(\.remove) ?? [] where mayRemove(item, policy) { rules.remove.append(item.text.value) }
    var written: Set<String> = []
    for field in section.read(\.set) ?? [] {
      let isGood = maySet(field.name, field.path, policy, isRequest: isRequest)
      if !written.insert(Self.folded(field.name.value)).inserted {
        error(field.name.place, "\(field.path.shown): the field is already in 'set', in another spelling")
      }
      guard let value = field.value.flatMap({ fieldTemplate($0, field.path) }), isGood else { continue }
      rules.set.append(HeaderRuleSettings.Field(name: field.name.value, value: value))
    }
    return rules
  }

  /// Names are the same in any case, and with `_` for `-`.
  private static func folded(_ name: String) -> String { name.lowercased().replacingUnderscores }

  private func mayRemove(_ item: TextItem, _ credential: CredentialPolicy?) -> Bool {
    let (text, path) = (item.text, item.path)
    let isPrefix = text.value.hasSuffix("*")
    let name = isPrefix ? String(text.value.dropLast()) : text.value
    guard FieldText.isToken(name) || isPrefix && name.isEmpty, !name.contains("*") else {
      error(text.place, "\(path.shown) must be an HTTP field name, which may end in *, not \(shown(text.value))")
      return false
    }
    guard isPrefix else { return isFree(text, path, credential) }
    let beginning = Self.folded(name)
    func covers(_ field: String) -> Bool { Self.folded(field).hasPrefix(beginning) }
    if let own = FieldText.ofOneHop.sorted().first(where: covers) {
      error(
        text.place,
        "\(path.shown): \(shown(text.value)) covers '\(own)', which belongs to the connection; write more of the name")
      return false
    }
    if beginning.hasPrefix("proxy-") {
      error(text.place, "\(path.shown): \(shown(text.value)) belongs to the connection, and the proxy itself writes it")
      return false
    }
    if let credential, let own = credential.fieldNames.first(where: covers) {
      error(text.place, "\(path.shown): \(shown(text.value)) covers '\(own)', which\(Self.writtenBy(credential))")
      return false
    }
    if let credential, let read = credential.readNames.first(where: covers) {
      error(text.place, "\(path.shown): \(shown(text.value)) covers '\(read)', which\(Self.readBy(credential))")
      return false
    }
    return true
  }

  private func maySet(_ name: Located<String>, _ path: KeyPath, _ credential: CredentialPolicy?, isRequest: Bool) -> Bool {
    guard FieldText.isToken(name.value) else {
      error(name.place, "\(path.shown): \(shown(name.value)) is no HTTP field name")
      return false
    }
    guard isFree(name, path, credential) else { return false }
    if isRequest, ["authorization", "cookie"].contains(Self.folded(name.value)) {
      error(
        name.place,
        "\(path.shown): \(shown(name.value)) holds a secret; define it in 'credentials', and name it in the entry's 'credential'"
      )
      return false
    }
    return true
  }

  /// Whether a rule may name this field; false after an error.
  private func isFree(_ name: Located<String>, _ path: KeyPath, _ credential: CredentialPolicy?) -> Bool {
    let folded = Self.folded(name.value)
    if FieldText.ofOneHop.contains(folded) || folded.hasPrefix("proxy-") {
      let hint = folded == "host" ? "; 'origin' and 'host_header' say what is in it" : ""
      error(name.place, "\(path.shown): \(shown(name.value)) belongs to the connection, and the proxy itself writes it\(hint)")
      return false
    }
    if let credential, credential.fieldNames.contains(where: { Self.folded($0) == folded }) {
      error(name.place, "\(path.shown): \(shown(name.value)) is the field that\(Self.writtenBy(credential))")
      return false
    }
    if let credential, credential.readNames.contains(where: { Self.folded($0) == folded }) {
      error(name.place, "\(path.shown): \(shown(name.value)) is a field that\(Self.readBy(credential))")
      return false
    }
    return true
  }

  private static func readBy(_ credential: CredentialPolicy) -> String {
    " credential \(shown(credential.name)) reads: there the app says how its body is signed"
  }

  private static func writtenBy(_ credential: CredentialPolicy) -> String {
    " credential \(shown(credential.name)) writes; 'client_authorization' says what happens to the app's own"
  }

  /// The text is not shown: people write secrets into it.
  private func fieldTemplate(_ text: Located<String>, _ path: KeyPath) -> FieldTemplate? {
    guard FieldText.isFieldValue(Array(text.value.utf8)) else {
      let what =
        text.value.utf8.contains { $0 == 10 || $0 == 13 } ? "a line break" : "a character that field values cannot have"
      error(text.place, "\(path.shown) contains \(what), or begins or ends with a space")
      return nil
    }
    do throws(FieldTemplate.Problem) { return try FieldTemplate(text.value) } catch {
      switch error {
      case .unknown(let name):
        self.error(
          text.place,
          "\(path.shown): nothing fills the placeholder {\(shownName(name))}"
            + suggestion(for: name, among: [FieldTemplate.client]) + "; {{ stands for a brace")
      case .openBrace: self.error(text.place, "\(path.shown): '{' has no '}'; {{ stands for a brace")
      }
      return nil
    }
  }
}

extension CredentialPolicy {
  fileprivate var fieldNames: [String] { Self.text((fieldName.map { [$0] } ?? []) + moreFields) }
  fileprivate var readNames: [String] { Self.text(readFields) }

  private static func text(_ names: [[UInt8]]) -> [String] { names.map { String(decoding: $0, as: UTF8.self) } }
}

extension String {
  fileprivate var replacingUnderscores: String { String(map { $0 == "_" ? "-" : $0 }) }
}
