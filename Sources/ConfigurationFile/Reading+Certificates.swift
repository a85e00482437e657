import Credentials
import Crypto
import Settings
import TLS

extension Reading {
  /// The certificates of a PEM or DER file, DER each; nil after an error, which is reported.
  /// - Parameter tellsDates: warns of what has ended, ends soon or has not begun.
  func certificates(_ file: Located<String>, _ path: KeyPath, tellsDates: Bool = true) -> [[UInt8]]? {
    guard let found = objects(file, path, labels: ["CERTIFICATE", "X509 CERTIFICATE"], named: "certificate") else { return nil }
    for der in found {
      guard let certificate = try? Certificate(der: der) else {
        error(file.place, "\(path.shown): \(file.value) contains data that is not an X.509 certificate")
        return nil
      }
      if tellsDates { tellDates(certificate, file, path) }
    }
    return found
  }

  /// The CRLs of a PEM or DER file, DER each.
  func revocationLists(_ file: Located<String>, _ path: KeyPath) -> [[UInt8]]? {
    guard let found = objects(file, path, labels: ["X509 CRL"], named: "CRL") else { return nil }
    for der in found {
      guard let list = try? CertificateList(der: der) else {
        error(file.place, "\(path.shown): \(file.value) contains data that is not a CRL")
        return nil
      }
      if let end = list.nextUpdate, end < now {
        warning(
          file.place, "\(path.shown): \(file.value) has been out of date since \(UTCDate.text(end)); the proxy ignores it")
      }
    }
    return found
  }

  private func objects(_ file: Located<String>, _ path: KeyPath, labels: [String], named name: String) -> [[UInt8]]? {
    switch self.file(file.value) {
    case .failure(let problem):
      error(file.place, "\(path.shown): \(file.value): \(problem)")
      return nil
    case .success(let content):
      guard PEM.isPEM(content.bytes) else {
        if content.bytes.first == 0x30 { return [content.bytes] }
        error(file.place, "\(path.shown): \(file.value) contains no \(name) in PEM or DER form")
        return nil
      }
      do throws(PEM.Malformed) {
        let found = try PEM.blocks(content.bytes).filter { labels.contains($0.label) && !$0.isEncrypted }.map(\.der)
        if found.isEmpty { error(file.place, "\(path.shown): \(file.value) contains no \(name)") }
        return found.isEmpty ? nil : found
      } catch let malformed {
        error(file.place, "\(path.shown): \(file.value) contains \(malformed.message)")
        return nil
      }
    }
  }

  /// `check` warns this many days before a certificate expires.
  private static let notice: Int64 = 30

  func tellDates(_ certificate: Certificate, _ file: Located<String>, _ path: KeyPath) {
    let subject = "\(path.shown): \(file.value), \(shown(certificate.subject)),"
    let left = (certificate.notAfter - now) / 86_400
    if certificate.notAfter < now {
      warning(file.place, "\(subject) expired on \(UTCDate.text(certificate.notAfter))")
    } else if certificate.notBefore > now {
      warning(file.place, "\(subject) is not valid before \(UTCDate.text(certificate.notBefore))")
    } else if left < Reading.notice {
      warning(file.place, "\(subject) expires in \(left) days, on \(UTCDate.text(certificate.notAfter))")
    }
  }

  struct KeyDraft {
    var pem: Secret
    var passphrase: Secret?
    var place: Place
    var key: PrivateKey
  }

  /// A PEM key and, if it is encrypted, its passphrase.
  func privateKey<Keys: KeySet>(
    _ section: Section<Keys>, _ key: (Keys) -> Key<Located<Secret>?>,
    passphrase passphraseKey: (Keys) -> Key<Located<Secret>?>
  ) -> KeyDraft? {
    let pem = section.read(key)
    let passphrase = section.read(passphraseKey)
    guard let pem else { return nil }
    let path = section.path(key).shown
    guard let block = try? PEM.blocks(pem.value.bytes).first(where: { $0.label.hasSuffix("PRIVATE KEY") }) else {
      error(pem.place, "\(path) contains no private key in PEM form")
      return nil
    }
    let isEncrypted = block.isEncrypted || block.label == "ENCRYPTED PRIVATE KEY"
    if isEncrypted && !section.has(passphraseKey) {
      error(pem.place, "\(path) is encrypted and needs 'passphrase'")
      return nil
    }
    if isEncrypted && passphrase == nil { return nil }
    if !isEncrypted && section.has(passphraseKey) {
      warning(section.keyPlace(passphraseKey), "\(section.path(passphraseKey).shown) has no effect: the key is not encrypted")
    }
    do throws(OpenSSLError) {
      let opened = try PrivateKey(pem: pem.value.bytes, passphrase: passphrase?.value.bytes)
      return KeyDraft(pem: pem.value, passphrase: passphrase?.value, place: pem.place, key: opened)
    } catch {
      // Without OpenSSL's text: only two causes are possible, and the text could show part of the key.
      self.error(
        pem.place, "\(path) \(isEncrypted ? "cannot be decrypted with this 'passphrase'" : "is not a readable private key")")
      return nil
    }
  }
}
