import Crypto
import Settings
import TLS

/// `listen[].tls`, read: what its handshakes have in common. Immutable, shared by all loops.
final class ListenerIdentity: Sendable {
  let settings: ListenerTLS
  /// nil: a leaf of an authority of `intercept`.
  let identity: TLSIdentity?
  /// For certificates of clients; nil: not asked for.
  let anchors: AnchorStore?
  let authorities: [Certificate]
  /// Fingerprints of the anchors.
  let anchorPrints: Set<[UInt8]>
  /// Of what its clients are shown and asked for: contexts are kept and tickets are bound by it.
  let digest: [UInt8]

  init(_ settings: ListenerTLS) throws(OpenSSLError) {
    self.settings = settings
    if case .files(let files) = settings.identity {
      identity = try TLSIdentity(
        certificatesPEM: files.certificates, keyPEM: files.key.bytes, passphrase: files.passphrase?.bytes)
    } else {
      identity = nil
    }
    var authorities: [Certificate] = []
    for der in settings.clientCertificates?.anchors ?? [] { authorities.append(try Certificate(der: der)) }
    self.authorities = authorities
    anchorPrints = Set(authorities.map(\.fingerprint))
    if let clients = settings.clientCertificates {
      anchors = try AnchorStore.certificates(clients.anchors)
    } else {
      anchors = nil
    }
    digest = SHA256.digest(parts: [
      identity?.digest ?? [], Array(settings.names.joined(separator: ",").utf8), anchors?.digest ?? [],
      [settings.clientCertificates?.isRequired == true ? 1 : 0], Array("\(settings.minimumVersion)".utf8),
    ])
  }

  var hosts: [PeerName] { settings.names.map { PeerName($0) } }
}
