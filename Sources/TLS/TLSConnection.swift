import COpenSSL
import COpenSSLShims
import Crypto

/// One SSL over a non-blocking socket, which it reads and writes but does not own: closing the descriptor is the caller's, after
/// this object is done with. Belongs to one loop.
public final class TLSConnection {
  let pointer: OpaquePointer
  let context: TLSContext
  /// What the certificate must speak for; empty on a server's side.
  public let peerName: PeerName
  var findings = PeerFindings()
  /// Why the last call failed.
  public private(set) var lastError: OpenSSLError?
  private var isBroken = false
  /// Sessions that the server gave and nobody took yet, oldest first; in TLS 1.3 they arrive during reads.
  public private(set) var pendingSessions: [TLSSession] = []
  /// More than a server sends for one handshake by default, few enough to hoard.
  private static let pendingSessionLimit = 4
  /// Tickets since the last application data, and how many are no flood: servers send two for a handshake as a rule.
  private var ticketsInARow = 0
  private static let ticketLimit = 32
  /// Owned by the SSL's BIO: valid as long as `pointer`.
  private let socket: UnsafeMutablePointer<cossl_socket>

  private init(_ context: TLSContext, _ descriptor: Int32, peerName: PeerName) throws(OpenSSLError) {
    ERR_clear_error()
    guard let pointer = SSL_new(context.pointer) else { throw .drained(.configuration, "TLS connection") }
    var socket: UnsafeMutablePointer<cossl_socket>?
    guard let bio = cossl_socket_bio(descriptor, &socket), let socket else {
      SSL_free(pointer)
      throw .drained(.configuration, "TLS connection")
    }
    self.pointer = pointer
    self.context = context
    self.peerName = peerName
    self.socket = socket
    SSL_set_bio(pointer, bio, bio)
    // Unretained: the SSL is freed in deinit, so it never outlives this.
    SSL_set_ex_data(pointer, 0, Unmanaged.passUnretained(self).toOpaque())
  }

  /// A client's side. `serverName` goes out as SNI unless it is an IP literal. `session` is offered; whether it was taken,
  /// `isResumed` says after the handshake.
  public convenience init(
    context: TLSContext, descriptor: Int32, serverName: String, session: TLSSession? = nil
  ) throws(OpenSSLError) {
    let name = PeerName(serverName)
    try self.init(context, descriptor, peerName: name)
    if name.address == nil, cossl_set_server_name(pointer, name.text) != 1 {
      throw .drained(.configuration, "server name")
    }
    if let session { SSL_set_session(pointer, session.pointer) }
    SSL_set_connect_state(pointer)
  }

  /// A server's side.
  public convenience init(context: TLSContext, accepting descriptor: Int32) throws(OpenSSLError) {
    try self.init(context, descriptor, peerName: PeerName(""))
    SSL_set_accept_state(pointer)
  }

  deinit {
    // An SSL freed without close_notify spoils its session for others. Cut data is detected by who reads, not by that.
    if !isBroken, SSL_is_init_finished(pointer) == 1 {
      SSL_set_shutdown(pointer, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN)
    }
    SSL_free(pointer)
  }

  static func of(_ ssl: OpaquePointer) -> TLSConnection? {
    SSL_get_ex_data(ssl, 0).map { Unmanaged<TLSConnection>.fromOpaque($0).takeUnretainedValue() }
  }

  /// To be called again after the readiness that it asks for.
  public func handshake() -> HandshakeResult {
    var systemError: Int32 = 0
    switch cossl_handshake(pointer, &systemError) {
    case 1: return .done
    case TLSIO.wantRead: return .wantRead
    case TLSIO.wantWrite: return .wantWrite
    case TLSIO.truncated:
      ERR_clear_error()
      return .failed(broken(OpenSSLError(.transport, "the peer closed the connection during the TLS handshake")))
    default:
      if let refusal = findings.refusal {
        ERR_clear_error()
        return .failed(broken(OpenSSLError(.refused, refusal.description)))
      }
      return .failed(broken(.ofConnection(.handshake, "TLS handshake", systemError: systemError)))
    }
  }

