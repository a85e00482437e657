import COpenSSL
import COpenSSLShims
import Crypto

/// One SSL over a non-blocking socket. It reads and writes the socket but does not own it: the caller closes the descriptor
/// after it is done with this object.
/// Or it lies over another connection, which it retains: TLS in TLS. Belongs to one loop.
public final class TLSConnection {
  let pointer: OpaquePointer
  let context: TLSContext
  /// What the certificate must name; empty on a server.
  public let peerName: PeerName
  /// The protocols that it offers or accepts, as ALPN writes them; empty: no ALPN.
  let alpn: [UInt8]
  var findings = PeerFindings()
  /// Why the last call failed.
  public private(set) var lastError: OpenSSLError?
  private var isBroken = false
  /// Sessions from the server that nobody has taken yet, oldest first; in TLS 1.3 they arrive during reads.
  public private(set) var pendingSessions: [TLSSession] = []
  /// Most sessions to keep: more than a server sends for one handshake by default.
  private static let pendingSessionLimit = 4
  /// Tickets since the last application data, and how many are allowed; servers usually send two per handshake.
  private var ticketsInARow = 0
  private static let ticketLimit = 32
  /// Owned by the SSL's BIO: valid as long as `pointer`.
  private let socket: UnsafeMutablePointer<cossl_socket>
  /// What this one lies over; nil: the socket.
  public let below: TLSConnection?
  /// Where the app began the handshake and `accept` goes on with it.
  let acceptance: Acceptance?

  private enum Transport {
    case descriptor(Int32)
    case connection(TLSConnection)
  }

  private init(
    _ context: TLSContext, _ transport: Transport, peerName: PeerName, offering offer: ALPNOffer? = nil,
    acceptance: Acceptance? = nil
  ) throws(OpenSSLError) {
    ERR_clear_error()
    guard let pointer = SSL_new(context.pointer) else { throw .drained(.configuration, "TLS connection") }
    var socket: UnsafeMutablePointer<cossl_socket>?
    let bio: OpaquePointer?
    switch transport {
    case .descriptor(let descriptor):
      bio = cossl_socket_bio(descriptor, &socket)
      below = nil
    case .connection(let connection):
      bio = cossl_stacked_bio(connection.pointer, connection.socket, &socket)
      below = connection
    }
    guard let bio, let socket else {
      SSL_free(pointer)
      throw .drained(.configuration, "TLS connection")
    }
    self.acceptance = acceptance
    alpn = offer?.wireFormat ?? context.alpn
    self.pointer = pointer
    self.context = context
    self.peerName = peerName
    self.socket = socket
    SSL_set_bio(pointer, bio, bio)
    // Unretained: deinit frees the SSL, so it never outlives this object.
    SSL_set_ex_data(pointer, 0, Unmanaged.passUnretained(self).toOpaque())
  }

  /// A client's side. Sends `serverName` as SNI unless it is an IP literal. Offers `session`; after the handshake `isResumed`
  /// says whether the server accepted it.
  /// - Parameters:
  ///   - below: the connection that it lies over; nil: `descriptor`.
  ///   - offer: what ALPN offers; nil: as the context says.
  ///   - received: what was read of the server's bytes already. Copied.
  public convenience init(
    context: TLSContext, over below: TLSConnection? = nil, descriptor: Int32, serverName: String,
    offering offer: ALPNOffer? = nil, session: TLSSession? = nil, received: [UInt8] = []
  ) throws(OpenSSLError) {
    let name = PeerName(serverName)
    try self.init(context, below.map { .connection($0) } ?? .descriptor(descriptor), peerName: name, offering: offer)
    if offer != nil, SSL_set_alpn_protos(pointer, alpn, UInt32(alpn.count)) != 0 { throw .drained(.configuration, "ALPN") }
    if name.address == nil, cossl_set_server_name(pointer, name.text) != 1 {
      throw .drained(.configuration, "server name")
    }
    if !received.isEmpty, received.withUnsafeBytes({ cossl_socket_set_prefix(socket, $0.baseAddress, $0.count) }) != 1 {
      throw .drained(.configuration, "out of memory")
    }
    if let session { SSL_set_session(pointer, session.pointer) }
    SSL_set_connect_state(pointer)
  }

  /// A server's side.
  public convenience init(context: TLSContext, accepting descriptor: Int32) throws(OpenSSLError) {
    try self.init(context, .descriptor(descriptor), peerName: PeerName(""))
    SSL_set_accept_state(pointer)
  }

  /// The side that an app begins to speak TLS to, by `TLSContext.accepting`: `accept` and `serve` bring it up.
  /// - Parameters:
  ///   - expected: the host that the connection is for; another one in the ClientHello ends the handshake. nil: any.
  ///   - offer: the protocols that clients may choose; nil: those of the context.
  ///   - received: what was read from the socket already: the first bytes of the handshake. Copied.
  public convenience init(
    context: TLSContext, accepting descriptor: Int32, for expected: PeerName?, offering offer: ALPNOffer? = nil,
    received: UnsafeRawBufferPointer = .init(start: nil, count: 0)
  ) throws(OpenSSLError) {
    try self.init(accepting: context, .descriptor(descriptor), expected, offer, received)
  }

