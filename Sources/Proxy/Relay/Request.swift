import Credentials
import EventIO
import HTTPWire

/// One request from its head to its last byte, across all attempts to have it answered.
final class Request {
  /// Owns this request in turn, until it has ended.
  let client: ClientConnection
  /// Lives as long as its loop, which never ends.
  unowned(unsafe) let worker: Worker
  let snapshot: Snapshot
  var summary = Summary()

  // Set by routing.
  private(set) var entry: Entry?
  private(set) var pool: OriginPool?
  /// How long nothing may move, in nanoseconds: the entry's `stall`, for an event stream its `tunnel`.
  var stall: Int64 = 30_000_000_000
  private(set) var method = Method.get
  private(set) var isUpgrade = false
  /// The head as it goes to the origin, but for the credential and the blank line.
  private(set) var head: Block?
  /// The app speaks HTTP/1.1 or later.
  private(set) var clientIsHTTP11 = true
  /// The app would keep its connection.
  private(set) var clientPersists = false
  var expectsContinue = false

  // The body, as it comes from the app.
  var body = BodySource.none
  private(set) var bodyFraming = BodyFraming.none
  var tee = ReplayTee(capacity: 0)

  private(set) var attempt: Attempt?
  private var waitsForConnection = false
  private var waitsForCredential: CredentialWait?
  private var waitStarted: Int64 = 0
  /// What the entry's credential is on this loop, and the version that the present attempt carries.
  private(set) var credential: LoopCredential?
  private(set) var authorization: RenderedCredential?
  /// It was sent again after a refusal: it never is a second time.
  var isResent = false
  /// What becomes of the refusal is decided.
  var refusalIsSettled = false
  /// An origin answered 417 to an Expect that was ours.
  var hasMetExpectationFailure = false
  /// A final response has begun to go to the app: from here on there is no other answer.
  var hasAnswered = false
  /// The proxy's own answer is on its way; whether the connection is kept after it.
  private var answer: Bool?
  private var retries = 0
  /// The app asked for gzip itself; looked at only where the entry has `decompress`.
  var appAcceptsGzip = false
  /// The upstream has said 100: it is worth asking next time.
  var sawContinue = false
  /// Why an answer that might have been avoided is relayed; Proxy-Status details.
  var proxyStatusNote: String?
  /// A tunnel that is being opened.
  var opening: TunnelOpening?
  private var waitsForRepeat = false
  /// Set where a reload has taken away what this exchange depends on: when it ends at the latest.
  var endsAt: Int64?
  private var isOver = false
  var hasEnded: Bool { isOver }

  init(client: ClientConnection, snapshot: Snapshot) {
    self.client = client
    worker = client.worker
    self.snapshot = snapshot
    summary.started = client.loop.now
    summary.peer = client.peer
  }

  var loop: EventLoop { worker.loop }

  // MARK: From head to origin

  /// Takes the parsed head (`worker.requestHead`) at the block's front, in the order in which a request meets the folders here.
  func begin(_ block: Block) {
    let bytes = UnsafeRawBufferPointer(start: block.base + block.start, count: worker.requestHead.length)
    do {
      let destination = try accept(bytes)
      block.consume(bytes.count)
      if block.isEmpty { block.clearForBody() }
      switch destination {
      case .origin(let entry, let pool):
        self.entry = entry
        stall = entry.timeouts.stall
        self.pool = pool
        summary.entry = entry
        authorize()
      case .tunnel(let target): Tunnel.open(target, for: self)
      case .entryThroughConnect(let authority): Tunnel.acceptConnect(authority, for: self)
      case .answer(let answer): finish(with: answer)
      }
    } catch {
      block.consume(min(bytes.count, block.count))
      fail(error)
    }
  }

  enum Destination {
    case origin(Entry, OriginPool)
    case tunnel(TunnelTarget)
    case entryThroughConnect(ConnectedAuthority)
    case answer(Answer)
  }

