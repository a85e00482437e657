import COpenSSL

/// A session from a server, to offer to it again. It proves nothing about the peer, so whoever keeps it also keeps the verdict.
/// Belongs to one loop.
public final class TLSSession {
  let pointer: OpaquePointer

  /// Takes over the caller's reference.
  init(owning pointer: OpaquePointer) { self.pointer = pointer }

  deinit { SSL_SESSION_free(pointer) }

  /// A TLS 1.3 ticket may be offered only once: an observer could otherwise link the connections (RFC 8446 appendix C.4).
  public var isSingleUse: Bool { SSL_SESSION_get_protocol_version(pointer) >= ProtocolVersion.tls13.rawValue }

  /// Seconds since 1970, from the server's hint.
  public var expiry: Int64 { Int64(SSL_SESSION_get_time(pointer)) + Int64(SSL_SESSION_get_timeout(pointer)) }

  /// False after a connection with it ended in a fatal error.
  public var isResumable: Bool { SSL_SESSION_is_resumable(pointer) == 1 }
}
