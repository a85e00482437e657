import Credentials
import Settings

/// Reads `credentials.*.hmac`.
extension Reading {
  func hmac(_ section: Section<HMACKeys>) -> CredentialPolicy.Kind? {
    let key = section.read(\.key)
    let encoding = section.read(\.keyEncoding)
    let algorithm = section.read(\.algorithm)
    let message = section.read(\.message)
    let output = section.read(\.output)
    let timestamp = section.read(\.timestamp)
    let values = hmacValues(section)
    let fields = section.read(\.fields)
    var decoded: Secret?
    if let key {
      decoded = encoding.decode(key.value)
      if decoded == nil { error(key.place, "\(section.path(\.key).shown) is not \(encoding.rawValue)") }
    }
    guard let values else { return nil }
    let own = (fields ?? []).map { $0.name.value.lowercased() }
    let names = values.map(\.name)
    let template = message.flatMap { self.template($0, section.path(\.message), names, own, isField: false) }
    let signed = fields.flatMap { signedFields($0, section, names) }
    guard let decoded, let template, let signed else { return nil }
    let policy = HMACPolicy(
      key: decoded, keyEncoding: encoding, algorithm: algorithm, message: template, output: output, timestamp: timestamp,
      values: values, fields: signed)
    if let name = policy.unwritableValue {
      error(
        section.valuePlace(\.values),
        "\(section.path(\.values).key(name).shown) contains a character that field values cannot have, possibly a line break")
      return nil
    }
    return .hmac(policy)
  }

  /// nil after an error.
  private func hmacValues(_ section: Section<HMACKeys>) -> [HMACPolicy.Value]? {
    guard let written = section.read(\.values) else { return section.has(\.values) ? nil : [] }
    var values: [HMACPolicy.Value] = []
    var isGood = true
    for entry in written {
      let name = entry.name
      if MessageTemplate.names.contains(name.value) || !FieldText.isToken(name.value) {
        error(
          name.place,
          "\(entry.path.shown) "
            + (FieldText.isToken(name.value) ? "is a placeholder of every request" : "is no placeholder's name"))
        isGood = false
      }
      guard let value = entry.value else {
        isGood = false
        continue
      }
      values.append(HMACPolicy.Value(name: name.value, value: value.value))
    }
    return isGood ? values : nil
  }

  private func signedFields(
    _ written: [Named<Located<String>>], _ section: Section<HMACKeys>, _ names: [String]
  ) -> [HMACPolicy.SignedField]? {
    let own = written.map { $0.name.value.lowercased() }
    var fields: [HMACPolicy.SignedField] = []
    var isGood = true
    for (index, field) in written.enumerated() {
      if !canCarryCredential(field.name, field.path) { isGood = false }
      if own[..<index].contains(own[index]) {
        error(field.name.place, "\(field.path.shown) is written twice: field names ignore case")
        isGood = false
      }
      guard let text = field.value, let value = template(text, field.path, names, own, isField: true) else {
        isGood = false
        continue
      }
      fields.append(HMACPolicy.SignedField(name: field.name.value, value: value))
    }
    guard isGood else { return nil }
    guard fields.contains(where: { $0.value.pieces.contains(.signature) }) else {
      error(section.keyPlace(\.fields), "\(section.path(\.fields).shown): no field has {signature}")
      return nil
    }
    return fields
  }

  /// - Parameters:
  ///   - names: of the credential's own placeholders.
  ///   - own: the fields that it writes, in lower case.
  ///   - isField: it becomes a field's value.
  private func template(
    _ text: Located<String>, _ path: KeyPath, _ names: [String], _ own: [String], isField: Bool
  ) -> MessageTemplate? {
    // The text is not shown: people write secrets into it.
    if isField, !FieldText.isFieldValue(Array(text.value.utf8)) {
      error(text.place, "\(path.shown) contains a character that field values cannot have, or begins or ends with a space")
      return nil
    }
    let template: MessageTemplate
    do throws(MessageTemplate.Problem) { template = try MessageTemplate(text.value, values: names) } catch {
      switch error {
      case .unknown(let name):
        self.error(
          text.place,
          "\(path.shown): nothing fills the placeholder {\(shownName(name))}"
            + suggestion(for: name, among: MessageTemplate.names + names))
      case .loneBrace: self.error(text.place, "\(path.shown) has a brace alone; {{ and }} stand for braces")
      }
      return nil
    }
    return check(template, text.place, path, own, isField: isField) ? template : nil
  }

  private func check(
    _ template: MessageTemplate, _ place: Place, _ path: KeyPath, _ own: [String], isField: Bool
  ) -> Bool {
    for piece in template.pieces {
      switch piece {
      case .signature where !isField:
        error(place, "\(path.shown): the message cannot have {signature}, which is made from it")
        return false
      case .body where isField:
        error(place, "\(path.shown): a field cannot have {body}; it can have {body_sha256}")
        return false
      case .field(let bytes):
        let name = String(decoding: bytes, as: UTF8.self)
        if !FieldText.isToken(name) || FieldText.ofOneHop.contains(name) || own.contains(name) {
          let why =
            own.contains(name)
            ? "is a field that the credential writes; use the placeholders that it is made of"
            : FieldText.isToken(name) ? "belongs to one connection, or changes on the way" : "is no field name"
          error(place, "\(path.shown): \(shown(name)) \(why)")
          return false
        }
      default: break
      }
    }
    return true
  }

  /// A placeholder's name in an error: what is long may be something else, even a secret.
  func shownName(_ name: String) -> String {
    name.utf8.count <= 32 && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f } ? name : "..."
  }
}
