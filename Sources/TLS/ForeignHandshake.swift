import COpenSSL
import COpenSSLShims
import Crypto

/// Judges handshakes that another library makes on its own SSL_CTX (libcurl passes it on before each handshake). Judges chain,
/// host and pins in those handshakes as in the proxy's own. The result stays readable as long as the SSL_CTX, or as long as
/// somebody keeps what `install` returned. Confined to the thread of that library's transfers.
public final class ForeignHandshake {
  public let host: PeerName
  public var peerChain: [Certificate] { findings.served }
  public var verifiedChain: [Certificate] { findings.verified }
  public var refusal: PeerRefusal? { findings.refusal }
  /// The server asked for a client certificate. In TLS 1.3 it may end the connection only after the handshake if it gets none.
  public private(set) var asksForCertificate = false
  private let verifier: any PeerVerifier
  private var findings = PeerFindings()

  private init(_ host: PeerName, _ verifier: any PeerVerifier) {
    self.host = host
    self.verifier = verifier
  }

  /// One slot in every SSL_CTX; its release matches the `passRetained` in `install`.
  private static let slot = cossl_new_ex_index(CRYPTO_EX_INDEX_SSL_CTX) { _, object, _, _, _, _ in
    if let object { Unmanaged<ForeignHandshake>.fromOpaque(object).release() }
  }

  /// All connections of `context`, an SSL_CTX, go to `host`. Sets anchors, verifier, minimum version and security level 2, and
  /// replaces its own verification.
  /// - Parameter identity: the client's, for servers that ask for one. The other library does not know of it, so the caller must
  ///   keep its connections apart from those of other clients.
  @discardableResult public static func install(
    on context: UnsafeMutableRawPointer, host: String, anchors: AnchorStore, verifier: any PeerVerifier,
    minimumVersion: ProtocolVersion = .tls12, requestsStaple: Bool = false, identity: TLSIdentity? = nil
  ) throws(OpenSSLError) -> ForeignHandshake {
    let pointer = OpaquePointer(context)
    ERR_clear_error()
    guard slot >= 0 else { throw .drained(.configuration, "TLS context") }
    let handshake = ForeignHandshake(PeerName(host), verifier)
    let object = Unmanaged.passRetained(handshake)
    guard SSL_CTX_set_ex_data(pointer, slot, object.toOpaque()) == 1 else {
      object.release()
      throw .drained(.configuration, "TLS context")
    }
    cossl_context_restrict(pointer, minimumVersion.rawValue)
    try identity?.install(on: pointer)
    X509_STORE_up_ref(anchors.pointer)
    SSL_CTX_set_cert_store(pointer, anchors.pointer)
    SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
    SSL_CTX_set_cert_verify_callback(
      pointer,
      { store, argument in
        guard let store, let argument else { return 0 }
        // The SSL_CTX holds the reference, and the calling SSL holds the SSL_CTX.
        let handshake = Unmanaged<ForeignHandshake>.fromOpaque(argument).takeUnretainedValue()
        let (findings, verdict) = PeerFindings.examine(store, handshake.host, handshake.verifier)
        handshake.findings = findings
        return verdict
      }, object.toOpaque())
    // Called when the server has asked. It changes nothing.
    SSL_CTX_set_cert_cb(
      pointer,
      { _, argument in
        if let argument { Unmanaged<ForeignHandshake>.fromOpaque(argument).takeUnretainedValue().asksForCertificate = true }
        return 1
      }, object.toOpaque())
    if requestsStaple { cossl_context_request_staple(pointer) }
    return handshake
  }

  /// The handshake that `ssl` belongs to; nil if its SSL_CTX was not prepared here.
  public static func of(ssl: UnsafeMutableRawPointer) -> ForeignHandshake? {
    guard let context = SSL_get_SSL_CTX(OpaquePointer(ssl)), let object = SSL_CTX_get_ex_data(context, slot) else { return nil }
    return Unmanaged<ForeignHandshake>.fromOpaque(object).takeUnretainedValue()
  }

  /// The stapled OCSP answer on `ssl`, in DER, unverified.
  public static func stapledOCSP(ssl: UnsafeMutableRawPointer) -> [UInt8]? { stapledAnswer(OpaquePointer(ssl)) }
}
