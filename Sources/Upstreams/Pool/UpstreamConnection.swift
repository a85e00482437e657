import CSystem
import Crypto
import EventIO
import HTTP2
import HTTPWire
import Streams
import TLS
import Trust

/// A connection to an origin: opened and judged here, lent to one exchange after another, idle in its pool between them. Or one stream
/// of an HTTP/2 connection, lent to one exchange.
public final class UpstreamConnection: EventHandler {
  enum Phase: UInt8 {
    case resolving, connecting, handshaking, judging
    /// Open and trusted, but part of a TLS record came before any request. It is not offered to the pool until the record is
    /// complete.
    case completing
    case idle, active
    /// It carries HTTP/2 streams, each of which is a connection to its exchange.
    case carrying
    /// Part of a TLS record came while no exchange ran. It is neither lent nor closed until the record is complete.
    case settling
    /// A tunnel uses its stream.
    case detached
    case closed
  }

  /// The pool holds this connection in turn, until the connection is closed.
  let pool: OriginPool
  /// Lives as long as its loop, which never ends.
  let upstreams: Upstreams
  /// Not by way of `upstreams`: what one object says of another is retained at each use.
  let loop: EventLoop
  var phase = Phase.resolving
  public private(set) var stream = ByteStream(descriptor: -1)
  private var exchange: Exchange?
  /// Set once the app spoke NTLM or Negotiate over it.
  private var owner: Owner?
  /// An authentication of the proxy's own goes on over it: the exchange that follows at once has it, and no other may close it until
  /// then.
  private(set) var isReserved = false
  /// Share of the client whose exchange is in progress. The pool sets it, and counts by it.
  var share: OriginShare?
  /// Bytes read and not yet used.
  public var inbound: Block?
  private var trickled: TrickledHead?
  private var dial: Dial?
  private var exchanges = 0
  private var writtenBefore = 0
  /// When the connection was begun, connected and secured, in nanoseconds of the loop's clock.
  public private(set) var began: Int64 = 0
  public private(set) var connected: Int64 = 0
  public internal(set) var secured: Int64 = 0
  /// Of the far end of the socket: the origin's, or the parent's.
  public private(set) var address: Address?
  /// The parent through which the origin is reached; nil: directly.
  public private(set) var parent: Parent?
  /// Not nil: requests go to the parent in absolute-form.
  public private(set) var absolute: AbsoluteForm?

  /// Not nil: requests go over it as HTTP/2 streams.
  private(set) var carrier: Carrier?
  /// Not nil: this is one of its streams.
  private let carried: CarriedStream?

  /// The verdict of the session that the proxy offered.
  var offered: VerdictRecord?
  /// The verdict by which the connection is trusted, and until when, in nanoseconds of the loop's clock. Of an http origin behind an
  /// https:// parent it is the parent's.
  var verdict: VerdictRecord?
  var trustedUntil = Int64.max
  /// When, on the same clock, the next use of this connection counts as a use of its revocation answers.
  var usesAnswersAt = Int64.max
  /// Not nil while the connection is judged.
  var gate: RevocationCheck?
  var isJudgedAgain = false

  /// Nanoseconds that a TLS record may take to complete: many round trips. The record is usually a session ticket.
  private static let settlingTime: Int64 = 2_000_000_000

  private final class TrickledHead { var head = ResponseHead() }

  init(_ pool: OriginPool, _ upstreams: Upstreams) {
    self.pool = pool
    self.upstreams = upstreams
    loop = upstreams.loop
    carried = nil
    began = upstreams.loop.now
  }

  /// A stream of the connection `root`.
  init(_ carried: CarriedStream, of root: UpstreamConnection, isReused: Bool) {
    pool = root.pool
    upstreams = root.upstreams
    loop = root.loop
    self.carried = carried
    stream = ByteStream(over: carried)
    exchanges = isReused ? 1 : 0
    began = root.began
    connected = root.connected
    secured = root.secured
    address = root.address
    parent = root.parent
    trustedUntil = root.trustedUntil
    phase = .idle
  }

