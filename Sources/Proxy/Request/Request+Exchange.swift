import EventIO
import HTTPWire
import Streams
import Upstreams

/// The exchange with the origin: a connection, head and body up, the answer down, both directions at once. Each direction stops
/// when its receiver takes no more, and goes on when it does: at most one block is buffered.
extension Request {
  /// Answers to a parent's challenges at one hop: two for Digest, and the rounds of Negotiate.
  private static let maximumParentChallenges = 6

  // MARK: Connection

  func beginAttempt() -> RequestMachine.Input? {
    if attempt.exchange != nil { attempt.end(on: loop) }
    if way?.search != nil { chooseOrigin() }
    if way?.entry.offersHTTP2 == true { offerHTTP2() }
    guard let pool = way?.pool, let stall = way?.stall, var timeouts = way?.entry.timeouts, let account else {
      return failing(.internalError)
    }
    let exchange = RequestExchange(self, pool, of: account, timeouts, stall: stall)
    attempt.begin(exchange)
    record.upstream.attempts += 1
    if let name = authorization.attached?.name, let version = authorization.attached?.version {
      record.credential.name = name
      record.credential.version = version
    }
    if let search = way?.search {
      timeouts.connect = search.timeToConnect
      loop.arm(timer, at: search.until)
    } else {
      loop.arm(timer, at: loop.now + timeouts.connect + (pool.isWarm ? 0 : timeouts.resolve))
    }
    pool.serve(exchange, timeouts: timeouts)
    if exchange.isWaiting { park() }
    return nil
  }

  // MARK: Sending

  /// Sends the head, and what has arrived of the body, over the connection that was lent.
  func send() -> RequestMachine.Input? {
    guard let exchange = attempt.exchange, let connection = exchange.connection, let isSigned = way?.entry.isSigned,
      let head = message.head
    else {
      return failing(.internalError)
    }
    // The app has left while the request waited, or with the last byte that it sent.
    guard !app.stream.peerEnded || outliveApp() else {
      exchange.finish(inStep: true)
      return .clientBroken
    }
    guard isStillAuthorized() else {
      exchange.finish(inStep: true)
      record.upstream.attempts -= 1
      return .credentialExpired
    }
    pulse.moved()
    note(connection)
    if message.outbound.authenticatesConnection { exchange.bindToClient() }
    let credential = authorization.attached?.line
    var size = head.count + (credential?.count ?? 0) + 32 + (connection.absolute?.added(to: head.count) ?? 0)
    if let cache { size += validationSize(cache) }
    let signer = isSigned ? authorization.view?.signer : nil
    if let signer, let attached = authorization.attached {
      size += signer.sizeLimit(of: head.bytes, noted: authorization.signing?.noted, by: attached)
    }
    // The configuration can allow heads that are larger than a block.
    let block = size <= BlockPool.small ? loop.blocks.borrow() : Block(capacity: size)
    block.append(head.bytes)
    if let credential { block.append(credential) }
    if let cache { noteSending(cache, block) }
    if let signer, let input = prepare(head, signer, into: block) { return input }
    if let absolute = connection.absolute {
      if let error = absolute.rewrite(block, hasBody: hasBody) {
        loop.blocks.giveBack(block)
        exchange.finish(inStep: true)
        return failing(.upstream(error))
      }
      if absolute.isTrial {
        absolute.keepSingle { [weak self, unowned absolute] in self?.isWith(absolute) ?? false }
      }
    }
    if let redirection { noteShown(redirection, in: block.bytes) }
    attempt.upload.begin(block)
    // Over HTTP/2 they may follow a body with a length, too.
    if body.framing == .chunked || (app.isStream && hasBody) { dropTrailers(hasCredential: credential != nil) }
    if !body.isDone, let input = askBeforeBody(block) { return input }
    block.append("\r\n")
    exchange.expectHead()
    if let outcome = attempt.upload.join(&body, to: block, from: app, pulse), let input = ended(outcome) {
      return input
    }
    if loop.isBusy, body.isDone, !connection.isCarried {
      loop.again(connection)
      return nil
    }
    return ended(attempt.upload.pump(exchange, &body, from: app, pulse))
  }

  /// Trailers that a server could take for fields of the head: those of the credential, and what the rules of fields drop there.
  private func dropTrailers(hasCredential: Bool) {
    guard let way else { return }
    var names = hasCredential ? way.rules.credentialFields : []
    var headerRules = way.rules.requestHeaders
    if let redirection {
      names += redirection.withheld
      headerRules = redirection.headerRules(at: way.entry)
    }
    attempt.upload.drop(DroppedTrailers(named: names, by: headerRules))
  }