  private func accept(_ bytes: UnsafeRawBufferPointer) throws(ProxyError) -> Destination {
    method = worker.requestHead.method
    clientIsHTTP11 = worker.requestHead.minorVersion >= 1
    summary.minorVersion = worker.requestHead.minorVersion
    let target: RequestTarget
    do {
      try worker.requestHead.checkHost(in: bytes)
      bodyFraming = try worker.requestHead.framing(in: bytes)
      target = try RequestTarget(of: worker.requestHead, in: bytes)
    } catch { throw .malformed(error) }
    clientPersists = worker.requestHead.persists(in: bytes)
    body = BodySource(bodyFraming)
    expectsContinue = !body.isDone && worker.requestHead.expectation(in: bytes) == .continue
    return try route(target, bytes)
  }

  /// Called by routing once the entry is known, while the head is still in the client's block.
  func take(head: Block, isUpgrade: Bool) {
    self.head = head
    self.isUpgrade = isUpgrade
  }

  // MARK: Credential and connection

  private func authorize() {
    guard let entry else { return }
    if body.isDone {
      tee = ReplayTee(capacity: 0)
    } else {
      tee = ReplayTee(capacity: snapshot.settings.limits.replayBody)
    }
    guard let index = entry.credential, sendsCredential else { return connect() }
    let credential = worker.credential(index, of: snapshot)
    self.credential = credential
    obtain(credential)
  }

  private func obtain(_ credential: LoopCredential) {
    switch credential.authorize(self) {
    case .ready(let credential):
      authorization = credential
      connect()
    case .wait(let wait): waitForCredential(wait)
    case .failed(let error): fail(error)
    }
  }

  func waitForCredential(_ wait: CredentialWait) {
    waitsForCredential = wait
    waitStarted = loop.now
    if let entry { loop.arm(client, at: loop.now + entry.timeouts.credential) }
    park()
  }

  func rearmWait() {
    if waitsForCredential != nil, let entry { loop.arm(client, at: waitStarted + entry.timeouts.credential) }
  }

  /// False: the request is over.
  func endWait() -> Bool {
    guard !isOver else { return false }
    if let wait = waitsForCredential {
      waitsForCredential = nil
      wait.cancel()
      summary.waitedForCredential += loop.now - waitStarted
    }
    return true
  }

  /// The attempt is about to be sent. False: its token ended while it waited for a connection, and there is no other one yet.
  func isStillAuthorized() -> Bool {
    guard let authorization, let credential else { return true }
    let now = loop.now / 1_000_000
    if authorization.isUsable(at: now) { return true }
    guard let current = credential.current, current.isUsable(at: now) else { return false }
    self.authorization = current
    summary.credentialVersion = current.version
    return true
  }

  /// An expired token is never sent: the attempt gave its connection back.
  func authorizeAgain() {
    guard let credential else { return }
    attempt = nil
    waitsForConnection = false
    summary.attempts -= 1
    obtain(credential)
  }

  /// After a refusal: once more, with another version.
  func send(again next: RenderedCredential) {
    attempt = nil
    authorization = next
    connect()
  }

  /// The origin did not take an expectation of ours.
  func sendWithoutExpectation() {
    attempt = nil
    connect()
  }

  /// False where the app's own field was kept.
  var sendsCredential = true

  /// A token has come, or will not.
  func credentialArrived(_ result: Result<RenderedCredential, ProxyError>) {
    guard waitsForCredential != nil, endWait() else { return }
    switch result {
    case .success(let credential):
      authorization = credential
      connect()
    case .failure(let error): fail(error)
    }
  }

  /// Nothing to do until somebody else acts: buffers go back.
  private func park() {
    if let head, head.capacity > head.count + 64 { self.head = head.exactCopy() }
    guard let block = client.inbound else { return }
    if block.isEmpty {
      client.inbound = nil
      loop.blocks.giveBack(block)
    } else if block.capacity >= BlockPool.small, block.count <= BlockPool.small / 4 {
      client.inbound = block.exactCopyForBody()
      loop.blocks.giveBack(block)
    }
  }

