import Credentials
import EventIO
import Forwarding
import HTTPWire

/// One request from its head to its last byte, across all attempts to have it answered.
final class Request {
  /// Owns this request in turn, until it has ended.
  let client: ClientConnection
  /// Lives as long as its loop, which never ends.
  unowned(unsafe) let worker: Worker
  let snapshot: Snapshot
  /// Armed for whatever this request waits for.
  let timer: RequestTimer
  var summary = Summary()
  /// Whose request in flight this is, once that is known.
  var account: ClientAccount?

  // Set by routing.
  private(set) var entry: Entry?
  private(set) var pool: OriginPool?
  /// How long nothing may move, in nanoseconds: the entry's `stall`, for an event stream its `tunnel`.
  var stall: Int64 = 30_000_000_000
  /// What goes to the origin, and what of the app decides how its answer is written.
  var outbound = OutboundRequest()
  /// The head as it goes to the origin, but for the credential and the blank line.
  var head: Block?
  /// The app would keep its connection.
  var clientPersists = false
  var expectsContinue = false

  // The body, as it comes from the app.
  var body = BodySource.none
  var tee = ReplayTee(capacity: 0)

  // What it is waiting for, one at a time.
  var credentialWait: CredentialWait?
  /// When the present wait for a credential began.
  var waitStarted: Int64 = 0
  var waitsForConnection = false
  /// For the next try, after a pause.
  var waitsForRepeat = false
  /// A tunnel that is being opened.
  var opening: TunnelOpening?

  // The present attempt, and what the ones before it have taught.
  var attempt: Attempt?
  /// What the entry's credential is on this loop, and the version that the present attempt carries.
  var credential: LoopCredential?
  var authorization: AttachedCredential?
  /// It was sent again after a refusal: it never is a second time.
  var isResent = false
  /// What becomes of the refusal is decided.
  var refusalIsSettled = false
  /// An origin answered 417 to an Expect that was ours.
  var hasMetExpectationFailure = false
  /// Pooled connections that turned out closed.
  var staleConnections = 0
  /// How often `retry` has had it sent again.
  var retries = 0

  // The answer.
  enum AnswerProgress {
    case none
    /// The final head stands in the outbound block, behind so many bytes of interim responses; not a byte of it has left.
    case composed(behind: Int)
    /// A final response has begun to go to the app: from here on there is no other answer.
    case begun
  }
  var answer = AnswerProgress.none
  /// A whole answer stands in the outbound block; whether the connection is kept after it.
  var keepsAfterAnswer: Bool?
  /// Why an answer that might have been avoided is relayed; Proxy-Status details.
  var proxyStatusNote: String?
  /// Set where a reload has taken away what this exchange depends on: when it ends at the latest.
  var endsAt: Int64?
  private(set) var hasEnded = false

  init(client: ClientConnection, snapshot: Snapshot) {
    self.client = client
    worker = client.worker
    self.snapshot = snapshot
    timer = client.requestTimer
    summary.started = client.loop.now
    summary.peer = client.peer
  }

  deinit { account?.end() }

  var loop: EventLoop { worker.loop }
  var method: Method { outbound.method }
  /// How the body comes from the app.
  var bodyFraming: BodyFraming { outbound.framing }
  /// The app speaks HTTP/1.1 or later.
  var clientIsHTTP11: Bool { outbound.isHTTP11 }

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
    case answer(OwnAnswer)
  }

  private func accept(_ bytes: UnsafeRawBufferPointer) throws(ProxyError) -> Destination {
    outbound = OutboundRequest(worker.requestHead)
    summary.minorVersion = worker.requestHead.minorVersion
    let target: RequestTarget
    do {
      try worker.requestHead.checkHost(in: bytes)
      outbound.framing = try worker.requestHead.framing(in: bytes)
      target = try RequestTarget(of: worker.requestHead, in: bytes)
    } catch { throw .malformed(error) }
    clientPersists = worker.requestHead.persists(in: bytes)
    body = BodySource(outbound.framing)
    expectsContinue = !body.isDone && worker.requestHead.expectation(in: bytes) == .continue
    return try route(target, bytes)
  }

  /// Bytes moved: the stall clock starts anew.
  @inline(__always)
  func progressed() { loop.arm(timer, at: loop.now + stall) }

  /// Nothing to do until somebody else acts: buffers go back.
  func park() {
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

  // MARK: Events of the client's side

  func clientReady() {
    if keepsAfterAnswer != nil { return flushAnswer() }
    attempt?.clientReady()
  }

  /// The app has nothing to do but to wait for the answer, so its FIN means that it has left: a caller whose time was up sends FIN,
  /// not RST. In a tunnel, and while the body is on its way to the origin, FIN is half-close. While the request itself waits, its body
  /// is not read; behind a FIN it is whole, or will never be.
  var endsWithFIN: Bool {
    if opening != nil || keepsAfterAnswer != nil { return false }
    return body.isDone || waitsForConnection || waitsForRepeat || credentialWait != nil && attempt == nil
  }

  /// What is waited for has not come in time.
  func expired() {
    if hasEnded { return }
    if let tunnel = client.tunnel { return tunnel.expired() }
    if keepsAfterAnswer != nil { return clientLeft() }
    if attempt?.held != nil { return relayHeld("not retried, no other token came in time") }
    if credentialWait != nil, endWait() {
      return fail(.credentialUnavailable(entry?.settings.credential ?? "", reason: "no token came in time", retryAfter: 1))
    }
    if waitsForRepeat {
      waitsForRepeat = false
      return connect()
    }
    if opening != nil { return fail(.connectTimeout) }
    guard let attempt else { return fail(.stalled) }
    if waitsForConnection {
      if let entry, pool?.isJudging == true { return loop.arm(timer, at: loop.now + entry.timeouts.connect) }
      if pool?.abandon(attempt) == true { return fail(.clientShareUsedUp) }
      return fail(pool?.isConnecting == true ? .connectTimeout : .connectionLimit)
    }
    // While the app owes nothing, it is the upstream's answer that is waited for: that has its own deadline.
    if attempt.awaitsHead, attempt.upload.isDone { return }
    fail(attempt.waitsForUpstream ? .upstreamStalled : .stalled)
  }

  /// The app's connection is broken: whatever was under way for it ends.
  func clientLeft() {
    guard !hasEnded else { return }
    summary.details = summary.details ?? "the client left"
    end()
    client.close()
  }

  // MARK: End

  func abandonAttempt() {
    opening?.cancel()
    opening = nil
    credentialWait?.cancel()
    credentialWait = nil
    guard let attempt else { return }
    self.attempt = nil
    if waitsForConnection { pool?.abandon(attempt) } else { attempt.abort() }
    waitsForConnection = false
  }

  func end() {
    guard !hasEnded else { return }
    abandonAttempt()
    hasEnded = true
    leaveAccount()
    summary.ended = loop.clock()
    summary.trust = pool?.origin.trust?.policy.name
    // Of a host below a wildcard there may have been this request only, and never a connection.
    if let pool, entry?.origin == nil { pool.tidy() }
    worker.observer.ended(summary)
  }
}
