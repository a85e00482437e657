import COpenSSL
import COpenSSLShims
import Crypto

public enum ProtocolVersion: Int32, Sendable, Hashable, CaseIterable, CustomStringConvertible {
  case tls10 = 0x0301
  case tls11 = 0x0302
  case tls12 = 0x0303
  case tls13 = 0x0304

  public var description: String {
    switch self {
    case .tls10: "TLSv1.0"
    case .tls11: "TLSv1.1"
    case .tls12: "TLSv1.2"
    case .tls13: "TLSv1.3"
    }
  }
}

/// Options that a client's connections share.
public struct ClientOptions {
  public var minimumVersion = ProtocolVersion.tls12
  public var anchors: AnchorStore
  public var verifier: any PeerVerifier
  /// For servers that ask for a certificate.
  public var identity: TLSIdentity?
  /// Protocol names in order of preference, for connections that bring no offer of their own; empty = no ALPN.
  public var alpn = ["http/1.1"]
  /// Whether to ask for a stapled OCSP answer.
  public var requestsStaple = false
  /// False if nobody would keep sessions.
  public var keepsSessions = true

  public init(anchors: AnchorStore, verifier: any PeerVerifier) {
    self.anchors = anchors
    self.verifier = verifier
  }
}

/// Options that a server's connections share. For the demo and for tests.
public struct ServerOptions {
  public var identity: TLSIdentity
  public var minimumVersion = ProtocolVersion.tls12
  public var maximumVersion = ProtocolVersion.tls13
  /// Not nil: clients must present a certificate that ends in one of these.
  public var clientAnchors: AnchorStore?
  public var alpn = ["http/1.1"]
  /// An OCSP answer in DER for clients that ask; empty = none.
  public var staple: [UInt8] = []
  /// A level under 2 is only for serving what a client must refuse.
  public var securityLevel: Int32 = 2
  /// TLS 1.3 tickets per handshake; 0 also turns sessions off in TLS 1.2.
  public var tickets = 2

  public init(identity: TLSIdentity) { self.identity = identity }
}

/// One SSL_CTX. Confined to the loop that made it, as are its connections.
public final class TLSContext {
  let pointer: OpaquePointer
  let verifier: (any PeerVerifier)?
  let alpn: [UInt8]
  let staple: [UInt8]
  let isServer: Bool
  /// Of a client that offers protocols, but none of ours, the handshake ends (RFC 7301 section 3.2).
  let refusesOtherProtocols: Bool
  /// Owned, and read by OpenSSL as long as the SSL_CTX lives.
  var ticketKeys: UnsafeMutablePointer<cossl_ticket_keys>?

  init(
    _ pointer: OpaquePointer, verifier: (any PeerVerifier)?, alpn: [UInt8], staple: [UInt8], isServer: Bool,
    refusesOtherProtocols: Bool = false
  ) {
    self.pointer = pointer
    self.verifier = verifier
    self.alpn = alpn
    self.staple = staple
    self.isServer = isServer
    self.refusesOtherProtocols = refusesOtherProtocols
  }

  deinit {
    SSL_CTX_free(pointer)
    if let ticketKeys {
      OPENSSL_cleanse(ticketKeys, MemoryLayout<cossl_ticket_keys>.size)
      ticketKeys.deallocate()
    }
  }

  /// OpenSSL's: 112 bits, as RSA-2048.
  static let clientSecurityLevel: Int32 = 2

  public static func client(_ options: ClientOptions) throws(OpenSSLError) -> TLSContext {
    ERR_clear_error()
    guard let pointer = SSL_CTX_new(TLS_client_method()) else { throw .drained(.configuration, "TLS context") }
    let context = TLSContext(
      pointer, verifier: options.verifier, alpn: ALPNNames.wireFormat(options.alpn), staple: [], isServer: false)
    cossl_context_basics(pointer, clientSecurityLevel)
    guard cossl_context_set_versions(pointer, options.minimumVersion.rawValue, 0) == 1 else {
      throw .drained(.configuration, "TLS versions")
    }
    X509_STORE_up_ref(options.anchors.pointer)
    SSL_CTX_set_cert_store(pointer, options.anchors.pointer)
    SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
    SSL_CTX_set_cert_verify_callback(pointer, verifyServer, nil)
    if options.keepsSessions {
      cossl_context_external_sessions(pointer)
      SSL_CTX_sess_set_new_cb(pointer, keepSession)
    } else {
      cossl_context_no_sessions(pointer)
    }
    if !context.alpn.isEmpty, SSL_CTX_set_alpn_protos(pointer, context.alpn, UInt32(context.alpn.count)) != 0 {
      throw .drained(.configuration, "ALPN")
    }
    if options.requestsStaple { cossl_context_request_staple(pointer) }
    try options.identity?.install(on: pointer)
    return context
  }