  private func connect() {
    guard let entry, let pool, !isOver else { return }
    let attempt = Attempt(self)
    self.attempt = attempt
    summary.attempts += 1
    if let authorization {
      summary.credential = authorization.name
      summary.credentialVersion = authorization.version
    }
    waitsForConnection = true
    loop.arm(client, at: loop.now + entry.timeouts.connect + (pool.isWarm ? 0 : entry.timeouts.resolve))
    pool.serve(attempt)
    if waitsForConnection { park() }
  }

  /// The attempt has its connection and begins.
  func connected() {
    waitsForConnection = false
    loop.arm(client, at: loop.now + stall)
  }

  /// Where the answer will come from, for the record.
  func note(_ connection: UpstreamConnection) {
    summary.upstreamAddress = connection.address
    summary.reusedConnection = connection.isReused
    guard !connection.isReused else { return }
    summary.connectStarted = connection.began
    summary.connected = connection.connected
    summary.secured = connection.secured
  }

  /// 200 to a CONNECT that leads to an entry: what follows are requests.
  func finishConnect() {
    clientPersists = true
    hasAnswered = true
    summary.status = 200
    answer = true
    // RFC 9110 section 8.6: no Content-Length in a 2xx to CONNECT.
    let block = client.outbound ?? loop.blocks.borrow()
    block.append("HTTP/1.1 200 Connection established\r\n\r\n")
    client.outbound = block
    loop.arm(client, at: loop.now + stall)
    flushAnswer()
  }

  /// Bytes moved: the stall clock starts anew.
  @inline(__always)
  func progressed() {
    loop.arm(client, at: loop.now + stall)
  }

  // MARK: Events of the client's side

  func clientReady() {
    if answer != nil { return flushAnswer() }
    attempt?.clientReady()
  }

  func clientTimerExpired() {
    if answer != nil { return clientLeft() }
    if attempt?.held != nil { return relayHeld("not retried, no other token came in time") }
    if waitsForCredential != nil, endWait() {
      return fail(.credentialUnavailable(entry?.settings.credential ?? "", reason: "no token came in time", retryAfter: 1))
    }
    if waitsForRepeat {
      waitsForRepeat = false
      return connect()
    }
    if opening != nil { return fail(.connectTimeout) }
    guard let attempt else { return fail(.stalled) }
    if waitsForConnection {
      if let entry, pool?.isJudging == true { return loop.arm(client, at: loop.now + entry.timeouts.connect) }
      pool?.abandon(attempt)
      return fail(pool?.isConnecting == true ? .connectTimeout : .connectionLimit)
    }
    // While the app owes nothing, it is the upstream's answer that is waited for: that has its own deadline.
    if attempt.awaitsHead, attempt.isUploaded { return }
    fail(attempt.waitsForUpstream ? .upstreamStalled : .stalled)
  }

  /// The app's connection is broken: whatever was under way for it ends.
  func clientLeft() {
    guard !isOver else { return }
    summary.details = summary.details ?? "the client left"
    end()
    client.close()
  }

  // MARK: Repeats

  /// The attempt came to nothing before its answer began. Sent again where that is safe, else answered.
  /// - Parameter isStale: a pooled connection turned out closed, and nothing of this request can have been acted upon.
  func attemptFailed(_ failed: Attempt, _ error: ProxyError, isStale: Bool) {
    guard attempt === failed, !isOver else { return }
    attempt = nil
    waitsForConnection = false
    if isStale, canReplay {
      if let entry { worker.observer.retried(entry, .staleConnection) }
      return connect()
    }
    if let entry, error.isWorthRepeating, mayRetry(entry) { return retry(entry, after: nil) }
    fail(error)
  }

  /// Whether all that was read of the body can be sent again.
  var canReplay: Bool { body.count == 0 || tee.isIntact }

  /// Whether the entry's `retry` allows one more attempt for this request.
  func mayRetry(_ entry: Entry) -> Bool {
    let policy = entry.settings.retry
    return retries < policy.attempts && method.isIdempotent && canReplay && policy.methods.contains(summary.method)
  }

