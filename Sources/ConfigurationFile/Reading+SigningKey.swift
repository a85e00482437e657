import Credentials
import Crypto
import Settings

/// Reads what signs: a private key, or a secret that both sides have.
extension Reading {
  enum SigningKeyDraft {
    case privateKey(KeyDraft)
    case secret(Located<Secret>)
  }

  /// Exactly one of the two; nil after an error.
  func signingKey<Keys: KeySet>(
    _ section: Section<Keys>, _ privateKey: (Keys) -> Key<Located<Secret>?>,
    passphrase: @escaping (Keys) -> Key<Located<Secret>?>, secret: (Keys) -> Key<Located<Secret>?>
  ) -> SigningKeyDraft? {
    let key = self.privateKey(section, privateKey, passphrase: passphrase)
    let shared = section.read(secret)
    switch (section.has(privateKey), section.has(secret)) {
    case (true, true):
      error(
        section.keyPlace(secret), "\(section.path.shown) has both 'private_key' and 'secret'; give only one of them")
      return nil
    case (true, false): return key.map { .privateKey($0) }
    case (false, true):
      section.refuse([passphrase], because: "belongs to 'private_key', which is missing")
      return shared.map { .secret($0) }
    case (false, false):
      if !section.isMisspelt(privateKey) && !section.isMisspelt(secret) {
        error(section.place, "\(section.path.shown) needs 'private_key' or 'secret'")
      }
      return nil
    }
  }

  /// The algorithm that is used, out of those that the key can sign with, the default first; nil after an error.
  /// - Parameter mayBe: what keys may be, for an error.
  func algorithm<Keys: KeySet, Algorithm: RawRepresentable<String> & Equatable>(
    _ section: Section<Keys>, _ key: (Keys) -> Key<Algorithm?>, _ draft: SigningKeyDraft,
    possible: [Algorithm], at privateKey: (Keys) -> DescribedKey, mayBe: String
  ) -> Algorithm? {
    guard let standard = possible.first else {
      if case .privateKey(let draft) = draft { error(draft.place, "\(section.path(privateKey).shown) must be \(mayBe)") }
      return nil
    }
    guard let wanted = section.read(key) else { return section.has(key) ? nil : standard }
    if possible.contains(wanted) { return wanted }
    let subject = if case .secret = draft { "a secret" } else { "the private key" }
    error(
      section.valuePlace(key),
      "\(section.path(key).shown) \(wanted.rawValue) does not fit \(subject), which signs "
        + listed(possible.map(\.rawValue), "or"))
    return nil
  }

  static let fitKeys = "RSA of 2048 bits or more, EC over P-256 or P-384, or Ed25519"
}
