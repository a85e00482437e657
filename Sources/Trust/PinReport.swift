import Crypto
import Synchronization
import TLS

/// What `authproxy pins` prints: the chain that the server sent, the result of verification, and each certificate's pin, ready
/// to paste.
public enum PinReport {
  /// "Now" is the evidence's time.
  public static func lines(_ evidence: PeerEvidence) -> [String] {
    var lines: [String] = []
    var verified: [Certificate] = []
    switch evidence.chain {
    case .verified(let chain):
      verified = chain
      lines.append("\(evidence.host): the chain is verified")
    case .failed(let failure): lines.append("\(evidence.host): NOT verified: \(failure.reason.rawValue): \(failure.detail)")
    case .notBuilt: lines.append("\(evidence.host): the chain was not verified")
    }
    if !evidence.hostMatches { lines.append("the certificate does NOT name \(evidence.host)") }
    for (index, certificate) in evidence.served.enumerated() {
      let standing =
        if verified.contains(certificate) {
          "verified"
        } else {
          verified.isEmpty ? "not verified" : "served, but not part of the verified chain: a pin on it would fail"
        }
      lines += describe(certificate, index == 0 ? "leaf" : "served \(index)", standing, evidence.now)
    }
    for certificate in verified where !evidence.served.contains(certificate) {
      lines += describe(certificate, "anchor", "verified, not served", evidence.now)
    }
    return lines
  }

  private static func describe(_ certificate: Certificate, _ place: String, _ standing: String, _ now: Int64) -> [String] {
    let seconds = certificate.notAfter - now
    let left =
      seconds < 0 ? "expired \(-seconds / 86_400) days ago" : "\(seconds / 86_400) days left"
    return [
      "",
      "\(place): \(certificate.subject)",
      "  issuer:  \(certificate.issuer)",
      "  expires: \(UTCTime.text(certificate.notAfter)) (\(left))",
      "  \(standing)",
      "  - \"\(pin(certificate))\"",
    ]
  }

  /// `sha256/` and base64, as in `pinned_public_keys`.
  public static func pin(_ certificate: Certificate) -> String {
    "sha256/" + String(decoding: Base64.encode(certificate.publicKeyDigest), as: UTF8.self)
  }

  /// Accepts every peer and keeps the evidence, for the report's one connection.
  public final class Witness: PeerVerifier {
    private let seen = Mutex<PeerEvidence?>(nil)
    public init() {}
    public var buildsChain: Bool { true }
    public func judge(_ evidence: PeerEvidence) -> PeerRefusal? {
      seen.withLock { $0 = evidence }
      return nil
    }
    public var evidence: PeerEvidence? { seen.withLock { $0 } }
  }
}