  var origin: Origin { pool.origin }
  public var isReused: Bool { exchanges > 1 }
  /// Its name, TCP or TLS is not done.
  var isOpening: Bool { phase == .resolving || phase == .connecting || phase == .handshaking }
  /// What to say if its time was up now.
  var overdue: UpstreamError { dial?.overdue ?? .connectTimeout }
  /// What binds an authentication to this connection (RFC 5929); nil: there is no TLS, or its certificate has no hash for it.
  public private(set) lazy var endPointBinding: [UInt8]? = stream.tls?.endPointBinding
  /// No byte of the current exchange was sent.
  public var wroteNothing: Bool { stream.bytesWritten == writtenBefore }
  /// It has ended since it was lent, before a byte of the exchange was sent: whatever came over it is no answer.
  public var hasEndedUnused: Bool { stream.peerEnded && isReused && wroteNothing && !isCarried }
  /// Why it gives no answer, once it has failed.
  public var failure: UpstreamError { carried?.error ?? .connectionLost(stream.error) }
  /// Number of the HTTP/2 stream; nil: it speaks 1.1.
  public var streamNumber: Int32? { carried?.number }
  /// It is an HTTP/2 stream.
  public var isCarried: Bool { carried != nil }
  /// Bytes that were written wait for a window of the HTTP/2 connection.
  var holdsRequest: Bool { carried?.holdsRequest ?? false }
  /// When a byte of the request was last written to the HTTP/2 stream, or left on it; nil: it speaks 1.1.
  var requestMoved: Int64? { carried?.requestMoved }

  /// The app can take trailers behind a body with a length, which only HTTP/2 has.
  public func awaitTrailers() { carried?.answer.awaitsTrailers = true }
  /// Those trailers, once the body was read: lines with CRLF, and a blank one; empty: none.
  public var trailersBehindLength: [UInt8] { carried?.answer.trailersBehindLength ?? [] }

  /// What follows the body of a request with a length, before its last byte is written; over 1.1 it has no place.
  /// - Parameter lines: each with CRLF.
  public func take(trailers lines: [UInt8]) { carried?.take(trailers: lines) }

  /// Names that the app wants in no table of HPACK.
  public func mark(_ names: IndexedNames) { carried?.marked = names }

  /// No head has come in time.
  func noteOverdue() { carried?.isOverdue = true }

  /// The origin has answered 421.
  public func misdirected() { carried?.misdirected() }

  // MARK: Opening

  func open() {
    loop.arm(self, at: loop.now + pool.timeouts.resolve)
    let identity = origin.identity
    let target = Dial.Target(
      host: identity.host, port: identity.port, checksAddresses: identity.checksAddresses, route: origin.route,
      isClear: !identity.isTLS)
    let dial = Dial.to(target, on: upstreams) { [unowned self] in self.dialled($0) }
    self.dial = dial
    dial.start(for: pool.nameAsker, within: pool.timeouts.connect)
  }

  /// It, or its parent, waits for a revocation answer.
  var isJudging: Bool { phase == .judging || dial?.movedEnd == .max }

  private func dialled(_ progress: Dial.Progress) {
    switch progress {
    case .connecting:
      phase = .connecting
      loop.arm(self, at: loop.now + pool.timeouts.connect)
    case .failed(let error):
      dial = nil
      failOpening(error)
    case .connected(let result):
      dial = nil
      connected(result)
    }
  }

