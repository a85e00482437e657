import COpenSSL
import COpenSSLShims

/// What a finished handshake tells.
extension TLSConnection {
  /// Then no certificate was seen and no verifier asked: the session's own verdict must stand for it.
  public var isResumed: Bool { SSL_session_reused(pointer) == 1 }

  public var protocolVersion: ProtocolVersion? { ProtocolVersion(rawValue: SSL_version(pointer)) }

  /// Nil where none was agreed on.
  public var selectedALPN: String? {
    var name: UnsafePointer<UInt8>?
    var length: UInt32 = 0
    SSL_get0_alpn_selected(pointer, &name, &length)
    guard let name, length > 0 else { return nil }
    return String(decoding: UnsafeBufferPointer(start: name, count: Int(length)), as: UTF8.self)
  }

  /// As the peer sent it, leaf first. Empty after a resumption.
  public var peerChain: [Certificate] { findings.served }

  /// As validated, leaf first, anchor last. Empty after a resumption and where the verifier wanted none.
  public var verifiedChain: [Certificate] { findings.verified }

  /// Why the verifier ended the handshake.
  public var refusal: PeerRefusal? { findings.refusal }

  /// The client's certificate, on a server's side.
  public var clientCertificate: Certificate? { SSL_get1_peer_certificate(pointer).map { Certificate(owning: $0) } }

  /// The name that the client asked for, on a server's side.
  public var requestedServerName: String? {
    SSL_get_servername(pointer, TLSEXT_NAMETYPE_host_name).map { String(cString: $0) }
  }

  /// In DER and unverified. TLS 1.2 has it after the handshake only.
  public var stapledOCSP: [UInt8]? { stapledAnswer(pointer) }

  /// Gives the certificates' memory back once they have been judged.
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
