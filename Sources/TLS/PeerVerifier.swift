import COpenSSL

/// What a verifier gets to know about a peer, inside the handshake.
public struct PeerEvidence: Sendable {
  public enum Chain: Sendable {
    /// Leaf first, anchor last.
    case verified([Certificate])
    case failed(ChainFailure)
    /// The verifier did not ask for a chain.
    case notBuilt
  }
  public var host: PeerName
  /// As the peer sent them, leaf first. Those after the leaf prove nothing.
  public var served: [Certificate]
  public var chain: Chain
  /// Whether the leaf names the host.
  public var hostMatches: Bool
  /// Seconds since 1970.
  public var now: Int64

  public init(host: PeerName, served: [Certificate], chain: Chain, hostMatches: Bool, now: Int64) {
    self.host = host
    self.served = served
    self.chain = chain
    self.hostMatches = hostMatches
    self.now = now
  }
}

/// Judges a peer inside the handshake. Called on the handshake's thread from a C callback, so it must neither wait nor touch
/// the connection. Not called if a session is resumed.
public protocol PeerVerifier: AnyObject, Sendable {
  /// Whether to build and validate the chain (RFC 5280 section 6) before `judge`.
  var buildsChain: Bool { get }
  /// nil = no objection.
  func judge(_ evidence: PeerEvidence) -> PeerRefusal?
}

/// The result of an examination.
struct PeerFindings {
  var served: [Certificate] = []
  var verified: [Certificate] = []
  var refusal: PeerRefusal?

  /// The body of OpenSSL's certificate verify callback. 1 = continue, 0 = end the handshake with an alert.
  static func examine(_ store: OpaquePointer, _ host: PeerName, _ verifier: any PeerVerifier) -> (PeerFindings, Int32) {
    var findings = PeerFindings()
    // The untrusted list begins with the leaf itself, as OpenSSL passes everything that the peer sent.
    findings.served = Certificate.chain(X509_STORE_CTX_get0_untrusted(store))
    var chain = PeerEvidence.Chain.notBuilt
    var alert = X509_V_ERR_APPLICATION_VERIFICATION
    if verifier.buildsChain {
      if X509_verify_cert(store) == 1 {
        findings.verified = Certificate.chain(X509_STORE_CTX_get0_chain(store))
        chain = .verified(findings.verified)
      } else {
        alert = X509_STORE_CTX_get_error(store)
        let culprit = X509_STORE_CTX_get_current_cert(store).map { Certificate(sharing: $0) } ?? findings.served.first
        chain = .failed(ChainFailure(code: alert, depth: X509_STORE_CTX_get_error_depth(store), certificate: culprit))
      }
      ERR_clear_error()
    }
    let matches = findings.served.first?.isValid(for: host) ?? false
    findings.refusal = verifier.judge(
      PeerEvidence(host: host, served: findings.served, chain: chain, hostMatches: matches, now: wallClock()))
    guard findings.refusal == nil else {
      // This code determines the alert. A refusal for another reason than the chain becomes certificate_unknown or similar.
      if alert == X509_V_OK { alert = X509_V_ERR_APPLICATION_VERIFICATION }
      X509_STORE_CTX_set_error(store, alert)
      return (findings, 0)
    }
    X509_STORE_CTX_set_error(store, X509_V_OK)
    return (findings, 1)
  }
}
