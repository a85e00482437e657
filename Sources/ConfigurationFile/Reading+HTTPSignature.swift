import Credentials
import Crypto
import Settings

/// Reads `credentials.*.http_signature`.
extension Reading {
  func httpSignature(_ section: Section<HTTPSignatureKeys>) -> CredentialPolicy.Kind? {
    let keyID = section.read(\.keyID)
    let key = signingKey(section, \.privateKey, passphrase: \.passphrase, secret: \.secret)
    let algorithm = key.flatMap { key -> HTTPSignaturePolicy.Algorithm? in
      var possible: [HTTPSignaturePolicy.Algorithm] = [.hmac]
      if case .privateKey(let draft) = key { possible = HTTPSignaturePolicy.Algorithm.of(draft.key) }
      return self.algorithm(section, \.algorithm, key, possible: possible, at: \.privateKey, mayBe: Self.fitKeys)
    }
    let components = components(section)
    let digest = section.read(\.contentDigest)
    let expires = section.read(\.expires)
    let tag = section.read(\.tag)
    let nonce = section.read(\.nonce)
    let label = section.read(\.label)
    var isGood = true
    for (text, path) in [(keyID, section.path(\.keyID)), (tag, section.path(\.tag))] {
      guard let text, !text.value.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }) else { continue }
      // RFC 9651 section 3.3.3.
      error(text.place, "\(path.shown) must be ASCII without controls, as a string of a structured field is")
      isGood = false
    }
    if let label, !Self.isStructuredKey(label.value) {
      error(
        label.place,
        "\(section.path(\.label).shown) must begin with a lower-case letter, and go on with these, digits and _-.*, not "
          + shown(label.value))
      isGood = false
    }
    guard isGood, let keyID, let key, let algorithm, let components else { return nil }
    let signing: HTTPSignaturePolicy.Key =
      switch key {
      case .privateKey(let draft): .privateKey(draft.pem, passphrase: draft.passphrase)
      case .secret(let secret): .secret(secret.value)
      }
    return .httpSignature(
      HTTPSignaturePolicy(
        keyID: keyID.value, key: signing, algorithm: algorithm, components: components, contentDigest: digest,
        lifetime: expires, tag: tag?.value, sendsNonce: nonce, label: label?.value ?? "sig1"))
  }

  /// RFC 9651 section 3.1.2.
  private static func isStructuredKey(_ text: String) -> Bool {
    guard let first = text.utf8.first, (0x61...0x7a).contains(first) || first == UInt8(ascii: "*") else { return false }
    return text.utf8.allSatisfy { (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) || "_-.*".utf8.contains($0) }
  }

  /// In lower case; nil after an error.
  private func components(_ section: Section<HTTPSignatureKeys>) -> [String]? {
    guard let written = section.read(\.components) else {
      return section.has(\.components) ? nil : HTTPSignaturePolicy.defaultComponents
    }
    var components: [String] = []
    var isGood = true
    for item in written {
      let (name, place, path) = (item.text.value.lowercased(), item.text.place, item.path.shown)
      if components.contains(name) {
        error(place, "\(path): \(shown(name)) is there twice")
      } else if name.hasPrefix("@"), !HTTPSignaturePolicy.derivedComponents.contains(name) {
        error(place, "\(path) \(notAmong(name, HTTPSignaturePolicy.derivedComponents)), or a field's name")
      } else if !name.hasPrefix("@"), !FieldText.isToken(name) {
        error(place, "\(path) must be a derived component or a field's name, not \(shown(name))")
      } else if FieldText.ofOneHop.contains(name) || ["signature", "signature-input"].contains(name) {
        error(place, "\(path): \(shown(name)) belongs to one connection, or changes on the way, and cannot be signed")
      } else {
        components.append(name)
        continue
      }
      isGood = false
    }
    if written.isEmpty, isGood {
      error(
        section.valuePlace(\.components), "\(section.path(\.components).shown) is empty: the signature would fit any request")
      return nil
    }
    // Items that are no text are reported, and left out.
    return isGood && !written.isEmpty ? components : nil
  }
}