  private func connected(_ result: Dial.Connected) {
    let stream = result.stream
    self.stream = stream
    if let token = stream.token { loop.hand(token, to: self) }
    address = result.address
    parent = result.parent
    absolute = result.absolute
    connected = loop.clock()
    guard origin.identity.isTLS else {
      if let verdict = result.verdict { adopt(verdict) }
      return result.rest.isEmpty ? offer(isNew: true) : spokeFirst(isNew: true)
    }
    let known = upstreams.sessions.take(pool.trustKey, now: wallClockSeconds())
    offered = known?.record
    do {
      stream.secure(
        try TLSConnection(
          context: upstreams.context(for: origin), over: stream.tls, descriptor: stream.descriptor,
          serverName: origin.identity.host, offering: pool.offer, session: known?.session, received: result.rest))
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
        failOpening(refused(error.message, by: error.alert))
      }
    }
  }

  /// Why the handshake failed. An origin that has none of the offered protocols may say so by its alert (RFC 7301 section 3.2).
  private func refused(_ text: String, by alert: TLSAlert?) -> UpstreamError {
    guard alert == .noApplicationProtocol else { return .tlsFailed(text) }
    switch pool.offer {
    case .http2: return .http2(.notSpoken)
    case nil: return .tlsFailed("\(text): set http_version: auto, as HTTP/1.1 is not wanted here")
    case .http1, .http2AndHTTP1: return .tlsFailed(text)
    }
  }

  /// Offers an open and trusted connection to the pool, unless its origin has spoken: the next request would get that for its
  /// answer (RFC 9112 section 9.2).
  /// - Parameter isNew: no request was sent over it.
  func offer(isNew: Bool) {
    if let carrier { return pool.judged(carrier) }
    if isNew, origin.identity.streams != nil, negotiated() { return }
    switch stream.remainder() {
    case .quiet:
      loop.disarm(self)
      pool.opened(self)
    // Usually a session ticket.
    case .undecided:
      if phase != .completing { loop.arm(self, at: loop.now + Self.settlingTime) }
      phase = .completing
    case .unread: spokeFirst(isNew: isNew)
    case .end:
      if isNew { pool.unusable(self, absolute?.endedMute(wasAsked: false, now: loop.now) ?? .connectionLost(stream.error)) }
      close()
    }
  }

  /// Goes on by what the origin has chosen.
  /// - Returns: false: 1.1.
  private func negotiated() -> Bool {
    guard let tls = stream.tls else { return false }
    let chosen = tls.selectedProtocol
    let isFit = chosen != .http2 || tls.mayCarryHTTP2
    pool.chose(chosen, isFit: isFit)
    guard chosen == .http2 else {
      if pool.offer == .http2 {
        failOpening(.http2(.notSpoken))
        return true
      }
      return false
    }
    guard isFit else {
      if pool.offer == .http2 { failOpening(.http2(.weakCipher)) } else { close() }
      return true
    }
    loop.disarm(self)
    phase = .carrying
    let carrier = Carrier(self)
    self.carrier = carrier
    pool.opened(carrier)
    carrier.start()
    return true
  }

  private func spokeFirst(isNew: Bool) {
    if isNew { pool.unusable(self, .spokeFirst) }
    discard()
  }

  func failOpening(_ error: UpstreamError) {
    // The pool is told before the connection closes: closing frees a place, and the pool would open the next connection for the
    // exchanges that fail now.
    pool.failed(self, error)
    close()
  }

  // MARK: Exchanges

  func begin(_ exchange: Exchange) {
    phase = .active
    isReserved = false
    if loop.now >= usesAnswersAt { useAnswers() }
    exchanges += 1
    writtenBefore = stream.bytesWritten
    self.exchange = exchange
    exchange.connection = self
    exchange.isWaiting = false
    exchange.begin()
  }

  /// The owner of a connection: an app connection, and the client name of its requests.
  struct Owner {
    /// The holdings hold this connection in turn, until either is closed.
    let holdings: ClientHoldings
    let name: String?
  }

  /// From now on the connection belongs to that app connection.
  func bind(to holdings: ClientHoldings, name: String?) {
    guard owner == nil else { return }
    owner = Owner(holdings: holdings, name: name)
    holdings.add(self)
  }

  func unbind() {
    owner?.holdings.remove(self)
    owner = nil
    isReserved = false
  }

  /// Keeps it for the exchange that follows, once it belongs to an app connection.
  func reserve() { isReserved = owner != nil }

  /// It is idle since an earlier turn of the loop, so no exchange follows at once.
  private func endReservation() {
    guard isReserved else { return }
    isReserved = false
    pool.reservationEnded(self)
  }

  /// Whether an exchange of the app connection that it belongs to may use it. False if its verdict has expired, or if another
  /// user of the same app connection has authenticated over it.
  func mayServe(_ exchange: Exchange) -> Bool { isTrusted(at: loop.now) && owner?.name == exchange.clientName }

  /// Ends the exchange. This is the only way of a lent connection back to the pool. It is lent again only if nothing unread follows
  /// the response: in the block, in the TLS layer or in the kernel.
  /// - Parameter inStep: both messages ended where they should, and the origin keeps the connection.
  func finished(inStep: Bool) {
    exchange = nil
    rest()
    if inStep { carried?.answered() }
    guard inStep, carried == nil else { return close() }
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

  /// Arms one deadline for the whole record, because each byte that arrives is an event and calls this again.
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

  /// Bytes arrived that no request asked for, or part of a TLS record that was never completed. The next response on this
  /// connection could belong to any request.
  private func discard() {
    upstreams.observer.discarded(upstream: pool.upstream)
    close()
  }

  /// Makes it idle in its pool until `deadline`, in nanoseconds of the loop's clock.
  func rested(until deadline: Int64) {
    phase = .idle
    loop.arm(self, at: deadline)
    if isReserved { loop.again(self) }
  }

  /// Gives the stream to a tunnel.
  /// - Returns: bytes of the other protocol that were already read; nil: none.
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

  /// The tunnel has closed the detached stream.
  public func tunnelEnded() {
    phase = .closed
    pool.ended(self, was: .active)
  }

  func keepSessions() {
    guard let tls = stream.tls, verdict != nil, phase != .judging, gate == nil else { return }
    // Rare, while the verdict is an array or two to retain.
    while let session = tls.takeSession(), let verdict { upstreams.sessions.store(session, verdict, for: trustKey) }
  }

  override public func ready(_ events: UInt32, on loop: EventLoop) {
    stream.note(events)
    switch phase {
    case .active: exchange?.pump()
    case .carrying: carrier?.ready()
    case .idle:
      endReservation()
      if phase == .idle { lookWhileIdle() }
    case .settling: settle()
    case .handshaking: handshake()
    case .completing: offer(isNew: exchanges == 0)
    default: break
    }
  }

  /// Takes TLS 1.3 tickets, which arrive on idle connections. Data or the end of the stream closes the connection.
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
    case .connecting:
      if let end = dial?.movedEnd, end > loop.now { return loop.arm(self, at: min(end, loop.now + pool.timeouts.connect)) }
      failOpening(dial?.timeUp() ?? .connectTimeout)
    case .handshaking: failOpening(.connectTimeout)
    case .idle: close()
    case .settling: discard()
    case .completing: spokeFirst(isNew: exchanges == 0)
    case .active: exchange?.deadlinePassed()
    case .carrying: carrier?.timeUp()
    case .judging, .detached, .closed: break
    }
  }

  // MARK: Reading

  /// Reads until a head is complete.
  /// - Parameter limit: largest size of the head, in bytes.
  func readHead(for exchange: Exchange, limit: Int) -> Exchange.HeadReading {
    while true {
      if let bytes = inbound?.bytes, !bytes.isEmpty {
        switch parseHead(bytes, limit: limit) {
        case .complete: return .head(UnsafeRawBufferPointer(rebasing: bytes[..<upstreams.responseHead.length]))
        case .invalid(let error): return .failed(UpstreamError(head: error))
        case .incomplete: break
        }
      }
      switch stream.read(into: spaceForHead()) {
      case .bytes(let count):
        exchange.noteByte(at: loop.now)
        inbound?.end += count
      case .later:
        rest()
        return .later
      case .end, .truncated, .failed: return .failed(failure)
      }
    }
  }

  private func parseHead(_ bytes: UnsafeRawBufferPointer, limit: Int) -> HeadOutcome {
    if let trickled {
      let outcome = trickled.head.parse(bytes, limit: limit)
      if outcome == .complete {
        swap(&upstreams.responseHead, &trickled.head)
        self.trickled = nil
      }
      return outcome
    }
    upstreams.responseHead.reset()
    let outcome = upstreams.responseHead.parse(bytes, limit: limit)
    if outcome == .incomplete { trickled = TrickledHead() }
    return outcome
  }

  private func spaceForHead() -> UnsafeMutableRawBufferPointer {
    guard let block = inbound else {
      let block = loop.blocks.borrow()
      inbound = block
      return block.bodySpace
    }
    if block.isEmpty { block.clear() } else { block.compact() }
    if block.bodySpace.isEmpty || block.capacity < BlockPool.small {
      let larger = block.capacity < BlockPool.small ? loop.blocks.borrow() : Block(capacity: block.capacity * 2)
      larger.append(block.bytes)
      loop.blocks.giveBack(block)
      inbound = larger
      return larger.bodySpace
    }
    return block.bodySpace
  }

  /// The block to read the body into. Its content stays, but only an empty block may be exchanged for a large one (`isBulk`).
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

  /// There is nothing to do until the next event: gives an empty buffer back.
  public func rest() {
    if inbound?.isEmpty == true, let block = inbound.take() { loop.blocks.giveBack(block) }
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
    if let carried {
      if let block = inbound { loop.blocks.giveBack(block) }
      inbound = nil
      stream.close(on: loop)
      pool.streamEnded(self)
      return carried.left()
    }
    if let carrier {
      self.carrier = nil
      carrier.closed()
    }
    let mayBeAnswered = stream.descriptor >= 0 && !wroteNothing
    let late = mayBeAnswered ? absolute?.lateAnswer(stream, inbound.map { Array($0.bytes) } ?? []) : nil
    if let block = inbound { loop.blocks.giveBack(block) }
    inbound = nil
    if let late {
      late.start()
    } else if stream.descriptor >= 0 {
      if was != .judging { keepSessions() }
      stream.close(on: loop)
    }
    pool.ended(self, was: was)
  }
}
