import Credentials
import EventIO
import Forwarding
import HTTPWire
import Routing
import Upstreams

/// One request from its head to its record, across all attempts to have it answered.
///
/// `RequestMachine` decides; this class performs. Each event becomes one input (`take`), each step of the machine is performed by one
/// function, which returns the next input or nil. In the order of a request's life:
///
///     begin        head -> who asks, where it goes, what head goes there        Request+Route
///     authorize    the credential that goes with it                             Request+Credential
///     attempt      an exchange with the origin: waits for a connection          Request+Exchange
///     send         head and body                                                Request+Exchange, Upload
///     receive      the answer's head, and what is decided upon it               Request+Exchange, AnswerPlan
///     settle       an answer that refused the credential                        Request+Refusal, HeldAnswer
///     repeat       after a stale connection, a failure or a status               Request+Repeat
///     relay        the answer to the app                                        Request+Exchange, Download
///     answer       the proxy's own answer                                       Request+Answer
///     tunnel       CONNECT, and what follows a 101                              Request+Connect, Request+Tunnel
///     end          the record
final class Request: CredentialWaiter {
  /// Owns this request in turn, until it has ended.
  let app: AppConnection
  unowned(unsafe) let services: LoopServices
  /// The configuration that it began with, and keeps.
  let snapshot: Snapshot
  /// Armed for whatever this request waits for.
  let timer: RequestTimer
  private(set) var machine = RequestMachine()
  var record = RequestRecord()

  /// What the app sent, as far as it matters behind the head.
  var message = AppMessage()
  /// Where it goes; nil before routing, and for tunnels.
  var way: Way?
  /// Whose request in flight this is, once that is known.
  private(set) var account: ClientAccount?
  var body = AppBody()
  var authorization = Authorization()
  var attempt = Attempt()
  /// Nil: it asks for no tunnel.
  var tunnel: TunnelState?
  /// What the proxy itself will answer, or why it breaks off.
  private var reply: Reply?
  /// The connection is kept after the proxy's own answer.
  private var keepsAfterAnswer = false
  /// When a reload has taken away what this exchange depends on: when it ends at the latest.
  var endsAt: Int64?

  private var isPerforming = false
  /// What came while a step was performed.
  private var arrived: RequestMachine.Input?

  /// What the app asked for, and how its answer is written.
  struct AppMessage {
    /// What goes to the origin, and what of the app decides how its answer is written.
    var outbound = OutboundRequest()
    /// The head as it goes to the origin, but for the credential and the blank line.
    var head: Block?
    /// The app would keep its connection.
    var persists = false
    /// The app waits for 100 before it sends its body.
    var expectsContinue = false
  }

  /// The entry and the origin that a request goes to.
  struct Way {
    /// The snapshot's, which the request keeps.
    unowned(unsafe) let entry: Entry
    let pool: OriginPool
    /// How long nothing may move, in nanoseconds: the entry's `stall`, for an event stream its `tunnel`.
    var stall: Int64
  }

  /// Rare, and large: not a part of each request.
  indirect enum Reply {
    case error(ProxyError)
    case own(OwnAnswer)
    /// 200 to a CONNECT that leads to an entry: what follows are requests.
    case established
  }

  init(app: AppConnection, services: LoopServices, timer: RequestTimer) {
    self.app = app
    self.services = services
    self.timer = timer
    snapshot = services.snapshot
    super.init()
    record.times.started = app.loop.now
    record.peer = app.peer
  }

  deinit { account?.end() }

  var loop: EventLoop { app.loop }
  var hasEnded: Bool { machine.hasEnded }
  var pulse: Pulse { Pulse(loop: loop, timer: timer, limit: way?.stall ?? 30_000_000_000) }

  // MARK: Inputs

  /// Takes the parsed head (`services.requestHead`) at the block's front.
  func begin(_ block: Block) {
    let length = services.requestHead.length
    let bytes = UnsafeRawBufferPointer(start: block.base + block.start, count: length)
    let input = route(bytes)
    block.consume(length)
    if block.isEmpty { block.clearForBody() }
    take(input)
  }

