import CSystem
import EventIO
import HTTPWire
import Streams
import TLS
import Trust

/// A connection to an origin: opened and judged here, lent to one exchange after another, pooled between them.
public final class UpstreamConnection: EventHandler {
  enum Phase: UInt8 {
    case resolving, connecting, handshaking, judging
    case idle, active
    /// Its exchange has ended, and half a TLS record came behind it: neither lent nor closed before that is whole.
    case settling
    /// A tunnel's.
    case detached
    case closed
  }

  /// Holds this connection in turn, until that is closed.
  let pool: OriginPool
  /// Lives as long as its loop, which never ends.
  unowned(unsafe) let upstreams: Upstreams
  var phase = Phase.resolving
  public private(set) var stream = ByteStream(descriptor: -1)
  private var exchange: Exchange?
  /// Once NTLM or Negotiate was spoken over it.
  private var owner: Owner?
  /// Of the client whose exchange is under way; the pool's, which counts it.
  var share: OriginShare?
  /// Bytes read and not yet used.
  public var inbound: Block?
  private var trickled: TrickledHead?
  private var dial: Dial?
  private var exchanges = 0
  private var writtenBefore = 0
  /// Nanoseconds: when it was begun, connected, secured.
  public private(set) var began: Int64 = 0
  public private(set) var connected: Int64 = 0
  public internal(set) var secured: Int64 = 0
  public private(set) var address: Address?

  /// The verdict of the session that was offered.
  var offered: VerdictRecord?
  /// What the connection was trusted by, and until when (nanoseconds of the loop's clock).
  var verdict: VerdictRecord?
  var trustedUntil = Int64.max
  /// When, on the same clock, a use of this connection counts as one of the answers that it rests on.
  var usesAnswersAt = Int64.max
  /// Not nil while it is judged.
  var gate: RevocationCheck?
  var isJudgedAgain = false

  /// Nanoseconds that half a TLS record may take to become whole: many round trips, for what is a ticket as a rule.
  private static let settlingTime: Int64 = 2_000_000_000

  private final class TrickledHead { var head = ResponseHead() }

  init(_ pool: OriginPool, _ upstreams: Upstreams) {
    self.pool = pool
    self.upstreams = upstreams
    began = upstreams.loop.now
  }

  var loop: EventLoop { upstreams.loop }
  var origin: Origin { pool.origin }
  public var isReused: Bool { exchanges > 1 }
  /// Not a byte of the present exchange has gone out.
  public var wroteNothing: Bool { stream.bytesWritten == writtenBefore }

  // MARK: Opening

  func open() {
    loop.arm(self, at: loop.now + pool.timeouts.resolve)
    let identity = origin.identity
    let target = Dial.Target(host: identity.host, port: identity.port, checksAddresses: identity.checksAddresses)
    let dial = Dial(target, on: upstreams) { [unowned self] in self.dialled($0) }
    self.dial = dial
    dial.start(for: pool.nameAsker)
  }

  private func dialled(_ progress: Dial.Progress) {
    switch progress {
    case .connecting:
      phase = .connecting
      loop.arm(self, at: loop.now + pool.timeouts.connect)
    case .failed(let error):
      dial = nil
      failOpening(error)
    case .connected(let stream, let address):
      dial = nil
      connected(stream, address)
    }
  }

  private func connected(_ stream: ByteStream, _ address: Address) {
    self.stream = stream
    if let token = stream.token { loop.hand(token, to: self) }
    self.address = address
    connected = loop.clock()
    guard origin.identity.isTLS else { return pool.opened(self) }
    let known = upstreams.sessions.take(pool.trustKey, now: wallClockSeconds())
    offered = known?.record
    do {
      stream.secure(
        try TLSConnection(
          context: upstreams.context(for: origin), descriptor: stream.descriptor, serverName: origin.identity.host,
          session: known?.session))
    } catch { return failOpening(.tlsFailed(error.message)) }
    phase = .handshaking
    handshake()
  }

  private func handshake() {
    guard let tls = stream.tls else { return }
    switch tls.handshake() {
    case .done: judge()
    case .wantRead, .wantWrite: break
    case .failed(let error):
      if let refusal = tls.refusal {
        refuse(refusal)
      } else {
        failOpening(.tlsFailed(error.message))
      }
    }
  }

  func failOpening(_ error: UpstreamError) {
    // Told before it is closed: closing frees a place, and the next connection would be begun for those who fail now.
    pool.failed(self, error)
    close()
  }

  // MARK: Exchanges

  func begin(_ exchange: Exchange) {
    phase = .active
    if loop.now >= usesAnswersAt { useAnswers() }
    exchanges += 1
    writtenBefore = stream.bytesWritten
    self.exchange = exchange
    exchange.connection = self
    exchange.isWaiting = false
    exchange.begin()
  }

  /// Whom it belongs to: an app connection, and the name that its requests came under.
  struct Owner {
    /// Holds this connection in turn, until either is closed.
    let holdings: ClientHoldings
    let name: String?
  }

  /// It belongs to that app connection from now on.
  func bind(to holdings: ClientHoldings, name: String?) {
    guard owner == nil else { return }
    owner = Owner(holdings: holdings, name: name)
    holdings.add(self)
  }

  private func unbind() {
    owner?.holdings.remove(self)
    owner = nil
  }

  /// Not where its verdict has run out, or another user of the same app connection has authenticated over it.
  func mayServe(_ exchange: Exchange) -> Bool { isTrusted(at: loop.now) && owner?.name == exchange.clientName }

