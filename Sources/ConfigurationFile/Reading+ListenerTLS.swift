import Credentials
import Interception
import Settings
import TLS

extension Reading {
  /// `listen[].tls`; nil where it is wrong, which is reported.
  func tls(_ section: Section<ListenerTLSKeys>) -> ListenerTLS? {
    let file = section.read(\.certificate)
    let key = privateKey(section, \.key, passphrase: \.passphrase)
    let names = section.read(\.names)
    let verification = section.read(\.clientCertificates).flatMap(clientVerification)
    let minimum = section.read(\.minVersion)
    guard let identity = identity(section, file, key, names) else { return nil }
    if section.has(\.clientCertificates) && verification == nil { return nil }
    return ListenerTLS(identity: identity, clientCertificates: verification, minimumVersion: minimum)
  }

  private func identity(
    _ section: Section<ListenerTLSKeys>, _ file: Located<String>?, _ key: KeyDraft?, _ names: [TextItem]?
  ) -> ListenerTLS.Identity? {
    if section.mentions(\.names) {
      section.refuse([\.certificate, \.key, \.passphrase], because: "has no meaning beside 'names', for which a CA signs")
      if section.hasEmptyList(\.names) { error(section.valuePlace(\.names), "\(section.path(\.names).shown) is empty") }
      guard let names, !names.isEmpty else { return nil }
      let hosts = names.compactMap(host)
      return hosts.count == names.count ? .leaf(names: hosts) : nil
    }
    if !section.mentions(\.certificate) && !section.mentions(\.key) {
      error(section.place, "\(section.path.shown) needs 'certificate' and 'key', or 'names'")
      return nil
    }
    section.require(\.certificate, because: "beside 'key'")
    section.require(\.key, because: "beside 'certificate'")
    guard let file, let found = certificates(file, section.path(\.certificate)), let key else { return nil }
    if let leaf = try? Certificate(der: found[0]), leaf.publicKeyInfo != key.key.publicKeyInfo {
      error(key.place, "\(section.path(\.key).shown) does not belong to the first certificate of \(file.value)")
      return nil
    }
    return .files(
      CertificateFiles(
        certificates: found.flatMap { PEM.encode($0, label: "CERTIFICATE") }, key: key.pem, passphrase: key.passphrase))
  }

  private func clientVerification(_ section: Section<ClientVerificationKeys>) -> ListenerTLS.ClientCertificates? {
    let file = section.read(\.caFile)
    let isRequired = section.read(\.required)
    guard let file, let anchors = certificates(file, section.path(\.caFile)) else { return nil }
    return ListenerTLS.ClientCertificates(anchors: anchors, isRequired: isRequired)
  }

  /// One leaf has all names of a listener, so one CA must permit them all.
  func checkNames(of listeners: [Listener], _ root: Section<RootKeys>, _ intercept: InterceptDraft?) {
    for listener in listeners {
      guard let names = listener.settings.tls?.names, !names.isEmpty, let place = listener.namesPlace else { continue }
      let path = listener.path.key(ListenerKeys.table.name(\.tls)).key(ListenerTLSKeys.table.name(\.names)).shown
      guard let intercept else {
        if !root.mentions(\.intercept) { error(place, "\(path) needs 'intercept': one of its CAs signs for them") }
        continue
      }
      let signer = intercept.settings.authorities.signer(forAll: names.map { PeerName($0) }, at: now)
      guard intercept.knowsSigners, signer == nil else { continue }
      let permits = names.map { "--permit '\($0)'" }.joined(separator: " ")
      error(
        place,
        "\(path): no CA of intercept.ca may sign for \(listed(names.map(shown), "and")) together: make one with "
          + "authproxy ca create \(permits) --out FOLDER, and add it to intercept.ca")
    }
  }
}
