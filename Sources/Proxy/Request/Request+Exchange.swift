import EventIO
import HTTPWire
import Streams
import Upstreams

/// The exchange with the origin: a connection, head and body up, the answer down, both at once where both have something to move.
/// Each direction stops when its sink is full and goes on when that drains: nothing is buffered beyond one block.
extension Request {
  /// Pooled connections that turn out closed in a row before none of the idle ones is tried any more.
  private static let staleLimit = 3
  /// Upper bound on interim responses per request; more is treated as a broken origin.
  private static let interimLimit = 100
  /// Nanoseconds that an origin may stay silent on `Expect: 100-continue` before its body is sent all the same.
  private static let patience: Int64 = 1_000_000_000
  /// Nanoseconds that such an origin is not asked again.
  private static let silenceIsRemembered: Int64 = 3_600_000_000_000

  // MARK: Connection

  func connect() -> RequestMachine.Input? {
    let loop = loop
    if attempt.exchange != nil { attempt.end(on: loop) }
    guard let way, let account else { return failing(.internalError) }
    let exchange = RequestExchange(self, way, of: account)
    attempt.begin(exchange)
    record.upstream.attempts += 1
    if let attached = authorization.attached {
      record.credential.name = attached.name
      record.credential.version = attached.version
    }
    let timeouts = way.entry.timeouts
    loop.arm(timer, at: loop.now + timeouts.connect + (way.pool.isWarm ? 0 : timeouts.resolve))
    way.pool.serve(exchange, timeouts: timeouts)
    if exchange.isWaiting { park() }
    return nil
  }

  func reconnect() -> RequestMachine.Input? {
    // An origin that restarted has closed them all.
    if machine.staleConnections == Self.staleLimit { way?.pool.dropIdle() }
    if let entry = way?.entry { services.observer.retried(entry, .staleConnection) }
    return connect()
  }

  // MARK: Repeating

  /// Whether all that was read of the body can be sent again.
  var canReplay: Bool { body.canReplay }

  /// Whether the entry's `retry` allows one more attempt for this request.
  var mayRetry: Bool {
    guard let policy = way?.entry.settings.retry, machine.retries < policy.attempts else { return false }
    return message.outbound.method.isIdempotent && canReplay && policy.methods.contains(record.target.method)
  }

  /// Waits before the next try.
  func pause() -> RequestMachine.Input? {
    guard let entry = way?.entry else { return failing(.internalError) }
    let wish = attempt.dropped?.retryAfter
    services.observer.retried(entry, attempt.dropped == nil ? .failure : .status)
    attempt.end(on: loop)
    let policy = entry.settings.retry
    let backoff = policy.backoff << min(machine.retries - 1, 16)
    // Full jitter over the upper half: repeats of many requests spread.
    let delay = wish.map { $0 * 1_000 } ?? (backoff / 2 + Int.random(in: 0...max(backoff / 2, 1)))
    loop.arm(timer, afterMilliseconds: min(delay, policy.maxWait))
    return nil
  }

  // MARK: Sending

  /// The head, and what of the body is here, to the connection that was lent.
  func send() -> RequestMachine.Input? {
    guard let exchange = attempt.exchange, let connection = exchange.connection, let way, let head = message.head else {
      return failing(.internalError)
    }
    // It has left while the request waited, or with the last byte that it sent.
    guard !app.stream.peerEnded else {
      exchange.finish(inStep: true)
      return .clientBroken
    }
    guard isStillAuthorized() else {
      exchange.finish(inStep: true)
      record.upstream.attempts -= 1
      return .credentialExpired
    }
    let (loop, pulse) = (loop, pulse)
    pulse.moved()
    note(connection)
    if message.outbound.authenticatesConnection { exchange.bindToClient() }
    let credential = authorization.attached?.line
    let size = head.count + (credential?.count ?? 0) + 32
    // A head beyond a block's size: configured so.
    let block = size <= BlockPool.small ? loop.blocks.borrow() : Block(capacity: size)
    block.append(head.bytes)
    if let credential { block.append(credential) }
    attempt.upload.begin(block, droppingTrailersNamed: credential == nil ? [] : way.entry.rules.credentialField)
    if !body.isDone, let input = askBeforeBody(block) { return input }
    block.append("\r\n")
    exchange.expectHead()
    if let outcome = attempt.upload.join(&body, to: block, from: app, pulse), let input = ended(outcome) {
      return input
    }
    return pumpUp()
  }

