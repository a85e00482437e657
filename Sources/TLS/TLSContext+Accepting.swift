import COpenSSL
import COpenSSLShims
import Crypto

/// What the handshakes have in common that apps begin. Certificates are brought to each connection.
public struct AcceptingOptions {
  public var minimumVersion = ProtocolVersion.tls12
  /// Protocol names in order of preference, for connections that bring no offer of their own. A client that offers none gets none; one
  /// that offers others alone is refused.
  public var alpn = ["http/1.1"]
  /// nil: clients are not asked for certificates.
  public var clientCertificates: ClientVerification?

  public init() {}

  /// Verifies what clients send; one that fails ends the handshake.
  public struct ClientVerification {
    public var anchors: AnchorStore
    /// Whose certificates are wanted: told to clients, which choose by it.
    public var authorities: [Certificate]
    /// A client without a certificate is refused.
    public var isRequired: Bool

    public init(anchors: AnchorStore, authorities: [Certificate], isRequired: Bool) {
      self.anchors = anchors
      self.authorities = authorities
      self.isRequired = isRequired
    }
  }
}

extension TLSContext {
  /// For `TLSConnection.accept`: TLS 1.2 and 1.3, ECDHE and AEAD only, no renegotiation, no compression, no early data; sessions in
  /// tickets alone.
  public static func accepting(_ options: AcceptingOptions) throws(OpenSSLError) -> TLSContext {
    ERR_clear_error()
    guard let pointer = SSL_CTX_new(TLS_server_method()) else { throw .drained(.configuration, "TLS context") }
    let context = TLSContext(
      pointer, verifier: nil, alpn: ALPNNames.wireFormat(options.alpn), staple: [], isServer: true, refusesOtherProtocols: true)
    cossl_context_basics(pointer, 2)
    guard cossl_context_set_versions(pointer, options.minimumVersion.rawValue, 0) == 1, cossl_context_accepts(pointer) == 1
    else {
      throw .drained(.configuration, "TLS versions and ciphers")
    }
    if let verification = options.clientCertificates {
      X509_STORE_up_ref(verification.anchors.pointer)
      SSL_CTX_set_cert_store(pointer, verification.anchors.pointer)
      SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER | (verification.isRequired ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), nil)
      for authority in verification.authorities { SSL_CTX_add_client_CA(pointer, authority.pointer) }
    }
    SSL_CTX_set_client_hello_cb(pointer, lookAtHello, nil)
    SSL_CTX_set_info_callback(pointer, noteAlert)
    if !context.alpn.isEmpty { SSL_CTX_set_alpn_select_cb(pointer, selectProtocol, nil) }
    return context
  }

  /// From now on tickets are made and opened with these. Not during a handshake's call.
  public func use(_ keys: TicketKeys) throws(OpenSSLError) {
    if let ticketKeys { return keys.write(to: ticketKeys) }
    let memory = UnsafeMutablePointer<cossl_ticket_keys>.allocate(capacity: 1)
    keys.write(to: memory)
    ticketKeys = memory
    guard cossl_context_set_ticket_keys(pointer, memory) == 1 else { throw .drained(.configuration, "ticket keys") }
  }
}

// The callbacks capture nothing: all they know is what hangs on the SSL, and none of them throws or calls back into it.

/// Sees the ClientHello before anything is chosen for it; again after a HelloRetryRequest, and after the caller has brought what the
/// handshake was waiting for.
private let lookAtHello: @convention(c) (OpaquePointer?, UnsafeMutablePointer<Int32>?, UnsafeMutableRawPointer?) -> Int32 = {
  ssl, alert, _ in
  guard let ssl, let connection = TLSConnection.of(ssl), let acceptance = connection.acceptance else {
    return SSL_CLIENT_HELLO_ERROR
  }
  if let refused = acceptance.look(ClientHello(of: ssl), alpn: connection.alpn) {
    alert?.pointee = Int32(refused.rawValue)
    return SSL_CLIENT_HELLO_ERROR
  }
  return acceptance.hasIdentity ? SSL_CLIENT_HELLO_SUCCESS : SSL_CLIENT_HELLO_RETRY
}

private let noteAlert: @convention(c) (OpaquePointer?, Int32, Int32) -> Void = { ssl, event, value in
  guard event & SSL_CB_ALERT != 0, let ssl, let acceptance = TLSConnection.of(ssl)?.acceptance else { return }
  let alert = TLSAlert(rawValue: UInt8(truncatingIfNeeded: value))
  if event & SSL_CB_READ != 0 { acceptance.received = alert } else { acceptance.sent = alert }
}
