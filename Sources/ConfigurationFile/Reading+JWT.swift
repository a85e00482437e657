import Credentials
import Crypto
import JSON
import Settings

/// Reads `credentials.*.jwt`.
extension Reading {
  func jwt(_ section: Section<JWTKeys>) -> CredentialPolicy.Kind? {
    let key = signingKey(section, \.privateKey, passphrase: \.passphrase, secret: \.secret)
    let preset = section.read(\.preset)
    let algorithm = key.flatMap { jwtAlgorithm($0, section, preset) }
    let keyID = section.read(\.keyID)
    let issuer = section.read(\.issuer)
    let subject = section.read(\.subject)
    let audience = section.read(\.audience)
    let more = claims(section)
    let lifetime = section.read(\.lifetime)
    let backdate = section.read(\.backdate)
    let expires = section.read(\.expiration)
    let field = section.read(\.field)
    let format = section.read(\.format)
    let statuses = section.read(\.retryStatuses)
    var isGood = true
    if let field, !canCarryCredential(field, section.path(\.field)) { isGood = false }
    if let format, !isFormat(format, section.path(\.format), placeholder: JWTPolicy.placeholder) { isGood = false }
    if preset == .apns { isGood = checkForApple(section) && isGood }
    if preset != .apns, backdate >= lifetime {
      error(
        section.has(\.backdate) ? section.valuePlace(\.backdate) : section.valuePlace(\.lifetime),
        "\(section.path(\.backdate).shown) must be shorter than 'lifetime', or the JWT has ended before it is sent")
      isGood = false
    }
    guard isGood, let key, let algorithm, let more else { return nil }
    let isApple = preset == .apns
    return .jwt(
      JWTPolicy(
        key: key.jwtKey, algorithm: algorithm, keyID: keyID?.value,
        claims: .init(issuer: issuer?.value, subject: subject?.value, audience: audience?.value, more: more), preset: preset,
        lifetime: lifetime, backdate: backdate, expires: isApple ? false : expires, field: field?.value ?? "Authorization",
        format: format?.value ?? "Bearer {jwt}", retryStatuses: isApple ? [] : statuses))
  }

  private func jwtAlgorithm(
    _ key: SigningKeyDraft, _ section: Section<JWTKeys>, _ preset: JWTPolicy.Preset?
  ) -> JWTPolicy.Algorithm? {
    let possible: [JWTPolicy.Algorithm]
    switch key {
    case .privateKey(let draft): possible = JWTPolicy.Algorithm.of(draft.key)
    case .secret(let secret):
      possible = [.hs256, .hs384, .hs512]
      // RFC 7518 section 3.2.
      if secret.value.bytes.count < JWTPolicy.shortestSecret {
        error(secret.place, "\(section.path(\.secret).shown) must have at least \(JWTPolicy.shortestSecret) bytes")
        return nil
      }
    }
    let algorithm = self.algorithm(
      section, \.algorithm, key, possible: possible, at: \.privateKey, mayBe: Self.fitKeys)
    guard preset == .apns, let algorithm, algorithm != .es256 else { return algorithm }
    let place = if case .privateKey(let draft) = key { draft.place } else { section.keyPlace(\.secret) }
    error(place, "\(section.path.shown) needs a private key of EC over P-256 with preset apns")
    return nil
  }

  /// What the preset says itself.
  private func checkForApple(_ section: Section<JWTKeys>) -> Bool {
    let hasKeyID = section.require(\.keyID, because: "with preset apns")
    let hasIssuer = section.require(\.issuer, because: "with preset apns")
    let own: [(JWTKeys) -> DescribedKey] = [\.lifetime, \.expiration, \.retryStatuses]
    section.refuse(own, because: "cannot be used with preset apns, which says it")
    guard section.read(\.backdate) <= 300_000 else {
      error(
        section.valuePlace(\.backdate),
        "\(section.path(\.backdate).shown) must be at most 5m with preset apns: Apple refuses JWTs whose iat is an hour old")
      return false
    }
    return hasKeyID && hasIssuer && !own.contains(where: section.has)
  }

  private static let ownClaims = ["iss": "issuer", "sub": "subject", "aud": "audience", "iat": "backdate", "exp": "lifetime"]

  /// In the order of the file; nil after an error.
  private func claims(_ section: Section<JWTKeys>) -> [(name: String, json: String)]? {
    switch section.read(\.claims) {
    case nil: return section.has(\.claims) ? nil : []
    case .json(let text)?: return jsonClaims(text, section.path(\.claims))
    case .members(let members)?:
      var claims: [(name: String, json: String)] = []
      var isGood = true
      for member in members {
        isGood = isOther(member.name.value, member.name.place, member.path.shown) && isGood
        guard let values = member.values else {
          isGood = false
          continue
        }
        let texts = values.map { JSONValue.string($0.text.value) }
        let json = member.isList ? JSONValue.array(texts) : texts.first ?? .array([])
        claims.append((member.name.value, String(decoding: json.text, as: UTF8.self)))
      }
      return isGood ? claims : nil
    }
  }

  private func jsonClaims(_ text: Located<String>, _ path: KeyPath) -> [(name: String, json: String)]? {
    let value: JSONValue
    do throws(JSONError) { value = try JSONParser.parse(Array(text.value.utf8)) } catch {
      self.error(text.place, "\(path.shown) is no JSON object: \(error.reason.rawValue), at byte \(error.offset)")
      return nil
    }
    guard case .object(let members) = value else {
      error(text.place, "\(path.shown) must be a JSON object")
      return nil
    }
    var isGood = true
    for member in members { isGood = isOther(member.name, text.place, "\(path.shown).\(member.name)") && isGood }
    return isGood ? members.map { ($0.name, String(decoding: $0.value.text, as: UTF8.self)) } : nil
  }

  /// Whether it is none of those that the proxy writes itself.
  private func isOther(_ name: String, _ place: Place, _ path: String) -> Bool {
    guard let key = Self.ownClaims[name] else { return true }
    error(place, "\(path) is a claim that the proxy writes itself; see '\(key)'")
    return false
  }
}

extension Reading.SigningKeyDraft {
  fileprivate var jwtKey: JWTPolicy.Key {
    switch self {
    case .privateKey(let draft): .privateKey(draft.pem, passphrase: draft.passphrase)
    case .secret(let secret): .secret(secret.value)
    }
  }
}