  private var hasBody: Bool { body.framing.hasBytes }

  /// Moves what can be moved towards the origin.
  func pumpUp() -> RequestMachine.Input? {
    guard let exchange = attempt.exchange else { return nil }
    return ended(attempt.upload.pump(exchange, &body, from: app, pulse))
  }

  /// The input that follows the outcome of an upload; nil: none.
  func ended(_ outcome: Upload.Outcome) -> RequestMachine.Input? {
    switch outcome {
    case .blocked: return nil
    case .turnIsOver: loop.again(app)
    case .sent:
      record.times.sent = loop.now
      // Nothing of it is sent again.
      if machine.phase == .relaying { body.giveBack() }
    case .appLeft: return .clientBroken
    case .malformed(let error): return malformed(error)
    case .refused(let refusal):
      message.persists = false
      switch refusal {
      case .transform(let error): return failing(.signing(.body(error)))
      case .noMemory: return failing(.signing(.noMemoryForBody))
      }
    case .broken:
      // The origin may have answered before it closed (413, say), so its answer is read first.
      guard let connection = attempt.exchange?.connection else { return nil }
      connection.stream.readLastWords()
      if connection.wroteNothing { return exchangeFailed(connection.failure) }
      loop.again(connection)
    }
    return nil
  }

  func malformed(_ error: ChunkedError) -> RequestMachine.Input {
    message.persists = false
    return failing(.malformedBody(error))
  }

  /// Records the connection over which the answer will come.
  private func note(_ connection: UpstreamConnection) {
    record.upstream.address = connection.address
    record.upstream.isReused = connection.isReused
    record.upstream.stream = 0
    if connection.isCarried {
      connection.mark(message.marked)
      if app.isStream {
        connection.awaitTrailers()
        app.awaitTrailers()
      }
    }
    if let parent = connection.parent { record.upstream.parent = parent.name }
    guard !connection.isReused else { return }
    record.times.connectStarted = connection.began
    record.times.connected = connection.connected
    record.times.secured = connection.secured
  }

  // MARK: Events of the origin's side

  func exchangeReady() { take(pump()) }

  /// No final head arrived in time. While the body is being sent, the app's stall deadline applies instead.
  func headTimeUp() {
    guard attempt.awaitsHead, attempt.upload.isOver else { return }
    let isParents = blameParent()
    if let search = way?.search { judge(search, isNoAnswer: false, isParents: isParents) }
    take(attemptFailed(.upstream(.responseTimeout), isStale: false))
  }

  /// There was time for an answer, and not a byte of one has come, nor the final head to the one request that tries a parent which is down.
  /// A parent that takes requests in absolute-form may be to blame.
  /// - Parameter hasEnded: it closed the connection.
  /// - Returns: whether it is.
  func blameParent(hasEnded: Bool = false) -> Bool {
    guard let exchange = attempt.exchange, let connection = exchange.connection, let absolute = connection.absolute else {
      return false
    }
    guard exchange.firstByte == 0 || absolute.isTrial else { return false }
    if hasEnded {
      absolute.endedMute(wasAsked: !connection.wroteNothing, now: loop.now)
    } else {
      absolute.gaveNoAnswer(now: loop.now)
    }
    return absolute.isBroken
  }

  /// Moves what can be moved in both directions.
  func pump() -> RequestMachine.Input? {
    if let held = attempt.held { return (held.isRead ? readHeld() : collectHeld()) ?? readBodyWhileHeld() }
    if !attempt.upload.isOver {
      if let connection = attempt.exchange?.connection, connection.hasEndedUnused { return exchangeFailed(connection.failure) }
      if let input = pumpUp() { return input }
    }
    return attempt.awaitsHead ? receive() : pumpDown()
  }

  // MARK: Receiving

  /// Reads heads until one decides how the request goes on.
  func receive() -> RequestMachine.Input? { attempt.exchange.flatMap { receive(over: $0) } }

