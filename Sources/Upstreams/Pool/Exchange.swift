import EventIO
import Streams

/// One request's exchange with an origin: it waits in the pool's line, uses a connection, and gives it back.
///
/// A subclass sends and receives over it. The pool and the connection call the `open` methods on the pool's loop, and none of
/// them after `finish`, `abort`, `detach` or `leave`. Until then they own the exchange.
open class Exchange {
  public final let pool: OriginPool
  /// Of the app connection that sent the request.
  final let holdings: ClientHoldings
  public internal(set) final var connection: UpstreamConnection?

  /// It waits for a connection.
  public internal(set) final var isWaiting = false
  /// The final head of the response has not arrived.
  public private(set) final var awaitsHead = true
  /// When the first byte of a response arrived, in nanoseconds of the loop's clock; 0: none has.
  public private(set) final var firstByte: Int64 = 0
  /// Nanoseconds that the final head may take after the last write.
  private let headTimeout: Int64
  /// Nanoseconds that an HTTP/2 connection may hold bytes of the request for want of a window.
  private let stall: Int64

  /// - Parameters:
  ///   - account: whose exchange it is.
  ///   - holdings: of the app connection that it came from.
  ///   - timeouts: of its entry.
  public init(
    _ pool: OriginPool, of account: borrowing ClientAccount, for holdings: ClientHoldings, timeouts: borrowing Deadlines
  ) {
    holdings.takeShare(of: pool.limit, for: account)
    headTimeout = timeouts.responseHead
    stall = timeouts.stall
    self.pool = pool
    self.holdings = holdings
  }

  /// The client's share of this origin's connections. The app connection keeps the share of the exchange that it began last.
  /// While an exchange waits, it is that one.
  var share: OriginShare? { holdings.share }

  // MARK: What the subclass says and does

  /// Name of the client; nil: anonymous. A connection that authenticates serves the requests of one name.
  open var clientName: String? { nil }
  /// The asker that is charged for the look-up of the origin's name.
  open var nameAsker: NameAsker { .configuration }
  /// Nobody minds if the request reaches the origin twice.
  open var isIdempotent: Bool { false }
  /// The pool has lent `connection` to this exchange.
  open func begin() {}
  /// The pool could not open a connection.
  open func failed(_ error: UpstreamError) {}
  /// The connection can move bytes.
  open func pump() {}
  /// The connection's deadline, which the exchange armed, has passed.
  open func timeUp() {}
  /// The origin takes no more of the request, all of which was written.
  open func stalled() {}

  /// Number of the connection's HTTP/2 stream; nil: it speaks 1.1.
  public final var streamNumber: Int32? { connection?.streamNumber }
  /// Not nil: the connection's requests go to a parent in absolute-form.
  public final var absolute: AbsoluteForm? { connection?.absolute }

  // MARK: Messages

  /// Starts the deadline of the final head.
  public final func expectHead() {
    if awaitsHead, let connection { expectHead(on: connection) }
  }

  @inline(__always)
  private func expectHead(on connection: UpstreamConnection) {
    let loop = connection.loop
    loop.arm(connection, at: loop.now + (connection.holdsRequest ? min(stall, headTimeout) : headTimeout))
  }

  /// The connection's deadline has passed. What is written over HTTP/2 leaves as the origin's windows allow: until all of it has left, a
  /// window that stays shut is a stalled origin; the head's time begins after that.
  final func deadlinePassed() {
    guard awaitsHead, let connection, let moved = connection.requestMoved else { return timeUp() }
    let loop = connection.loop
    let isHeld = connection.holdsRequest
    let end = moved + (isHeld ? stall : headTimeout)
    guard loop.now >= end else { return loop.arm(connection, at: end) }
    connection.noteOverdue()
    if isHeld { stalled() } else { timeUp() }
  }

  /// Sends bytes of the request, and restarts the deadline of the final head.
  public final func write(_ bytes: UnsafeRawBufferPointer) -> ByteStream.Write {
    guard let connection else { return .failed }
    let result = connection.stream.write(bytes)
    if case .bytes = result, awaitsHead { expectHead(on: connection) }
    return result
  }

  public enum HeadReading {
    /// The bytes of a head, which was parsed into `Upstreams.responseHead`.
    case head(UnsafeRawBufferPointer)
    /// Nothing to read before the next event.
    case later
    case failed(UpstreamError)
  }

  /// Reads until a head is complete.
  /// - Parameter limit: largest size of the head, in bytes.
  public final func readHead(limit: Int) -> HeadReading {
    connection?.readHead(for: self, limit: limit) ?? .later
  }

  final func noteByte(at now: Int64) { if firstByte == 0 { firstByte = now } }

  /// Removes a used head from the block. The body or another head follows it.
  /// - Parameter isFinal: false for an interim response.
  public final func consumeHead(_ count: Int, isFinal: Bool) {
    guard let connection, let block = connection.inbound else { return }
    block.consume(count)
    guard isFinal else { return }
    awaitsHead = false
    connection.loop.disarm(connection)
    if block.isEmpty { block.clearForBody() }
  }

  // MARK: Ends

  /// Leaves the pool's line.
  /// - Returns: whether the exchange was held back because its client used its whole share.
  @discardableResult
  public final func leave() -> Bool {
    isWaiting = false
    return pool.abandon(self)
  }

  /// Nothing more is sent or read.
  /// - Parameter inStep: what was begun of both messages ended where its framing says, and the origin keeps the connection.
  public final func finish(inStep: Bool) {
    guard let connection else { return }
    self.connection = nil
    connection.finished(inStep: inStep)
  }

  /// Gives the exchange up. Its connection is out of step, so it is closed.
  public final func abort() {
    guard let connection else { return }
    self.connection = nil
    connection.close()
  }

  /// Gives the connection to a tunnel. The exchange has none afterwards.
  public final func detach() -> UpstreamConnection? {
    defer { connection = nil }
    return connection
  }

  /// The app spoke NTLM or Negotiate: from now on the connection serves only this app connection.
  public final func bindToClient() { connection?.bind(to: holdings, name: clientName) }

  /// The same, as the exchange that follows this one goes on with an authentication of the proxy's own.
  public final func keepForNext() {
    bindToClient()
    connection?.reserve()
  }

  /// The connection serves any exchange of its pool again.
  public final func unbindFromClient() { connection?.unbind() }
}