  /// A head that could not be parsed: what follows it on the connection means nothing.
  func refuse(_ error: ProxyError) {
    message.persists = false
    take(failing(error))
  }

  /// The one way into the machine. While a step is performed an input waits until it has been.
  func take(_ first: RequestMachine.Input?) {
    guard let first else { return }
    guard !isPerforming else {
      // One step brings one input: a second one means that the driver is wrong. The request fails, and whatever it holds is closed.
      assert(arrived == nil, "two inputs in one step: \(first)")
      arrived = arrived == nil ? first : failing(.internalError)
      return
    }
    isPerforming = true
    var input = first
    while true {
      let result = perform(machine.handle(input))
      assert(result == nil || arrived == nil, "a step has brought two inputs")
      guard let next = result == nil || arrived == nil ? result ?? arrived : failing(.internalError) else { break }
      arrived = nil
      input = next
    }
    isPerforming = false
  }

  /// The input for what went wrong.
  func failing(_ error: ProxyError) -> RequestMachine.Input {
    reply = .error(error)
    return .failed
  }

  /// The input for what the proxy answers by itself.
  func answering(_ reply: Reply) -> RequestMachine.Input {
    self.reply = reply
    return .answerFound
  }

  /// The attempt came to nothing before its answer began.
  /// - Parameter isStale: a pooled connection turned out closed, and nothing of this request can have been acted upon.
  func attemptFailed(_ error: ProxyError, isStale: Bool) -> RequestMachine.Input {
    reply = .error(error)
    return .attemptFailed(isStale: isStale && canReplay, mayRepeat: error.isWorthRepeating && mayRetry)
  }

  /// Counts this request as one of its client's in flight, until it has ended.
  func admit(_ identity: ClientIdentity) throws(ProxyError) {
    record.client = identity.name
    let account = app.holdings.account(named: identity.name, at: app.peer, in: services.shared.accounts)
    guard account.begin(upTo: identity.maxRequests) else {
      throw .tooManyRequests(client: identity.name, limit: identity.maxRequests ?? 0)
    }
    self.account = account
  }

  /// A refusal is relayed without having been held.
  func markRefusalSettled() { machine.markRefusalSettled() }

  /// A reload has taken away what this request depends on, and its time is up.
  func cutOff() { take(failing(.cutOff)) }

  // MARK: Steps

  private func perform(_ step: RequestMachine.Step) -> RequestMachine.Input? {
    switch step {
    case .none: return nil
    case .obtainCredential: return obtainCredential()
    case .connect: return beginAttempt()
    case .reconnect: return reconnect()
    case .send: return send()
    case .settleRefusal: return settleHeldRefusal()
    case .resend: return resend()
    case .relayHeld(let reason): return relayHeld(reason)
    case .relay: return relay()
    case .pause: return pause()
    case .openTunnel: return openTunnel()
    case .tunnel: return beginTunnel()
    case .answer(let dropsComposed): return answer(dropsComposed: dropsComposed)
    case .fail(let timeout): return failing(error(of: timeout))
    case .cut:
      note(reply)
      let isReset = attempt.download?.endsByClose ?? false
      end()
      app.close(reset: isReset)
    case .finish(let keepsClient):
      end()
      app.requestEnded(keepAlive: keepsClient)
    case .leave:
      record.answer.details = record.answer.details ?? "the client left"
      end()
      app.close()
    case .endTunnel:
      let isReset = tunnel?.endsByReset ?? true
      closeTunnel(reset: isReset)
      end()
      app.close(reset: isReset)
    }
    return nil
  }

  private func answer(dropsComposed: Bool) -> RequestMachine.Input? {
    let reply = reply ?? .error(.internalError)
    note(reply)
    // The origin's head stands behind what is left of interim responses.
    let interim = dropsComposed ? attempt.download?.interim : nil
    dropAttempt()
    if let interim { dropComposedAnswer(behind: interim) }
    keepsAfterAnswer = write(reply)
    return flushAnswer()
  }

