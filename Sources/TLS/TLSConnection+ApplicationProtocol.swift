import COpenSSL

/// Which version of HTTP a connection speaks, after the handshake.
extension TLSConnection {
  /// The peers' agreement on this connection; without one it is HTTP/1.1. OpenSSL ends a handshake whose server chooses what was not
  /// offered.
  public var selectedProtocol: ApplicationProtocol { selectedALPN.flatMap(ApplicationProtocol.init) ?? .http1 }

  /// Whether the version of TLS and the cipher may carry HTTP/2 (RFC 9113 section 9.2): TLS 1.3, or TLS 1.2 with a cipher that
  /// appendix A does not list.
  public var mayCarryHTTP2: Bool {
    switch protocolVersion {
    case .tls13: return true
    case .tls12: return SSL_get_current_cipher(pointer).map(Self.isGoodForHTTP2) ?? false
    case .tls11, .tls10, nil: return false
    }
  }

  /// Of a cipher of TLS 1.2. Appendix A lists those without an ephemeral key exchange, without authentication or without AEAD.
  static func isGoodForHTTP2(_ cipher: OpaquePointer) -> Bool {
    guard SSL_CIPHER_is_aead(cipher) == 1, SSL_CIPHER_get_auth_nid(cipher) != NID_auth_null else { return false }
    switch SSL_CIPHER_get_kx_nid(cipher) {
    case NID_kx_ecdhe, NID_kx_dhe, NID_kx_ecdhe_psk, NID_kx_dhe_psk: return true
    default: return false
    }
  }
}