  /// The exchange has ended. The one way back to the pool: whatever led here, the connection is lent again only if nothing lies
  /// behind the answer, neither in the block nor in the TLS layer nor in the kernel.
  /// - Parameter inStep: both messages ended where they should, and the origin keeps the connection.
  func finished(inStep: Bool) {
    exchange = nil
    rest()
    guard inStep else { return close() }
    guard inbound == nil else { return discard() }
    settle()
  }

  private func settle() {
    switch stream.remainder() {
    case .quiet:
      keepSessions()
      rejoinPool()
    case .undecided: beginSettling()
    case .unread: discard()
    case .end: close()
    }
  }

  /// One time for all of it: each byte that comes is an event.
  private func beginSettling() {
    if phase != .settling { loop.arm(self, at: loop.now + Self.settlingTime) }
    phase = .settling
  }

  private func rejoinPool() {
    guard let owner else {
      phase = .idle
      return pool.release(self)
    }
    guard owner.holdings.contains(self) else { return close() }
    phase = .idle
    pool.keep(self)
  }

  /// Bytes came that nobody asked for: the next answer here could be anybody's.
  private func discard() {
    upstreams.observer.discarded(upstream: pool.upstream)
    close()
  }

  /// Idle in its pool.
  func rested(until deadline: Int64) {
    phase = .idle
    loop.arm(self, at: deadline)
  }

  /// A tunnel takes over the stream; what was read already goes along.
  /// - Returns: what was read already of the other protocol.
  public func detach(to handler: EventHandler) -> Block? {
    phase = .detached
    exchange = nil
    unbind()
    loop.forget(self)
    if let token = stream.token { loop.hand(token, to: handler) }
    let rest = inbound
    inbound = nil
    return rest
  }

  /// A detached stream was closed by its tunnel.
  public func tunnelEnded() {
    phase = .closed
    pool.ended(self, was: .active)
  }

  private func keepSessions() {
    guard let tls = stream.tls, let verdict, phase != .judging else { return }
    while let session = tls.takeSession() { upstreams.sessions.store(session, verdict, for: pool.trustKey) }
  }

  override public func ready(_ events: UInt32, on loop: EventLoop) {
    stream.note(events)
    switch phase {
    case .active: exchange?.pump()
    case .idle: lookWhileIdle()
    case .settling: settle()
    case .handshaking: handshake()
    default: break
    }
  }

  /// TLS 1.3 tickets come on idle connections; data or an end closes them.
  private func lookWhileIdle() {
    switch stream.remainder() {
    case .quiet: keepSessions()
    case .undecided:
      pool.withdraw(self)
      beginSettling()
    case .unread: discard()
    case .end: close()
    }
  }

  override public func expired(on loop: EventLoop) {
    switch phase {
    case .resolving: failOpening(.resolverTimeout(origin.identity.host))
    case .connecting, .handshaking: failOpening(.connectTimeout)
    case .idle, .settling: close()
    case .active: exchange?.timeUp()
    case .judging, .detached, .closed: break
    }
  }

  // MARK: Reading

  public func parseHead(limit: Int) -> HeadOutcome {
    guard let block = inbound else { return .incomplete }
    if let trickled {
      let outcome = trickled.head.parse(block.bytes, limit: limit)
      if outcome == .complete {
        swap(&upstreams.responseHead, &trickled.head)
        self.trickled = nil
      }
      return outcome
    }
    upstreams.responseHead.reset()
    let outcome = upstreams.responseHead.parse(block.bytes, limit: limit)
    if outcome == .incomplete { trickled = TrickledHead() }
    return outcome
  }

  public func roomForHead() -> Block {
    guard let block = inbound else {
      let block = loop.blocks.borrow()
      inbound = block
      return block
    }
    if block.isEmpty { block.clear() } else { block.compact() }
    if block.bodySpace.isEmpty || block.capacity < BlockPool.small {
      let larger = block.capacity < BlockPool.small ? loop.blocks.borrow() : Block(capacity: block.capacity * 2)
      larger.append(block.bytes)
      loop.blocks.giveBack(block)
      inbound = larger
      return larger
    }
    return block
  }

  /// The block that the body is read into; what stands in it stays. A large one where much is to come.
  public func blockForBody(isBulk: Bool) -> Block {
    if let block = inbound, !isBulk || block.capacity >= BlockPool.large {
      if block.isEmpty { block.clearForBody() }
      return block
    }
    if let block = inbound { loop.blocks.giveBack(block) }
    let block = isBulk ? loop.blocks.borrowLarge() : loop.blocks.borrow()
    block.clearForBody()
    inbound = block
    return block
  }

  /// Nothing to do until the next event: an empty buffer goes back.
  public func rest() {
    guard let block = inbound else { return }
    if block.isEmpty {
      inbound = nil
      loop.blocks.giveBack(block)
    }
  }

  // MARK: End

  func close() {
    guard phase != .closed else { return }
    let was = phase
    phase = .closed
    exchange = nil
    unbind()
    loop.forget(self)
    dial?.cancel()
    dial = nil
    if gate != nil { upstreams.revocations.leave(self) }
    gate = nil
    if let block = inbound { loop.blocks.giveBack(block) }
    inbound = nil
    if stream.descriptor >= 0 {
      if was != .judging { keepSessions() }
      stream.close(on: loop)
    }
    pool.ended(self, was: was)
  }
}
