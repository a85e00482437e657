import Crypto
import Synchronization
import TLS

/// One `revocation` evaluator, with its local lists parsed.
final class RevocationRule: Sendable {
  let name: String
  let settings: TrustPolicy.Revocation
  private let lists: [CertificateList]
  /// Whether a list belongs to an issuer (index of the list, fingerprint of the issuer), so that large lists are hashed only
  /// once.
  private let verified = Mutex<[Pair: Bool]>([:])

  private struct Pair: Hashable {
    var list: Int
    var issuer: [UInt8]
  }

  init(name: String, _ settings: TrustPolicy.Revocation) throws(OpenSSLError) {
    self.name = name
    self.settings = settings
    var lists: [CertificateList] = []
    for bytes in settings.lists { lists += try CertificateList.parse(bytes) }
    self.lists = lists
  }

  /// What the local lists say; nil if none covers the certificate. A list that revokes it wins.
  func localStatus(of certificate: Certificate, issuer: Certificate, now: Int64) -> RevocationStatus? {
    var best: RevocationStatus?
    for (index, list) in lists.enumerated() where list.names(issuer: issuer) && isVerified(index, issuer) {
      switch list.status(of: certificate, issuer: issuer, now: now, signatureIsVerified: true) {
      case .revoked(let at): return .revoked(at: at)
      case .good(let until):
        let held = max(until, now + RevocationCache.shortestLifetime)
        if case .good(let known) = best, known >= held { continue }
        best = .good(until: held)
      case .unusable: continue
      }
    }
    return best
  }

  private func isVerified(_ index: Int, _ issuer: Certificate) -> Bool {
    let pair = Pair(list: index, issuer: issuer.fingerprint)
    if let known = verified.withLock({ $0[pair] }) { return known }
    let result = lists[index].flawOfSignature(by: issuer) == nil
    // Issuers of verified chains are few. The bound is for a peer that creates issuers below an anchor of its own.
    verified.withLock { if $0.count < 1024 { $0[pair] = result } }
    return result
  }

  /// The questions about a certificate, in order of preference. At most two pointers of each kind.
  func requests(_ certificate: Certificate, issuer: Certificate, judgesParent: Bool) -> [FetchRequest] {
    settings.methods.flatMap { method -> [FetchRequest] in
      switch method {
      case .ocsp:
        let urls = settings.responder.map { [$0] } ?? certificate.ocspURLs
        return urls.prefix(2).compactMap {
          .ocsp(
            $0, certificate, issuer, timeout: settings.timeout, isConfigured: settings.responder != nil,
            judgesParent: judgesParent)
        }
      case .crl:
        return certificate.revocationListURLs.prefix(2).map {
          .list($0, issuer, timeout: settings.timeout, judgesParent: judgesParent)
        }
      }
    }
  }
}