  /// Up to `buffer.count` bytes, one record at most; or a value of `TLSIO`.
  @inline(__always)
  public func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard let start = buffer.baseAddress, buffer.count > 0 else { return TLSIO.wantRead }
    var systemError: Int32 = 0
    let result = cossl_read(pointer, socket, start, buffer.count, &systemError)
    if result > 0 {
      ticketsInARow = 0
    } else if result <= TLSIO.failed {
      fail(result, "reading", systemError)
    } else if ticketsInARow > Self.ticketLimit {
      return floods()
    }
    return result
  }

  /// How many bytes were taken, often fewer than given; or a value of `TLSIO`. After `wantWrite` the same bytes must be offered
  /// again, at least as many, from wherever they are then. After a failed write reading may still have the peer's last words.
  @inline(__always)
  public func write(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard let start = bytes.baseAddress, bytes.count > 0 else { return 0 }
    var systemError: Int32 = 0
    let result = cossl_write(pointer, start, bytes.count, &systemError)
    guard result <= TLSIO.failed else { return result }
    fail(result, "writing", systemError)
    return TLSIO.failed
  }

  private func floods() -> Int {
    _ = broken(OpenSSLError(.alert, "the peer sends too many session tickets"))
    return TLSIO.failed
  }

  private func fail(_ result: Int, _ what: String, _ systemError: Int32) {
    if result == TLSIO.truncated {
      ERR_clear_error()
      _ = broken(OpenSSLError(.transport, "the connection ended without a TLS close_notify"))
    } else {
      _ = broken(.ofConnection(.alert, what, systemError: systemError))
    }
  }

  private func broken(_ error: OpenSSLError) -> OpenSSLError {
    isBroken = true
    lastError = error
    return error
  }

  // MARK: Readiness

  /// From now on the caller tells of every event of the descriptor by `noteReadable`: a socket that was read empty is then not
  /// asked again before the next one.
  public func becomeEdgeTriggered() { socket.pointee.is_edge_triggered = 1 }

  /// The descriptor became readable.
  /// - Parameter readsToTheEnd: a short receive proves nothing any more: the peer has sent its end, the connection is broken, or
  ///   the receive may have stopped at the mark of TCP urgent data.
  @inline(__always)
  public func noteReadable(readsToTheEnd: Bool) {
    socket.pointee.is_dry = 0
    if readsToTheEnd { socket.pointee.reads_to_the_end = 1 }
  }

  /// As `read`, but takes only what OpenSSL has received already; `wantRead` says nothing about the socket then.
  @inline(__always)
  public func readBuffered(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    // Also 1 for half a record, which yields nothing.
    guard SSL_has_pending(pointer) == 1 else { return TLSIO.wantRead }
    socket.pointee.is_held = 1
    defer { socket.pointee.is_held = 0 }
    return read(into: buffer)
  }

  /// Whether OpenSSL holds a record, or a part of one. SSL_has_pending alone does not know of a record whose header was taken off
  /// the buffer and nothing of whose body has come: then its record layer is in the state "read body".
  private var holdsRecord: Bool {
    SSL_has_pending(pointer) == 1 || SSL_rstate_string(pointer)[1] == CChar(bitPattern: UInt8(ascii: "B"))
  }

  /// What the peer has sent that nobody has read.
  public enum Unread: Sendable {
    /// Neither OpenSSL nor the kernel has a byte.
    case nothing
    /// Application data.
    case bytes
    /// The beginning of a record, which may be application data or belong to TLS.
    case partialRecord
    /// The stream has ended, in whatever way.
    case end
  }

  /// Looks without taking application data; what belongs to TLS (a session ticket, say) is processed. Costs no system call where
  /// the kernel is known to have nothing and OpenSSL holds nothing.
  public func unread() -> Unread {
    if !holdsRecord, socket.pointee.is_dry == 1 { return .nothing }
    var byte: UInt8 = 0
    var systemError: Int32 = 0
    let result = cossl_peek(pointer, socket, &byte, 1, &systemError)
    if result > 0 { return .bytes }
    if ticketsInARow > Self.ticketLimit {
      _ = floods()
      return .end
    }
    if result == TLSIO.wantRead { return holdsRecord ? .partialRecord : .nothing }
    if result <= TLSIO.failed { fail(result, "reading", systemError) }
    return .end
  }

  /// Best effort, does not wait for the peer's.
  public func sendCloseNotify() {
    guard !isBroken, SSL_is_init_finished(pointer) == 1 else { return }
    ERR_clear_error()
    _ = SSL_shutdown(pointer)
    ERR_clear_error()
  }

  func received(_ session: TLSSession) {
    ticketsInARow += 1
    if pendingSessions.count == Self.pendingSessionLimit { pendingSessions.removeFirst() }
    pendingSessions.append(session)
  }

  /// The newest that the server gave, once each.
  public func takeSession() -> TLSSession? { pendingSessions.popLast() }
}
