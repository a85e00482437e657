import EventIO
import Streams

/// One request's turn with an origin: it waits in the pool's line, is lent a connection, and gives it back.
///
/// Whoever sends and receives over it subclasses it: the methods that are `open` are called on the pool's loop, none of them after
/// `finish`, `abort`, `detach` or `leave`. The pool and the connection own it until then.
open class Exchange {
  public let pool: OriginPool
  /// Of the app connection that the request came from.
  let holdings: ClientHoldings
  public internal(set) var connection: UpstreamConnection?

  /// A connection is waited for.
  public internal(set) var isWaiting = false
  /// The final head of the answer has not come.
  public private(set) var awaitsHead = true
  /// When the first byte of an answer came, in nanoseconds of the loop's clock; 0: none did.
  public private(set) var firstByte: Int64 = 0
  /// Nanoseconds in which the final head must follow what was written.
  private let headTimeout: Int64

  /// - Parameters:
  ///   - account: whose exchange it is.
  ///   - holdings: of the app connection that it came from.
  ///   - timeouts: of its entry.
  public init(_ pool: OriginPool, of account: ClientAccount, for holdings: ClientHoldings, timeouts: Deadlines) {
    self.pool = pool
    self.holdings = holdings
    headTimeout = timeouts.responseHead
    holdings.takeShare(of: pool.limit, for: account)
  }

  /// Its client's part of the origin's connections. The app connection remembers that of the exchange that it began last, which is
  /// this one for as long as it waits.
  var share: OriginShare? { holdings.share }

  // MARK: What the subclass says and does

  /// Name of the client: a connection that authenticates serves the requests of one name.
  open var clientName: String? { nil }
  /// Who is charged for looking the origin's name up.
  open var nameAsker: NameAsker { .configuration }
  /// `connection` is this exchange's from now on.
  open func begin() {}
  /// No connection could be had.
  open func failed(_ error: UpstreamError) {}
  /// The connection can move bytes.
  open func pump() {}
  /// The connection's deadline, which the exchange armed, has passed.
  open func timeUp() {}

  // MARK: Messages

  /// The final head must come within its time from now on.
  public final func expectHead() {
    if awaitsHead, let connection { expectHead(on: connection) }
  }

  @inline(__always)
  private func expectHead(on connection: UpstreamConnection) {
    let loop = pool.upstreams.loop
    loop.arm(connection, at: loop.now + headTimeout)
  }

  /// Sends bytes of the request; the answer's time begins again.
  public final func write(_ bytes: UnsafeRawBufferPointer) -> ByteStream.Write {
    guard let connection else { return .failed }
    let result = connection.stream.write(bytes)
    if case .bytes = result, awaitsHead { expectHead(on: connection) }
    return result
  }

  public enum HeadReading {
    /// The bytes of a head, which was parsed into `Upstreams.responseHead`.
    case head(UnsafeRawBufferPointer)
    /// Nothing before the next event.
    case later
    case failed(UpstreamError)
  }

  /// Reads until a head is whole.
  /// - Parameter limit: bytes that it may have.
  public final func readHead(limit: Int) -> HeadReading {
    guard let connection else { return .later }
    let upstreams = pool.upstreams
    while true {
      if let block = connection.inbound, !block.isEmpty {
        switch connection.parseHead(limit: limit) {
        case .complete:
          return .head(UnsafeRawBufferPointer(start: block.base + block.start, count: upstreams.responseHead.length))
        case .invalid(let error): return .failed(UpstreamError(head: error))
        case .incomplete: break
        }
      }
      switch connection.stream.read(into: connection.roomForHead().bodySpace) {
      case .bytes(let count):
        if firstByte == 0 { firstByte = upstreams.loop.now }
        connection.inbound?.end += count
      case .later:
        connection.rest()
        return .later
      case .end, .truncated, .failed: return .failed(.connectionLost(connection.stream.error))
      }
    }
  }

  /// The head was used; what follows it is the body, or another head.
  /// - Parameter isFinal: false for an interim response.
  public final func consumeHead(_ count: Int, isFinal: Bool) {
    guard let connection, let block = connection.inbound else { return }
    block.consume(count)
    guard isFinal else { return }
    awaitsHead = false
    pool.upstreams.loop.disarm(connection)
    if block.isEmpty { block.clearForBody() }
  }

  // MARK: Ends

  /// Waits no longer.
  /// - Returns: whether it was held back, as its client had all of its share.
  @discardableResult
  public final func leave() -> Bool {
    isWaiting = false
    return pool.abandon(self)
  }

  /// Both messages are over.
  /// - Parameter inStep: both ended where they should, and the origin keeps the connection.
  public final func finish(inStep: Bool) {
    guard let connection else { return }
    self.connection = nil
    connection.finished(inStep: inStep)
  }

  /// Gives the exchange up: its connection is out of step and is closed.
  public final func abort() {
    guard let connection else { return }
    self.connection = nil
    connection.close()
  }

  /// Hands the connection over to a tunnel.
  public final func detach() -> UpstreamConnection? {
    defer { connection = nil }
    return connection
  }

  /// NTLM or Negotiate was spoken: the connection serves no other app connection from now on.
  public final func bindToClient() { connection?.bind(to: holdings, name: clientName) }
}
