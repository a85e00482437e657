import EventIO
import HTTPWire
import Streams
import Upstreams

/// The exchange with the origin: a connection, head and body up, the answer down, both at once where both have something to move.
/// Each direction stops when its sink is full and goes on when that drains: nothing is buffered beyond one block.
extension Request {
  // MARK: Connection

  func beginAttempt() -> RequestMachine.Input? {
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

  /// Moves what can be moved towards the origin.
  func pumpUp() -> RequestMachine.Input? {
    guard let exchange = attempt.exchange else { return nil }
    return ended(attempt.upload.pump(exchange, &body, from: app, pulse))
  }

  /// What the end of a move means.
  func ended(_ outcome: Upload.Outcome) -> RequestMachine.Input? {
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

  // MARK: Receiving

  /// Reads heads until one decides what happens.
  func receive() -> RequestMachine.Input? {
    while let exchange = attempt.exchange {
      let reading = exchange.readHead(limit: snapshot.settings.limits.responseHead)
      if record.times.firstByte == 0 { record.times.firstByte = exchange.firstByte }
      switch reading {
      case .later: return nil
      case .failed(let error): return exchangeFailed(error)
      case .head(let bytes):
        let decision: AnswerPlan
        do throws(ProxyError) { decision = try plan(for: bytes) } catch { return attemptFailed(error, isStale: false) }
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

  private func follow(_ plan: AnswerPlan) -> RequestMachine.Input? {
    switch plan {
    case .interim: return nil
    case .upgrade: return .protocolChanged
    case .relay:
      if attempt.awaitsContinue { attempt.stopUploading(on: loop) }
      return .answerComposed
    case .hold: return .answerHeld
    case .repeatWithoutExpectation:
      noteRefusedExpectation()
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
    // Not inside of the call: `attempt` is being changed there.
    let (exchange, pulse) = (attempt.exchange, pulse)
    switch attempt.download?.pump(exchange, to: app, pulse) {
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
}