  /// Asks the origin for 100 before a body that, once spent, could not be sent again; else an app that waits for it is told now.
  /// - Returns: the input if the request ends here.
  private func askBeforeBody(_ block: Block) -> RequestMachine.Input? {
    // Whether a chunked body can be kept shows when it is whole at once. Only a request with a credential has reason to ask.
    if body.isChunked, authorization.attached != nil, !message.expectsContinue,
      let outcome = attempt.upload.readChunksAtHand(of: &body, from: app, pulse), let input = ended(outcome)
    {
      return input
    }
    guard asksBeforeBody else { return continueApp() }
    block.append("Expect: 100-continue\r\n")
    let timer = ContinueTimer(self)
    attempt.awaitContinue(timer)
    loop.arm(timer, at: loop.now + Self.patience)
    return nil
  }

  private var asksBeforeBody: Bool {
    // What was read of the body can be sent again: it is not spent.
    guard !body.isDone, canReplay, !machine.hasMetExpectationFailure, way?.pool.limit.isSilent(at: loop.now) == false else {
      return false
    }
    return message.expectsContinue || authorization.attached != nil && body.mayExceedTee(isLast: machine.isResent)
  }

  /// It may not know the expectation: the body is sent.
  func originStayedSilent() {
    guard attempt.awaitsContinue, attempt.awaitsHead, attempt.exchange?.connection != nil else { return }
    attempt.stopWaitingForContinue(on: loop)
    way?.pool.limit.noteSilence(until: loop.now + Self.silenceIsRemembered)
    take(continueApp() ?? pumpUp())
  }

  /// Moves what can be moved towards the origin.
  func pumpUp() -> RequestMachine.Input? {
    guard let exchange = attempt.exchange else { return nil }
    return ended(attempt.upload.pump(exchange, &body, from: app, pulse))
  }

  /// What the end of a move means.
  private func ended(_ outcome: Upload.Outcome) -> RequestMachine.Input? {
    switch outcome {
    case .blocked: return nil
    case .turnIsOver: loop.again(app)
    case .sent: record.times.sent = loop.now
    case .appLeft: return .clientBroken
    case .malformed(let error): return malformed(error)
    case .broken:
      // It may have answered before it closed (413, say): what it said is read first.
      guard let connection = attempt.exchange?.connection else { return nil }
      connection.stream.readLastWords()
      if connection.wroteNothing { return exchangeFailed(.connectionLost(connection.stream.error)) }
      loop.again(connection)
    }
    return nil
  }

  func malformed(_ error: ChunkedError) -> RequestMachine.Input {
    message.persists = false
    return failing(.malformedBody(error))
  }

  /// Where the answer will come from, for the record.
  private func note(_ connection: UpstreamConnection) {
    record.upstream.address = connection.address
    record.upstream.isReused = connection.isReused
    guard !connection.isReused else { return }
    record.times.connectStarted = connection.began
    record.times.connected = connection.connected
    record.times.secured = connection.secured
  }

  // MARK: Events of the origin's side

  func exchangeReady() { take(pump()) }

  /// No final head in time. While the body is on its way, the app's stall is what counts.
  func headTimeUp() {
    guard attempt.awaitsHead, attempt.upload.isOver else { return }
    take(attemptFailed(.upstream(.responseTimeout), isStale: false))
  }

  /// Moves what can be moved in both directions.
  func pump() -> RequestMachine.Input? {
    if attempt.held != nil { return collectHeld() ?? readBodyWhileHeld() }
    if !attempt.upload.isOver, let input = pumpUp() { return input }
    return attempt.awaitsHead ? receive() : pumpDown()
  }

  /// The connection broke, ended or spoke nonsense before the answer's head was whole.
  private func exchangeFailed(_ error: UpstreamError) -> RequestMachine.Input {
    let connection = attempt.exchange?.connection
    let wasReused = connection?.isReused ?? false
    let wroteNothing = connection?.wroteNothing ?? true
    let receivedAnything = attempt.exchange?.firstByte != 0
    // RFC 9110 section 9.2.2, RFC 9112 section 9.3.1: a pooled connection can be closed by the origin at any time.
    let isStale =
      wasReused && !receivedAnything && (message.outbound.method.isIdempotent || wroteNothing) && error.mayBeStaleConnection
    return attemptFailed(.upstream(error), isStale: isStale)
  }

  // MARK: Receiving

