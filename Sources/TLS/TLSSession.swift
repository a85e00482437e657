import COpenSSL

/// A session that a server gave, to be offered to it again. It proves nothing about the peer by itself: who keeps one keeps
/// the verdict beside it. Belongs to one loop.
public final class TLSSession {
  let pointer: OpaquePointer

  /// Takes over the caller's reference.
  init(owning pointer: OpaquePointer) { self.pointer = pointer }

  deinit { SSL_SESSION_free(pointer) }

  /// A TLS 1.3 ticket is offered once: twice would let an observer link the connections (RFC 8446 appendix C.4).
  public var isSingleUse: Bool { SSL_SESSION_get_protocol_version(pointer) >= ProtocolVersion.tls13.rawValue }

  /// Seconds since 1970, by the server's hint.
  public var expiry: Int64 { Int64(SSL_SESSION_get_time(pointer)) + Int64(SSL_SESSION_get_timeout(pointer)) }

  /// False once a connection on it ended in a fatal error.
  public var isResumable: Bool { SSL_SESSION_is_resumable(pointer) == 1 }
}
