import Credentials
import Crypto
import Settings
import TLS

/// Reads certificates that the proxy presents as a client, and how its keys sign.
extension Reading {
  struct ClientCertificateDraft {
    var files: CertificateFiles
    /// SHA-256 of the leaf.
    var thumbprint: [UInt8]
  }

  /// nil after an error.
  func clientCertificate(_ section: Section<ClientCertificateKeys>) -> ClientCertificateDraft? {
    let file = section.read(\.certificate)
    let key = privateKey(section, \.key, passphrase: \.passphrase)
    guard let file, let found = certificates(file, section.path(\.certificate)), let key else { return nil }
    if let leaf = try? Certificate(der: found[0]), leaf.publicKeyInfo != key.key.publicKeyInfo {
      error(key.place, "\(section.path(\.key).shown) does not belong to the first certificate of \(file.value)")
      return nil
    }
    return ClientCertificateDraft(
      files: CertificateFiles(
        certificates: found.flatMap { PEM.encode($0, label: "CERTIFICATE") }, key: key.pem, passphrase: key.passphrase),
      thumbprint: SHA256.digest(found[0]))
  }

  /// What the client presents to its authorization server.
  /// - Returns: nil after an error; `.some(nil)`: there is none.
  func clientCertificate(_ section: Section<OAuth2Keys>) -> OAuth2Policy.ClientCertificate?? {
    let bindsTokens = section.read(\.proof.certificateBound)
    guard let written = section.read(\.proof.clientCertificate) else {
      return section.has(\.proof.clientCertificate) || bindsTokens ? nil : .some(nil)
    }
    let draft = clientCertificate(written)
    let isVisible = isVisible(section)
    guard let draft, isVisible else { return nil }
    return OAuth2Policy.ClientCertificate(files: draft.files, thumbprint: draft.thumbprint, bindsTokens: bindsTokens)
  }

  /// Whether every endpoint that the configuration names can see a certificate. Reports those that cannot.
  private func isVisible(_ section: Section<OAuth2Keys>) -> Bool {
    let keys: [(OAuth2Keys) -> Key<Located<String>?>] = [
      \.tokenURL, \.issuer, \.login.deviceAuthorizationURL, \.login.revocationURL,
    ]
    var isVisible = true
    for key in keys {
      guard let text = section.read(key), let url = try? URLText(parsing: text.value), !url.isHTTPS else { continue }
      isVisible = false
      // Elsewhere http has an error already.
      if url.isLoopback {
        error(text.place, "\(section.path(key).shown) must be https: 'client_certificate' cannot be presented over http")
      }
    }
    return isVisible
  }

  /// What certificates require of the other keys.
  func checkProof(_ section: Section<OAuth2Keys>) {
    // Without a certificate, the client's authentication has an error already.
    if section.read(\.proof.certificateBound), section.read(\.clientAuth)?.isByCertificate != true {
      section.require(\.proof.clientCertificate, because: "for 'certificate_bound: true'")
    }
  }

  /// RFC 7518 section 3.1, RFC 8037. Reports a key that cannot sign at all, or not so.
  func isFitForJWT(_ draft: KeyDraft, _ section: Section<OAuth2Keys>) -> Bool {
    let possible = draft.key.jwsAlgorithms.filter(ProofKeys.signingAlgorithms.contains)
    guard !possible.isEmpty else {
      error(
        draft.place,
        "\(section.path(\.privateKey).shown) must be RSA of 2048 bits or more, EC over P-256 or P-384, or Ed25519")
      return false
    }
    guard let wanted = section.read(\.proof.signingAlgorithm), !possible.contains(wanted) else { return true }
    error(
      section.valuePlace(\.proof.signingAlgorithm),
      "\(section.path(\.proof.signingAlgorithm).shown) \(wanted.rawValue) does not fit the private key, which signs "
        + listed(possible.map(\.rawValue), "or"))
    return false
  }

  /// RFC 7518 section 3.2.
  func isFitForHMAC(_ secret: Located<Secret>, _ section: Section<OAuth2Keys>) -> Bool {
    guard secret.value.bytes.count < OAuth2Policy.shortestSigningSecret else { return true }
    error(
      secret.place,
      "\(section.path(\.clientSecret).shown) must have at least \(OAuth2Policy.shortestSigningSecret) bytes for client_auth "
        + "client_secret_jwt")
    return false
  }
}
