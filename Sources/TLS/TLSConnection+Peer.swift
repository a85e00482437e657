import COpenSSL
import COpenSSLShims

/// What is known after a handshake.
extension TLSConnection {
  /// Then there was no certificate and the verifier was not called: the session's verdict must be used.
  public var isResumed: Bool { SSL_session_reused(pointer) == 1 }

  public var protocolVersion: ProtocolVersion? { ProtocolVersion(rawValue: SSL_version(pointer)) }

  /// nil if no protocol was agreed on.
  public var selectedALPN: String? {
    var name: UnsafePointer<UInt8>?
    var length: UInt32 = 0
    SSL_get0_alpn_selected(pointer, &name, &length)
    guard let name, length > 0 else { return nil }
    return String(decoding: UnsafeBufferPointer(start: name, count: Int(length)), as: UTF8.self)
  }

  /// As the peer sent it, leaf first. Empty after a resumption.
  public var peerChain: [Certificate] { findings.served }

  /// Of the certificate that a server showed, as text; nil: it showed none.
  public var leafIssuer: String? {
    findings.served.first?.issuer ?? SSL_get1_peer_certificate(pointer).map { Certificate(owning: $0).issuer }
  }

  /// As validated, leaf first, anchor last. Empty after a resumption, or if the verifier wanted no chain.
  public var verifiedChain: [Certificate] { findings.verified }

  /// Why the verifier ended the handshake.
  public var refusal: PeerRefusal? { findings.refusal }

  /// On a server: the client's certificate.
  public var clientCertificate: Certificate? { SSL_get1_peer_certificate(pointer).map { Certificate(owning: $0) } }

  /// On a server: SHA-256 of the anchor under which the client's certificate was verified; nil after a resumption.
  public var clientAnchor: [UInt8]? {
    guard let chain = SSL_get0_verified_chain(pointer), OPENSSL_sk_num(chain) > 0,
      let last = OPENSSL_sk_value(chain, OPENSSL_sk_num(chain) - 1)
    else { return nil }
    let certificate = OpaquePointer(last)
    X509_up_ref(certificate)
    return Certificate(owning: certificate).fingerprint
  }

  /// On a server: the name that the client asked for.
  public var requestedServerName: String? {
    SSL_get_servername(pointer, TLSEXT_NAMETYPE_host_name).map { String(cString: $0) }
  }

  /// In DER, unverified. In TLS 1.2 available only after the handshake.
  public var stapledOCSP: [UInt8]? { stapledAnswer(pointer) }

  /// Frees the certificates' memory after they have been judged.
  public func dropChains() {
    findings.served = []
    findings.verified = []
  }
}

func stapledAnswer(_ ssl: OpaquePointer) -> [UInt8]? {
  var start: UnsafePointer<UInt8>?
  let count = cossl_staple(ssl, &start)
  guard let start, count > 0 else { return nil }
  return [UInt8](UnsafeBufferPointer(start: start, count: count))
}
