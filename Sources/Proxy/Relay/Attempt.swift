import EventIO
import HTTPWire

/// One exchange with an upstream: sends the request's head and body up, takes the answer down, both at once where both have
/// something to move. Each direction stops when its sink is full and goes on when that drains: nothing is buffered beyond one
/// block.
final class Attempt {
  /// Owns this attempt in turn, until that has ended.
  let request: Request
  private(set) var connection: UpstreamConnection?

  // Upwards.
  private static let joined = 8 << 10
  /// Head and small pieces on their way.
  private var out: Block?
  /// What of the client's block is on its way.
  private var piece = 0..<0
  /// How much of the replay tee this attempt has sent.
  private var replayed = 0
  private var isTerminated = false
  private(set) var isUploaded = false
  private var uploadIsBroken = false

  // Downwards.
  private(set) var awaitsHead = true
  /// More 1xx responses to one request than anybody means.
  private static let interimLimit = 100
  private var interims = 0
  private(set) var receivedAnything = false
  var download: Download?
  /// An answer that refused the credential.
  private(set) var held: HeldAnswer?

  // Expect: 100-continue.
  private(set) var hasAsked = false
  /// The body is kept back until the origin says 100, or too long nothing.
  private(set) var awaitsContinue = false
  private var continueTimer: ContinueTimer?

  init(_ request: Request) { self.request = request }

  var client: ClientConnection { request.client }
  var loop: EventLoop { request.loop }
  /// Bytes stand ready for the upstream, which does not take them.
  var waitsForUpstream: Bool { connection != nil && (!piece.isEmpty || !(out?.isEmpty ?? true)) }
  var isCloseDelimitedToClient: Bool { download?.endsByClose ?? false }

  // MARK: Life

  /// The pool has a connection for this attempt.
  func begin(on connection: UpstreamConnection) {
    guard let head = request.head, let entry = request.entry else { return }
    guard request.isStillAuthorized() else {
      connection.finished(reusable: true)
      return request.authorizeAgain()
    }
    self.connection = connection
    request.connected()
    request.note(connection)
    let out = loop.blocks.borrow()
    let credential = request.authorization?.line
    let size = head.count + (credential?.count ?? 0) + 32
    if size > out.room {
      // A head beyond a block's size: configured so.
      loop.blocks.giveBack(out)
      self.out = Block(capacity: size)
    } else {
      self.out = out
    }
    guard let block = self.out else { return }
    block.append(head.bytes)
    if let credential { credential.withUnsafeBytes { block.append($0) } }
    askBeforeBody(block)
    block.append("\r\n")
    loop.arm(connection, at: loop.now + entry.timeouts.responseHead)
    joinBody(to: block)
    pumpUp()
  }

  /// A small piece of the body that is here already leaves with the head: one write, one TLS record.
  private func joinBody(to block: Block) {
    guard !awaitsContinue, !request.body.isDone, request.tee.bytes.isEmpty, client.inbound?.isEmpty == false, readBody(),
      let inbound = client.inbound, piece.count <= min(block.room, Self.joined)
    else { return }
    block.append(UnsafeRawBufferPointer(start: inbound.base + piece.lowerBound, count: piece.count))
    piece = 0..<0
  }

  private func askBeforeBody(_ block: Block) {
    guard request.asksBeforeBody else { return request.continueApp() }
    block.append("Expect: 100-continue\r\n")
    hasAsked = true
    awaitsContinue = true
    let timer = ContinueTimer(self)
    continueTimer = timer
    loop.arm(timer, at: loop.now + Request.patience)
  }

  private func stopWaitingForContinue() {
    awaitsContinue = false
    if let continueTimer { loop.forget(continueTimer) }
    continueTimer = nil
  }

  /// It may not know the expectation: the body is sent.
  func originStayedSilent() {
    guard awaitsContinue, awaitsHead, connection != nil else { return }
    stopWaitingForContinue()
    request.pool?.limit.noteSilence(until: loop.now + Request.silenceIsRemembered)
    request.continueApp()
    if connection != nil { pumpUp() }
  }

  /// The app's side can move. No head comes from there: looking for one would be a read in vain.
  func clientReady() {
    if awaitsHead, held == nil { pumpUp() } else { pump() }
  }

  /// Something can move: on the upstream's side, the app's, or both.
  func pump() {
    if held != nil { return pumpHeld() }
    if !isUploaded { pumpUp() }
    guard connection != nil else { return }
    if awaitsHead { readHead() } else { download?.pump() }
  }

  /// Gives the exchange up: its connection is out of step and is closed.
  func abort() {
    giveBackOut()
    stopWaitingForContinue()
    download = nil
    held = nil
    guard let connection else { return }
    self.connection = nil
    connection.close()
  }