  /// As above, inside of another connection: an app that speaks TLS to the proxy, and inside to a host.
  public convenience init(
    context: TLSContext, acceptingOver below: TLSConnection, for expected: PeerName?, offering offer: ALPNOffer? = nil,
    received: UnsafeRawBufferPointer = .init(start: nil, count: 0)
  ) throws(OpenSSLError) {
    try self.init(accepting: context, .connection(below), expected, offer, received)
  }

  private convenience init(
    accepting context: TLSContext, _ transport: Transport, _ expected: PeerName?, _ offer: ALPNOffer?,
    _ received: UnsafeRawBufferPointer
  ) throws(OpenSSLError) {
    try self.init(
      context, transport, peerName: PeerName(""), offering: offer, acceptance: Acceptance(expected: expected))
    guard cossl_socket_set_prefix(socket, received.baseAddress, received.count) == 1 else {
      throw .drained(.configuration, "out of memory")
    }
    SSL_set_accept_state(pointer)
  }

  deinit {
    // An SSL freed without close_notify makes its session unusable for others. The reader detects cut data, so this hides
    // nothing.
    if !isBroken, SSL_is_init_finished(pointer) == 1 {
      SSL_set_shutdown(pointer, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN)
    }
    SSL_free(pointer)
  }

  static func of(_ ssl: OpaquePointer) -> TLSConnection? {
    SSL_get_ex_data(ssl, 0).map { Unmanaged<TLSConnection>.fromOpaque($0).takeUnretainedValue() }
  }

  /// Call it again after the readiness that it asks for.
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

  /// Reads up to `buffer.count` bytes, at most one record; or returns a value of `TLSIO`.
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

  /// Number of bytes taken, often fewer than given; or a value of `TLSIO`. After `wantWrite` the caller must offer the same
  /// bytes again, at least as many; they may have moved. After a failed write, reading may still return the peer's last bytes.
  @inline(__always)
  public func write(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard let start = bytes.baseAddress, bytes.count > 0 else { return 0 }
    var systemError: Int32 = 0
    let result = cossl_write(pointer, socket, start, bytes.count, &systemError)
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

  func broken(_ error: OpenSSLError) -> OpenSSLError {
    isBroken = true
    lastError = error
    return error
  }

  // MARK: Readiness

  /// From now on the caller reports every event of the descriptor with `noteReadable`. Then a socket that was read empty is not
  /// read again before the next event.
  public func becomeEdgeTriggered() { socket.pointee.is_edge_triggered = 1 }

  /// The descriptor became readable.
  /// - Parameter readsToTheEnd: a short receive no longer proves that the socket is empty: the peer has sent its end, the
  ///   connection is broken, or the receive may have stopped at the mark of TCP urgent data.
  @inline(__always)
  public func noteReadable(readsToTheEnd: Bool) {
    socket.pointee.is_dry = 0
    if readsToTheEnd { socket.pointee.reads_to_the_end = 1 }
    below?.noteReadable(readsToTheEnd: readsToTheEnd)
  }

  /// Like `read`, but takes only what OpenSSL has already received; then `wantRead` says nothing about the socket.
  @inline(__always)
  public func readBuffered(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    // Also 1 for half a record, which yields no data.
    guard SSL_has_pending(pointer) == 1 || below != nil else { return TLSIO.wantRead }
    socket.pointee.is_held = 1
    defer { socket.pointee.is_held = 0 }
    return read(into: buffer)
  }

  /// Whether OpenSSL holds a record or a part of one. SSL_has_pending alone misses a record whose header was taken off the
  /// buffer and whose body has not begun to arrive: then its record layer is in the state "read body".
  private var holdsRecord: Bool {
    SSL_has_pending(pointer) == 1 || socket.pointee.prefix != nil
      || SSL_rstate_string(pointer)[1] == CChar(bitPattern: UInt8(ascii: "B")) || below?.holdsRecord == true
  }

  /// What the peer has sent and nobody has read.
  public enum Unread: Sendable {
    /// Neither OpenSSL nor the kernel has a byte.
    case nothing
    /// Application data.
    case bytes
    /// The beginning of a record, which may be application data or belong to TLS.
    case partialRecord
    /// The stream has ended, cleanly or not.
    case end
  }

  /// Looks without taking application data, but processes TLS's own records (such as session tickets). Costs no system call if
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

  /// Best effort: does not wait for the peer's close_notify.
  public func sendCloseNotify() {
    guard !isBroken, SSL_is_init_finished(pointer) == 1 else { return }
    ERR_clear_error()
    _ = SSL_shutdown(pointer)
    ERR_clear_error()
  }

  /// As `sendCloseNotify`, then the same for what lies below.
  public func sendCloseNotifies() {
    sendCloseNotify()
    below?.sendCloseNotifies()
  }

  func received(_ session: TLSSession) {
    ticketsInARow += 1
    if pendingSessions.count == Self.pendingSessionLimit { pendingSessions.removeFirst() }
    pendingSessions.append(session)
  }

  /// The newest session from the server; each is returned once.
  public func takeSession() -> TLSSession? { pendingSessions.popLast() }
}