  public static func server(_ options: ServerOptions) throws(OpenSSLError) -> TLSContext {
    ERR_clear_error()
    guard let pointer = SSL_CTX_new(TLS_server_method()) else { throw .drained(.configuration, "TLS context") }
    let context = TLSContext(
      pointer, verifier: nil, alpn: ALPNNames.wireFormat(options.alpn), staple: options.staple, isServer: true)
    cossl_context_basics(pointer, options.securityLevel)
    guard cossl_context_set_versions(pointer, options.minimumVersion.rawValue, options.maximumVersion.rawValue) == 1 else {
      throw .drained(.configuration, "TLS versions")
    }
    try options.identity.install(on: pointer)
    if let anchors = options.clientAnchors {
      X509_STORE_up_ref(anchors.pointer)
      SSL_CTX_set_cert_store(pointer, anchors.pointer)
      SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
    }
    // Without it, sessions of clients with certificates cannot be resumed.
    let name = Array("authproxy".utf8)
    SSL_CTX_set_session_id_context(pointer, name, UInt32(name.count))
    SSL_CTX_set_num_tickets(pointer, options.tickets)
    if options.tickets == 0 {
      cossl_context_no_sessions(pointer)
      cossl_context_no_tickets(pointer)
    }
    if !context.alpn.isEmpty { SSL_CTX_set_alpn_select_cb(pointer, selectProtocol, nil) }
    if !context.staple.isEmpty { cossl_context_set_staple_callback(pointer, serveStaple) }
    return context
  }
}

// The callbacks capture nothing: their state is attached to the SSL. None of them throws or calls back into the SSL.

private let verifyServer: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Int32 = { store, _ in
  guard let store, let ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()),
    let connection = TLSConnection.of(OpaquePointer(ssl)), let verifier = connection.context.verifier
  else { return 0 }
  let (findings, verdict) = PeerFindings.examine(store, connection.peerName, verifier)
  connection.findings = findings
  return verdict
}

/// 1 = this code owns the reference now.
private let keepSession: @convention(c) (OpaquePointer?, OpaquePointer?) -> Int32 = { ssl, session in
  guard let ssl, let session, let connection = TLSConnection.of(ssl) else { return 0 }
  connection.received(TLSSession(owning: session))
  return 1
}

let selectProtocol:
  @convention(c) (
    OpaquePointer?, UnsafeMutablePointer<UnsafePointer<UInt8>?>?, UnsafeMutablePointer<UInt8>?, UnsafePointer<UInt8>?, UInt32,
    UnsafeMutableRawPointer?
  ) -> Int32 = { ssl, output, outputLength, offered, offeredLength, _ in
    guard let ssl, let output, let outputLength, let offered, let connection = TLSConnection.of(ssl) else {
      return SSL_TLSEXT_ERR_NOACK
    }
    let ours = connection.alpn
    var index = 0
    while index < ours.count {
      let name = ours[index..<(index + 1 + Int(ours[index]))]
      var position = 0
      while position < Int(offeredLength) {
        let length = Int(offered[position])
        let candidate = UnsafeBufferPointer(start: offered + position, count: min(length + 1, Int(offeredLength) - position))
        if candidate.elementsEqual(name) {
          // Points into what the client sent, which outlives the callback.
          output.pointee = offered + position + 1
          outputLength.pointee = UInt8(length)
          return SSL_TLSEXT_ERR_OK
        }
        position += length + 1
      }
      index += 1 + Int(ours[index])
    }
    return connection.context.refusesOtherProtocols ? SSL_TLSEXT_ERR_ALERT_FATAL : SSL_TLSEXT_ERR_NOACK
  }

private let serveStaple: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Int32 = { ssl, _ in
  guard let ssl, let staple = TLSConnection.of(ssl)?.context.staple, let copy = cossl_malloc(staple.count) else {
    return SSL_TLSEXT_ERR_NOACK
  }
  staple.withUnsafeBytes { source in
    if let start = source.baseAddress { copy.copyMemory(from: start, byteCount: source.count) }
  }
  cossl_set_staple(ssl, copy.assumingMemoryBound(to: UInt8.self), staple.count)
  return SSL_TLSEXT_ERR_OK
}