  /// Both directions are over: the connection goes back to the pool where it may.
  func complete(reusable: Bool) {
    giveBackOut()
    stopWaitingForContinue()
    guard let connection else { return }
    self.connection = nil
    connection.finished(reusable: reusable && isUploaded && !uploadIsBroken)
  }

  /// Hands the connection over: it is a tunnel's from now on.
  func detach() -> UpstreamConnection? {
    giveBackOut()
    defer { connection = nil }
    return connection
  }

  /// The connection broke, ended or timed out before the answer's head was whole.
  func fail(_ error: ProxyError) {
    let wasReused = connection?.isReused ?? false
    let wroteNothing = connection?.wroteNothing ?? true
    abort()
    // RFC 9110 section 9.2.2, RFC 9112 section 9.3.1: a pooled connection can be closed by the origin at any time.
    let isStale = wasReused && !receivedAnything && (request.method.isIdempotent || wroteNothing) && error.mayBeStaleConnection
    request.attemptFailed(self, error, isStale: isStale)
  }

  /// No answer in time.
  func headTimerExpired() {
    guard awaitsHead, isUploaded || uploadIsBroken else { return }
    abort()
    request.attemptFailed(self, .responseTimeout, isStale: false)
  }

  private func giveBackOut() {
    if let out { loop.blocks.giveBack(out) }
    out = nil
  }

  // MARK: Upwards

  private func pumpUp() {
    var budget = 32
    while let connection, !isUploaded, !uploadIsBroken {
      if let out, !out.isEmpty {
        let count = connection.transport.write(out.bytes)
        guard wrote(count, on: connection) else { return }
        out.consume(count)
        // An app that stalls in its body must not hold a block for a head that has gone.
        if out.isEmpty { giveBackOut() }
      } else if awaitsContinue {
        return giveBackOut()
      } else if !piece.isEmpty, let block = client.inbound {
        let count = connection.transport.write(
          UnsafeRawBufferPointer(start: block.base + piece.lowerBound, count: piece.count))
        guard wrote(count, on: connection) else { return }
        piece = piece.lowerBound + count..<piece.upperBound
      } else if replayed < request.tee.bytes.count, !isTerminated {
        replay()
      } else if request.body.isDone {
        if request.bodyFraming == .chunked, !isTerminated {
          terminate()
        } else {
          uploaded()
        }
      } else {
        budget -= 1
        if budget == 0 { return loop.again(client) }
        guard readBody() else { return }
      }
    }
  }

  private func wrote(_ count: Int, on connection: UpstreamConnection) -> Bool {
    if count > 0 {
      request.progressed()
      if !isUploaded, let entry = request.entry { loop.arm(connection, at: loop.now + entry.timeouts.responseHead) }
      return true
    }
    if count == Transport.Result.blocked { return false }
    // It may have answered before it closed (413, say): what it said is read first.
    uploadIsBroken = true
    connection.transport.readable = true
    if connection.wroteNothing { fail(.connectionLost(connection.transport.error)) } else { loop.again(connection) }
    return false
  }

  private func uploaded() {
    isUploaded = true
    giveBackOut()
    request.summary.sent = loop.now
    if let block = client.inbound, block.isEmpty {
      client.inbound = nil
      loop.blocks.giveBack(block)
    }
  }

  /// Sends what an earlier attempt read of the body already.
  private func replay() {
    let bytes = request.tee.bytes
    let count = min(bytes.count - replayed, BlockPool.small - ChunkFraming.front - ChunkFraming.back)
    let block = out ?? loop.blocks.borrow()
    block.clearForBody()
    bytes.withUnsafeBytes { block.append(UnsafeRawBufferPointer(rebasing: $0[replayed..<replayed + count])) }
    replayed += count
    if request.bodyFraming == .chunked {
      let framed = ChunkFraming.frame(block.start..<block.end, in: block, isLast: false)
      block.start = framed.lowerBound
      block.end = framed.upperBound
    }
    out = block
  }

  private func terminate() {
    giveBackOut()
    out = request.body.lastChunk()
    isTerminated = true
  }

  /// Takes the next piece of the body from the app.
  /// - Returns: false where there is nothing to go on with.
  private func readBody() -> Bool {
    switch request.readBodyPiece() {
    case .piece(let range):
      // Everything read before was sent, so the tee holds exactly what this attempt has sent, and now this piece.
      replayed = request.tee.bytes.count
      guard request.bodyFraming == .chunked, let block = client.inbound else {
        piece = range
        return true
      }
      let isLast = request.body.isDone && !request.body.hasTrailers
      piece = ChunkFraming.frame(range, in: block, isLast: isLast)
      isTerminated = isLast
      return true
    case .blocked: return false
    case .failed: return false
    }
  }

