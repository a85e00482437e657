import Credentials
import Settings

extension Reading {
  /// The certificates of a PEM or DER file, DER each; nil where there is an error, which is reported.
  func certificates(_ file: Located<String>, _ path: KeyPath) -> [[UInt8]]? {
    guard let found = objects(file, path, labels: ["CERTIFICATE", "X509 CERTIFICATE"], named: "certificate") else { return nil }
    for der in found {
      guard DER.subjectPublicKeyInfo(der) != nil else {
        error(file.place, "\(path.shown): \(file.value) holds what is no X.509 certificate")
        return nil
      }
      report(inspector.certificate(der), file, path)
    }
    return found
  }

  /// The CRLs of a PEM or DER file, DER each.
  func revocationLists(_ file: Located<String>, _ path: KeyPath) -> [[UInt8]]? {
    guard let found = objects(file, path, labels: ["X509 CRL"], named: "CRL") else { return nil }
    for der in found {
      guard DER.isRevocationList(der) else {
        error(file.place, "\(path.shown): \(file.value) holds what is no CRL")
        return nil
      }
      report(inspector.revocationList(der), file, path)
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
        if content.bytes.first == DER.sequence { return [content.bytes] }
        error(file.place, "\(path.shown): \(file.value) holds no \(name), neither PEM nor DER")
        return nil
      }
      do throws(PEM.Malformed) {
        let found = try PEM.blocks(content.bytes).filter { labels.contains($0.label) && !$0.isEncrypted }.map(\.der)
        if found.isEmpty { error(file.place, "\(path.shown): \(file.value) holds no \(name)") }
        return found.isEmpty ? nil : found
      } catch let malformed {
        error(file.place, "\(path.shown): \(file.value) holds \(malformed.message)")
        return nil
      }
    }
  }

  func report(_ findings: [CertificateInspector.Finding], _ file: Located<String>, _ path: KeyPath) {
    report(findings, file.place, "\(path.shown): \(file.value)")
  }

  func report(_ findings: [CertificateInspector.Finding], _ place: Place, _ subject: String) {
    for finding in findings {
      switch finding.severity {
      case .error: error(place, "\(subject) \(finding.message)")
      case .warning: warning(place, "\(subject) \(finding.message)")
      }
    }
  }

  struct PrivateKey {
    var pem: Secret
    var passphrase: Secret?
    var place: Place
  }

  /// A PEM key and, if it is encrypted, its passphrase.
  func privateKey(_ section: Section, key: String) -> PrivateKey? {
    let pem = section.secret(key)
    let passphrase = section.secret("passphrase")
    guard let pem else { return nil }
    let path = section.path.key(key).shown
    guard let block = try? PEM.blocks(pem.value.bytes).first(where: { $0.label.hasSuffix("PRIVATE KEY") }) else {
      error(pem.place, "\(path) holds no private key in PEM form")
      return nil
    }
    let isEncrypted = block.isEncrypted || block.label == "ENCRYPTED PRIVATE KEY"
    if isEncrypted && !section.has("passphrase") {
      error(pem.place, "\(path) is encrypted and needs 'passphrase'")
      return nil
    }
    if isEncrypted && passphrase == nil { return nil }
    if !isEncrypted && section.has("passphrase") {
      warning(section.keyPlace("passphrase"), "\(section.path.key("passphrase").shown) has no effect: the key is not encrypted")
    }
    let findings = inspector.privateKey(pem.value, passphrase?.value)
    report(findings, pem.place, path)
    if findings.contains(where: { $0.severity == .error }) { return nil }
    return PrivateKey(pem: pem.value, passphrase: passphrase?.value, place: pem.place)
  }
}
