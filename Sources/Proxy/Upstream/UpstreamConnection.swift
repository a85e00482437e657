import CSystem
import EventIO
import HTTPWire
import TLS
import Trust

/// A connection to an origin: opened and judged here, lent to one attempt after another, pooled between them.
final class UpstreamConnection: EventHandler {
  enum Phase: UInt8 {
    case resolving, connecting, handshaking, judging
    case idle, active
    /// A tunnel's.
    case detached
    case closed
  }

  /// Holds this connection in turn, until that is closed.
  let pool: OriginPool
  /// Lives as long as its loop, which never ends.
  unowned(unsafe) let worker: Worker
  var phase = Phase.resolving
  private(set) var transport = Transport(descriptor: -1)
  private var attempt: Attempt?
  /// Bytes read and not yet used.
  var inbound: Block?
  private var trickled: TrickledHead?
  private var lookup: Resolver.Waiter?
  private var race: ConnectionRace?
  private var exchanges = 0
  private var writtenBefore = 0
  /// Nanoseconds: when it was begun, connected, secured.
  private(set) var began: Int64 = 0
  private(set) var connected: Int64 = 0
  var secured: Int64 = 0
  private(set) var address: Address?

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

  private final class TrickledHead { var head = ResponseHead() }

  init(_ pool: OriginPool, _ worker: Worker) {
    self.pool = pool
    self.worker = worker
    began = worker.loop.now
  }

  var loop: EventLoop { worker.loop }
  var origin: Origin { pool.origin }
  var isReused: Bool { exchanges > 1 }
  /// Not a byte of the present exchange has gone out.
  var wroteNothing: Bool { transport.bytesWritten == writtenBefore }

  // MARK: Opening

  func open() {
    loop.arm(self, at: loop.now + pool.timeouts.resolve)
    switch loop.resolver.lookUp(origin.identity.host, deliver: { [unowned self] in self.resolved($0) }) {
    case .known(let answer): resolved(answer)
    case .pending(let waiter): lookup = waiter
    }
  }

  private func resolved(_ answer: Resolver.Answer) {
    lookup = nil
    guard phase == .resolving else { return }
    switch answer {
    case .failure(.notFound): failOpening(.nameNotFound(origin.identity.host))
    case .failure(.broken(let text)): failOpening(.resolverFailed(origin.identity.host, text))
    case .failure(.overloaded): failOpening(.resolverFailed(origin.identity.host, "too many look-ups are waiting"))
    case .success(var addresses):
      for index in addresses.indices { addresses[index].port = origin.identity.port }
      if origin.identity.checksAddresses {
        addresses = worker.permitted(addresses)
        guard !addresses.isEmpty else { return failOpening(.addressForbidden(origin.identity.host)) }
      }
      phase = .connecting
      loop.arm(self, at: loop.now + pool.timeouts.connect)
      let race = ConnectionRace(on: loop, to: addresses) { [unowned self] in self.raced($0) }
      self.race = race
      race.start()
    }
  }

  private func raced(_ result: Result<(descriptor: Int32, token: Token, address: Address), ConnectionRace.Failure>) {
    race = nil
    switch result {
    case .failure(.system(let error)): failOpening(.connectFailed(error))
    case .failure(.outOfDescriptors):
      worker.ranOutOfDescriptors()
      failOpening(.outOfDescriptors)
    case .success(let (descriptor, token, address)):
      transport = Transport(descriptor: descriptor, token: token)
      loop.hand(token, to: self)
      self.address = address
      if origin.identity.checksAddresses, worker.isOwnListener(connected: descriptor, to: address) {
        return failOpening(.addressForbidden(origin.identity.host))
      }
      connected = loop.clock()
      guard origin.identity.isTLS else { return pool.opened(self) }
      let known = worker.sessions.take(pool.trustKey, now: wallClockSeconds())
      offered = known?.record
      do {
        transport.tls = try TLSConnection(
          context: worker.context(for: origin), descriptor: descriptor, serverName: origin.identity.host,
          session: known?.session)
      } catch { return failOpening(.tlsFailed(error.message)) }
      phase = .handshaking
      handshake()
    }
  }