  private func receive(over exchange: RequestExchange) -> RequestMachine.Input? {
    while attempt.exchange === exchange {
      let reading = exchange.readHead(limit: snapshot.settings.limits.responseHead)
      if record.times.firstByte == 0 {
        record.times.firstByte = exchange.firstByte
        record.upstream.stream = exchange.streamNumber ?? 0
      }
      switch reading {
      case .later: return nil
      case .failed(let error): return exchangeFailed(error)
      case .head(let bytes):
        if let absolute = exchange.absolute, let refusal = refusal(by: absolute, bytes) { return refusal }
        if let search = way?.search, isAnswer(bytes) { search.answered() }
        let decision: AnswerPlan
        do throws(ProxyError) { decision = try plan(for: bytes) } catch { return headRefused(error) }
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

  /// A parent that takes requests in absolute-form answers for itself only with 407. The app never gets that.
  private func refusal(by absolute: AbsoluteForm, _ bytes: UnsafeRawBufferPointer) -> RequestMachine.Input? {
    guard services.upstreams.responseHead.status >= 200 else { return nil }
    // Of a credential that was accepted before, it may be the origin's own answer, to a request that was served.
    let isHarmless = !absolute.isProven || message.outbound.method.isIdempotent
    let hasMetOtherRules = attempt.hasMetOtherRules
    switch absolute.read(services.upstreams.responseHead, in: bytes, hasMetOtherRules: hasMetOtherRules, now: loop.now) {
    case .answer:
      // It stayed with this app's connection for the rounds of an authentication, which is over.
      if absolute.challenges { attempt.exchange?.unbindFromClient() }
      return nil
    case .challenge(let next): return challenged(by: absolute, next, bytes)
    case .invalid(let error): return attemptFailed(.upstream(error), isStale: false)
    // A new connection goes on only with another credential, or as the one that tries.
    case .refused(let error): return attemptFailed(.upstream(error), isStale: isHarmless && machine.staleConnections == 0)
    }
  }

  /// The parent's challenge is answered, if the request can be sent again.
  private func challenged(
    by absolute: AbsoluteForm, _ next: ParentReading.Next, _ bytes: UnsafeRawBufferPointer
  ) -> RequestMachine.Input? {
    func failed(_ why: String) -> RequestMachine.Input {
      attemptFailed(.upstream(absolute.challengedInVain(why)), isStale: false)
    }
    guard canReplay else { return failed("it challenged a request whose body was too large to be kept (limits.replay_body)") }
    guard machine.parentChallenges < Self.maximumParentChallenges else {
      return failed("it answers each request with another challenge")
    }
    let method = message.outbound.method
    guard let framing = try? services.upstreams.responseHead.framing(to: method, in: bytes) else {
      return failed("its challenge is no HTTP")
    }
    if next == .otherRules { attempt.hasMetOtherRules = true }
    let keeps = next != .newTicket && services.upstreams.responseHead.persists(in: bytes)
    if next == .thisConnection { attempt.exchange?.keepForNext() } else { attempt.exchange?.unbindFromClient() }
    attempt.dropped = DroppedAnswer(retryAfter: nil, body: BodySource(framing), keepsUpstream: keeps)
    attempt.exchange?.consumeHead(bytes.count, isFinal: true)
    finishDropped()
    return .parentChallenged
  }

  private func follow(_ plan: AnswerPlan) -> RequestMachine.Input? {
    switch plan {
    case .interim: return nil
    case .upgrade: return .protocolChanged
    case .relay:
      if attempt.awaitsContinue { answeredBeforeContinue() }
      return .answerComposed
    case .hold: return .answerHeld
    case .repeatWithoutExpectation:
      noteRefusedExpectation()
      return .expectationRefused
    case .challenge:
      finishDropped()
      return .challenged
    case .read:
      attempt.held?.isRead = true
      attempt.held?.arrived = loop.now
      return .answerHeld
    case .follow: return followRedirect()
    case .drop:
      finishDropped()
      return .answerDropped
    case .stored(let reply):
      finishDropped()
      return serve(reply)
    case .share: return share()
    case .repeatUnconditionally:
      finishDropped()
      return .validationRefused
    }
  }

  /// If the body is small and has arrived, the connection stays in step. Otherwise it is closed.
  func finishDropped() {
    guard let dropped = attempt.dropped else { return }
    let block = attempt.exchange?.connection?.inbound
    if !dropped.body.isDone, let block, !block.isEmpty { _ = try? dropped.body.take(from: block) }
    if dropped.body.isDone { attempt.complete(inStep: dropped.keepsUpstream, on: loop) }
  }

  // MARK: Relaying

  /// Relays the answer, whose head is in the outbound block.
  func relay() -> RequestMachine.Input? {
    if attempt.upload.isOver { body.giveBack() }
    pulse.moved()
    return pumpDown()
  }

  private func pumpDown() -> RequestMachine.Input? {
    // Read before the call, which has exclusive access to `attempt`.
    let connection = attempt.exchange?.connection
    switch attempt.download?.pump(connection, to: app, timer) {
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
