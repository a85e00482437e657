import CSystem
import EventIO
import HTTPWire
import Streams
import TLS
import Trust

/// A connection to an origin: opened and judged here, lent to one attempt after another, pooled between them.
final class UpstreamConnection: EventHandler {
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
  unowned(unsafe) let worker: Worker
  var phase = Phase.resolving
  private(set) var stream = ByteStream(descriptor: -1)
  private var attempt: Attempt?
  /// Once NTLM or Negotiate was spoken over it.
  var owner: Owner?
  /// Of the client whose exchange is under way; the pool's, which counts it.
  var share: OriginShare?
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

  /// Nanoseconds that half a TLS record may take to become whole: many round trips, for what is a ticket as a rule.
  private static let settlingTime: Int64 = 2_000_000_000

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
  var wroteNothing: Bool { stream.bytesWritten == writtenBefore }

  // MARK: Opening

  func open() {
    loop.arm(self, at: loop.now + pool.timeouts.resolve)
    let host = origin.identity.host
    switch loop.resolver.lookUp(host, for: asker, deliver: { [unowned self] in self.resolved($0) }) {
    case .known(let answer): resolved(answer)
    case .pending(let waiter): lookup = waiter
    }
  }

  private var asker: NameAsker { worker.snapshot.writesOut(origin.identity.host) ? .configuration : pool.asker }

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
      stream = ByteStream(descriptor: descriptor, token: token)
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
        stream.secure(
          try TLSConnection(
            context: worker.context(for: origin), descriptor: descriptor, serverName: origin.identity.host,
            session: known?.session))
      } catch { return failOpening(.tlsFailed(error.message)) }
      phase = .handshaking
      handshake()
    }
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
    writtenBefore = stream.bytesWritten
    self.attempt = attempt
    attempt.begin(on: self)
  }

  /// The exchange has ended. The one way back to the pool: whatever led here, the connection is lent again only if nothing lies
  /// behind the answer, neither in the block nor in the TLS layer nor in the kernel.
  /// - Parameter inStep: both messages ended where they should, and the origin keeps the connection.
  func finished(inStep: Bool) {
    attempt = nil
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
    case .undecided:
      // One time for all of it: each byte that comes is an event.
      if phase != .settling { loop.arm(self, at: loop.now + Self.settlingTime) }
      phase = .settling
    case .unread: discard()
    case .end: close()
    }
  }

  private func rejoinPool() {
    guard let owner else {
      phase = .idle
      return pool.release(self)
    }
    guard owner.client.bound.contains(self) else { return close() }
    phase = .idle
    pool.keep(self)
  }

  /// Bytes came that nobody asked for: the next answer here could be anybody's.
  private func discard() {
    worker.observer.discarded(worker.snapshot.entries.first { $0.name == pool.upstream })
    close()
  }

  /// Idle in its pool.
  func rested(until deadline: Int64) {
    phase = .idle
    loop.arm(self, at: deadline)
  }

  /// A tunnel takes over the stream; what was read already goes along.
  /// - Returns: what was read already of the other protocol.
  func detach(to handler: EventHandler) -> Block? {
    phase = .detached
    attempt = nil
    unbind()
    loop.forget(self)
    if let token = stream.token { loop.hand(token, to: handler) }
    let rest = inbound
    inbound = nil
    return rest
  }

  /// A detached stream was closed by its tunnel.
  func tunnelEnded() {
    phase = .closed
    pool.ended(self, was: .active)
  }

  private func keepSessions() {
    guard let tls = stream.tls, let verdict, phase != .judging else { return }
    while let session = tls.takeSession() { worker.sessions.store(session, verdict, for: pool.trustKey) }
  }

  override func ready(_ events: UInt32, on loop: EventLoop) {
    stream.note(events)
    switch phase {
    case .active: attempt?.pump()
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
      phase = .settling
      loop.arm(self, at: loop.now + Self.settlingTime)
    case .unread: discard()
    case .end: close()
    }
  }

  override func expired(on loop: EventLoop) {
    switch phase {
    case .resolving: failOpening(.resolverTimeout(origin.identity.host))
    case .connecting, .handshaking: failOpening(.connectTimeout)
    case .idle, .settling: close()
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
    unbind()
    loop.forget(self)
    lookup?.cancel()
    race?.cancel()
    race = nil
    if gate != nil { worker.revocations.leave(self) }
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