  /// Reads heads until one decides what happens.
  func receive() -> RequestMachine.Input? {
    while let exchange = attempt.exchange {
      switch exchange.readHead(limit: snapshot.settings.limits.responseHead) {
      case .later: return nil
      case .failed(let error): return exchangeFailed(error)
      case .head(let bytes):
        if record.times.firstByte == 0 { record.times.firstByte = exchange.firstByte }
        let decision: AnswerPlan
        do throws(ProxyError) { decision = try decide(bytes) } catch { return attemptFailed(error, isStale: false) }
        if case .interim(let isContinue) = decision {
          exchange.consumeHead(bytes.count, isFinal: false)
          if let input = passInterim(isContinue) { return input }
          continue
        }
        exchange.consumeHead(bytes.count, isFinal: true)
        return follow(decision)
      }
    }
    return nil
  }

  private func passInterim(_ isContinue: Bool) -> RequestMachine.Input? {
    attempt.interims += 1
    guard attempt.interims <= Self.interimLimit else { return attemptFailed(.tooManyInterims, isStale: false) }
    if let input = flushInterim() { return input }
    guard isContinue, attempt.awaitsContinue else { return nil }
    attempt.stopWaitingForContinue(on: loop)
    return pumpUp()
  }

  private func follow(_ plan: AnswerPlan) -> RequestMachine.Input? {
    switch plan {
    case .interim: return nil
    case .upgrade: return .protocolChanged
    case .relay:
      if attempt.awaitsContinue { attempt.stopUploading(on: loop) }
      return .answerComposed
    case .hold: return .answerHeld
    case .repeatWithoutExpectation:
      way?.pool.limit.noteSilence(until: loop.now + Self.silenceIsRemembered)
      return .expectationRefused
    case .drop:
      // Small and here: the connection stays in step. Else it is closed.
      if let dropped = attempt.dropped {
        let block = attempt.exchange?.connection?.inbound
        if !dropped.body.isDone, let block, !block.isEmpty { _ = try? dropped.body.take(from: block) }
        if dropped.body.isDone { attempt.complete(inStep: dropped.keepsUpstream, on: loop) }
      }
      return .answerDropped
    }
  }

  // MARK: Relaying

  /// The head stands in the outbound block.
  func relay() -> RequestMachine.Input? {
    pulse.moved()
    return pumpDown()
  }

  private func pumpDown() -> RequestMachine.Input? {
    switch attempt.download?.pump(attempt.exchange, to: app, pulse) {
    case nil: return nil
    case .blocked: return machine.answer == .composed && attempt.download?.hasBegun == true ? .answerBegun : nil
    case .appLeft: return .clientBroken
    case .broken:
      _ = failing(.bodyBroken)
      return .answerBroken(hasBegun: attempt.download?.hasBegun ?? false)
    case .whole:
      let isSent = attempt.upload.isSent
      let keepsClient = attempt.download?.keepsClient ?? false
      attempt.complete(inStep: attempt.download?.keepsUpstream ?? false, on: loop)
      return .answerSent(keepsClient: keepsClient && isSent && body.isDone)
    }
  }

  // MARK: Holding

  /// Takes what has come of the held answer.
  func collectHeld() -> RequestMachine.Input? {
    guard let held = attempt.held, let connection = attempt.exchange?.connection, let pool = way?.pool else { return nil }
    switch held.collect(connection, limit: pool.limit, capacity: snapshot.settings.limits.upstreamConnections) {
    case .partial: return nil
    case .whole:
      attempt.complete(inStep: held.keepsUpstream, on: loop)
      return nil
    case .tooMany:
      authorization.relayReason = .tooManyHeld
      return .refusalStands
    }
  }

  func relayHeld(_ held: HeldAnswer) -> RequestMachine.Input? {
    let head = held.head.bytes
    services.upstreams.responseHead.reset()
    guard case .complete = services.upstreams.responseHead.parse(head, limit: head.count) else {
      return attemptFailed(.bodyBroken, isStale: false)
    }
    let decision: AnswerPlan
    do throws(ProxyError) { decision = try decide(head) } catch { return attemptFailed(error, isStale: false) }
    switch decision {
    case .relay:
      attempt.download?.take(held, for: app)
      attempt.held = nil
      return .answerComposed
    case .drop: return .answerDropped
    case .interim, .upgrade, .hold, .repeatWithoutExpectation: return failing(.internalError)
    }
  }
}