  // MARK: Downwards

  private func readHead() {
    while let connection, awaitsHead {
      if let block = connection.inbound, !block.isEmpty {
        switch connection.parseHead(limit: request.snapshot.settings.limits.responseHead) {
        case .complete:
          received(connection, block)
          continue
        case .invalid(let error):
          return fail(error == .headTooLarge || error == .tooManyFields ? .responseHeadTooLarge : .badResponse(error))
        case .incomplete: break
        }
      }
      guard connection.transport.readable || connection.transport.hasPending else { return connection.rest() }
      let block = connection.roomForHead()
      let count = connection.transport.read(into: block.bodySpace)
      if count > 0 {
        receivedAnything = true
        block.end += count
        if request.summary.firstByte == 0 { request.summary.firstByte = loop.now }
      } else if count == Transport.Result.blocked {
        return connection.rest()
      } else {
        return fail(.connectionLost(connection.transport.error))
      }
    }
  }

  private func received(_ connection: UpstreamConnection, _ block: Block) {
    let length = request.worker.responseHead.length
    let bytes = UnsafeRawBufferPointer(start: block.base + block.start, count: length)
    do {
      switch try request.decide(bytes, of: self) {
      case .interim:
        let isContinue = request.worker.responseHead.status == 100
        block.consume(length)
        connection.headDone()
        interims += 1
        guard interims <= Self.interimLimit else { return fail(.tooManyInterims) }
        request.flushInterim()
        if isContinue, awaitsContinue {
          stopWaitingForContinue()
          if self.connection != nil { pumpUp() }
        }
      case .upgrade:
        block.consume(length)
        Tunnel.upgrade(self, request)
      case .relay(let download):
        awaitsHead = false
        block.consume(length)
        connection.headDone()
        loop.disarm(connection)
        self.download = download
        if awaitsContinue { stopUploading() }
        download.begin(block)
      case .hold(let held):
        awaitsHead = false
        block.consume(length)
        if block.isEmpty { block.clearForBody() }
        connection.headDone()
        loop.disarm(connection)
        self.held = held
        beginHolding()
      case .retryWithoutExpectation:
        awaitsHead = false
        abort()
        request.sendWithoutExpectation()
      case .retry(let wish, var body, let keepsUpstream):
        awaitsHead = false
        block.consume(length)
        connection.headDone()
        guard let entry = request.entry else { return }
        // Small and here: the connection stays in step. Else it is closed.
        if !body.isDone, !block.isEmpty { _ = try? body.take(from: block) }
        if body.isDone, block.isEmpty { complete(reusable: keepsUpstream) } else { abort() }
        request.retry(entry, after: wish)
      }
    } catch { fail(error) }
  }

  // MARK: Refused

  /// What was not sent of the body is not sent any more: the connection ends out of step.
  private func stopUploading() {
    stopWaitingForContinue()
    if !isUploaded { uploadIsBroken = true }
    giveBackOut()
  }

  private func beginHolding() {
    stopUploading()
    guard collectHeld() else { return }
    request.readBodyWhileHeld()
    if held != nil, !request.hasEnded { request.hold() }
  }

  private func pumpHeld() {
    guard collectHeld() else { return }
    request.readBodyWhileHeld()
  }

  /// - Returns: false where the answer is not held any more.
  private func collectHeld() -> Bool {
    guard let held, let connection, let pool = request.pool else { return held != nil }
    switch held.collect(connection, limit: pool.limit, capacity: request.snapshot.settings.limits.upstreamConnections) {
    case .partial: return true
    case .whole:
      complete(reusable: held.keepsUpstream && connection.inbound?.isEmpty ?? true)
      return true
    case .tooMany:
      request.relayHeld("not retried, too many large refusals are held")
      return false
    }
  }

  /// The held answer goes to the app after all, as it came.
  func relayHeld() {
    guard let held else { return }
    self.held = nil
    let head = held.head.bytes
    request.worker.responseHead.reset()
    guard case .complete = request.worker.responseHead.parse(head, limit: head.count) else { return fail(.bodyBroken) }
    if held.isBroken { return fail(.bodyBroken) }
    do {
      switch try request.decide(head, of: self) {
      case .relay(let download):
        self.download = download
        if download.begin(with: held) {
          request.relayedWhole(keepAlive: download.keepsClient)
        } else if !request.hasEnded {
          request.progressed()
          download.pump()
        }
      case .retry(let wish, _, _):
        guard let entry = request.entry else { return }
        abort()
        request.retry(entry, after: wish)
      case .interim, .upgrade, .hold, .retryWithoutExpectation: fail(.internalError)
      }
    } catch { fail(error) }
  }
}