  private func handshake() {
    guard let tls = transport.tls else { return }
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

  func failOpening(_ error: ProxyError) {
    // Told before it is closed: closing frees a place, and the next connection would be begun for those who fail now.
    pool.failed(self, error)
    close()
  }

  // MARK: Exchanges

  func begin(_ attempt: Attempt) {
    phase = .active
    if loop.now >= usesAnswersAt { useAnswers() }
    exchanges += 1
    writtenBefore = transport.bytesWritten
    self.attempt = attempt
    attempt.begin(on: self)
  }

  /// The exchange has ended; in step, where `reusable`.
  func finished(reusable: Bool) {
    attempt = nil
    rest()
    guard reusable, inbound == nil, !transport.sawEnd else { return close() }
    keepSessions()
    phase = .idle
    pool.release(self)
  }

  /// Idle in its pool.
  func rested(until deadline: Int64) {
    phase = .idle
    loop.arm(self, at: deadline)
  }

  /// A tunnel takes over the transport; what was read already goes along.
  func detach(to handler: EventHandler) -> (Transport, Block?) {
    phase = .detached
    attempt = nil
    loop.forget(self)
    if let token = transport.token { loop.hand(token, to: handler) }
    let rest = inbound
    inbound = nil
    return (transport, rest)
  }

  /// A detached transport was closed by its tunnel.
  func tunnelEnded() {
    phase = .closed
    pool.ended(self, was: .active)
  }

  private func keepSessions() {
    guard let tls = transport.tls, let verdict, phase != .judging else { return }
    while let session = tls.takeSession() { worker.sessions.store(session, verdict, for: pool.trustKey) }
  }

  override func ready(_ events: UInt32, on loop: EventLoop) {
    transport.note(events)
    switch phase {
    case .active: attempt?.pump()
    case .idle: readWhileIdle()
    case .handshaking: handshake()
    default: break
    }
  }

  /// TLS 1.3 tickets come on idle connections; data or an end closes them.
  private func readWhileIdle() {
    if !isQuiet() { close() }
  }

  /// Whether the origin, which owes nothing, neither left nor said anything but what belongs to TLS.
  func isQuiet() -> Bool {
    guard transport.readable else { return true }
    guard transport.tls != nil, !transport.sawEnd else { return false }
    let block = loop.blocks.borrow()
    let count = transport.read(into: block.space)
    loop.blocks.giveBack(block)
    keepSessions()
    return count == Transport.Result.blocked
  }

  override func expired(on loop: EventLoop) {
    switch phase {
    case .resolving: failOpening(.resolverTimeout(origin.identity.host))
    case .connecting, .handshaking: failOpening(.connectTimeout)
    case .idle: close()
    case .active: attempt?.headTimerExpired()
    case .judging, .detached, .closed: break
    }
  }

  // MARK: Reading

  func parseHead(limit: Int) -> HeadOutcome {
    guard let block = inbound else { return .incomplete }
    if let trickled {
      let outcome = trickled.head.parse(block.bytes, limit: limit)
      if outcome == .complete {
        swap(&worker.responseHead, &trickled.head)
        self.trickled = nil
      }
      return outcome
    }
    worker.responseHead.reset()
    let outcome = worker.responseHead.parse(block.bytes, limit: limit)
    if outcome == .incomplete { trickled = TrickledHead() }
    return outcome
  }

  func roomForHead() -> Block {
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
  func blockForBody(isBulk: Bool) -> Block {
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
  func rest() {
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
    attempt = nil
    loop.forget(self)
    lookup?.cancel()
    race?.cancel()
    race = nil
    if gate != nil { worker.revocations.leave(self) }
    gate = nil
    if let block = inbound { loop.blocks.giveBack(block) }
    inbound = nil
    if transport.descriptor >= 0 {
      if was != .judging { keepSessions() }
      transport.close(on: loop)
    }
    pool.ended(self, was: was)
  }
}