  /// - Parameter wish: what Retry-After asked for, in seconds.
  func retry(_ entry: Entry, after wish: Int?) {
    worker.observer.retried(entry, attempt == nil ? .failure : .status)
    let policy = entry.settings.retry
    let backoff = policy.backoff << min(retries, 16)
    retries += 1
    // Full jitter over the upper half: repeats of many requests spread.
    let delay = wish.map { $0 * 1_000 } ?? (backoff / 2 + Int.random(in: 0...max(backoff / 2, 1)))
    attempt = nil
    waitsForRepeat = true
    loop.arm(client, afterMilliseconds: min(delay, policy.maxWait))
  }

  // MARK: Answers and end

  /// A head that could not be parsed: what follows it on the connection means nothing.
  func refuseUnparsed(_ error: ProxyError) {
    clientPersists = false
    fail(error)
  }

  /// The one way from an error to the app: an answer where none has begun, else a cut that cannot be taken for an end.
  func fail(_ error: ProxyError) {
    guard !isOver else { return }
    let isCloseDelimited = attempt?.isCloseDelimitedToClient ?? false
    abandonAttempt()
    let answer = error.answer(for: entry)
    summary.error = summary.error ?? answer.error.map { "\($0)" }
    summary.details = summary.details ?? answer.details
    if hasAnswered {
      end()
      client.close(reset: isCloseDelimited)
    } else {
      finish(with: answer)
    }
  }

  /// Answers for the proxy itself.
  func finish(with answer: Answer) {
    hasAnswered = true
    summary.author = .proxy
    summary.status = answer.status
    // What was not read of a body would be taken for the next request.
    self.answer = clientPersists && body.isDone && !answer.closes && !client.isClosing
    // An interim response may stand there, half of it sent.
    var block = client.outbound ?? loop.blocks.borrow()
    let size = answer.sizeLimit(proxy: snapshot.settings.name)
    if size > block.room {
      let larger = Block(capacity: block.count + size)
      larger.append(block.bytes)
      loop.blocks.giveBack(block)
      block = larger
    }
    answer.write(
      to: block, proxy: snapshot.settings.name, isHead: method == .head, keepsAlive: self.answer == true,
      dateLine: worker.currentDateLine())
    client.outbound = block
    loop.arm(client, at: loop.now + stall)
    flushAnswer()
  }

  /// A held answer stands whole in the outbound block.
  func relayedWhole(keepAlive: Bool) {
    attempt = nil
    answer = keepAlive && body.isDone
    loop.arm(client, at: loop.now + stall)
    flushAnswer()
  }

  private func flushAnswer() {
    guard let keepsAlive = answer, let block = client.outbound else { return }
    while !block.isEmpty {
      let count = client.transport.write(block.bytes)
      if count > 0 {
        summary.bytesSent += Int64(count)
        block.consume(count)
      } else if count == Transport.Result.blocked {
        return
      } else {
        return clientLeft()
      }
    }
    client.outbound = nil
    loop.blocks.giveBack(block)
    end()
    client.requestEnded(keepAlive: keepsAlive)
  }

  /// The upstream's answer has gone to the app in full.
  func relayed(keepAlive: Bool) {
    attempt = nil
    end()
    client.requestEnded(keepAlive: keepAlive && body.isDone)
  }

  /// A tunnel has taken over, or has ended: only the record is left to write.
  func endedAsTunnel() {
    attempt = nil
    end()
  }

  private func abandonAttempt() {
    opening?.cancel()
    opening = nil
    waitsForCredential?.cancel()
    waitsForCredential = nil
    guard let attempt else { return }
    self.attempt = nil
    if waitsForConnection { pool?.abandon(attempt) } else { attempt.abort() }
    waitsForConnection = false
  }

  private func end() {
    guard !isOver else { return }
    abandonAttempt()
    isOver = true
    summary.ended = loop.clock()
    summary.trust = pool?.origin.trust?.policy.name
    worker.observer.ended(summary)
  }
}