  func flushAnswer() -> RequestMachine.Input? {
    switch app.flush() {
    case .whole(let count):
      record.bytesSent += Int64(count)
      return .answerSent(keepsClient: keepsAfterAnswer)
    case .partly(let count):
      record.bytesSent += Int64(count)
      return nil
    case .failed(let count):
      record.bytesSent += Int64(count)
      return .clientBroken
    }
  }

  /// An error of before, which was overcome, is not the reason for what happens now.
  private func note(_ reply: Reply?) {
    guard case .error(let error) = reply else { return }
    let refusal = error.answer(for: way?.entry.name)
    record.answer.error = record.answer.error ?? refusal.error.map { "\($0)" }
    record.answer.details = record.answer.details ?? refusal.details
  }

  // MARK: Waiting

  /// Nothing to do until somebody else acts: buffers go back.
  func park() {
    if let head = message.head, head.capacity > head.count + 64 { message.head = head.exactCopy() }
    app.park()
  }

  /// Why the wait came to nothing.
  private func error(of timeout: RequestMachine.Timeout) -> ProxyError {
    switch timeout {
    case .credential:
      return .credentialUnavailable(way?.entry.settings.credential ?? "", reason: "no token came in time", retryAfter: 1)
    case .connection:
      if attempt.exchange?.leave() == true { return .clientShareUsedUp }
      return way?.pool.isConnecting == true ? .connectTimeout : .connectionLimit
    case .tunnel: return .connectTimeout
    case .app: return .stalled
    case .origin: return .upstreamStalled
    }
  }

  /// What is waited for has not come in time.
  func expired() {
    if machine.phase == .connecting, let way, way.pool.isJudging {
      // An answer about revocation is waited for, which has time limits of its own.
      return loop.arm(timer, at: loop.now + way.entry.timeouts.connect)
    }
    take(.timeUp(attempt.waiting))
  }

  // MARK: Events of the app's side

  func clientReady() {
    noteLeaving()
    switch machine.phase {
    case .answering: take(flushAnswer())
    // No head comes from there: looking for one would be a read in vain.
    case .exchanging: take(pumpUp())
    case .holding, .relaying: take(pump())
    case .tunnelling: take(pumpTunnel())
    case .routing, .authorizing, .connecting, .pausing, .opening, .ended: break
    }
  }

  /// The app may have left: then nobody is there for whom the request should go on.
  @inline(__always)
  func noteLeaving() {
    if app.stream.peerEnded { noteEnd() }
  }

  private func noteEnd() {
    if app.stream.isBroken, machine.phase != .tunnelling { return take(.clientBroken) }
    take(.clientClosed(bodyIsRead: body.isDone))
  }

  // MARK: Events of its credential

  override func credentialArrived(_ result: Result<CredentialVersion, ProxyError>) { take(credentialFound(result)) }

  override func refusalDecided(_ decision: RefusalDecision) { take(follow(decision, .refreshed)) }

  override var refusalKey: RequestKey {
    RequestKey(
      entry: way?.entry.name ?? "", client: record.client ?? "", method: record.target.method,
      path: Array(record.target.path.utf8))
  }

  // MARK: End

  /// Gives up whatever was waited for.
  func dropAttempt() {
    tunnel?.stopOpening()
    endWait()
    record.bytesSent += attempt.download?.sent ?? 0
    attempt.end(on: loop)
  }

  private func end() {
    dropAttempt()
    record.bytesReceived += body.received
    record.times.ended = loop.clock()
    account?.end()
    account = nil
    if let way {
      record.upstream.trust = way.pool.origin.trust?.policy.name
      // Of a host below a wildcard there may have been this request only, and never a connection.
      if way.entry.origin == nil { way.pool.tidy() }
    }
    services.observer.ended(record)
  }
}
