import Credentials
import EventIO
import Forwarding
import HTTP2
import HTTPWire
import Routing
import Upstreams

/// One request from its head to its record, across all its attempts.
///
/// `RequestMachine` decides; this class performs. Each event becomes one input (`take`). One function performs each step of the
/// machine, and returns the next input or nil. In the order of a request's life:
///
///     begin        head -> who asks, where it goes, what head goes there        Request+Route
///     look up      an answer from the store, if the entry has a cache           Request+LookUp, StoredReply
///     authorize    the credential that goes with it                             Request+Credential
///     collect      a body that must be known before its head                    Request+WholeBody
///     attempt      an exchange with the origin: waits for a connection          Request+Exchange, Request+Origins
///     send         head and body                                                Request+Exchange, Upload
///     receive      the answer's head, and what is decided upon it               Request+Exchange, AnswerPlan
///     settle       an answer that refused the credential                        Request+Unauthorized, HeldAnswer
///     redirect     the request for what a redirect leads to                      Request+Redirect
///     retry        after a stale connection, a failure or a status               Request+Retry
///     relay        the answer to the app                                        Request+Exchange, Download
///     answer       the proxy's own answer                                       Request+Answer
///     tunnel       CONNECT, and what follows a 101                              Request+Connect, Request+Tunnel
///     end          the record
final class Request: CredentialWaiter {
  /// The app connection owns this request in turn, until the request has ended.
  let app: AppConnection
  /// A `let` on purpose: one that is `unowned(unsafe)` is retained at each use, which was 4 % of a request.
  let services: LoopServices
  let loop: EventLoop
  /// The configuration that it began with, and keeps.
  let snapshot: Snapshot
  /// The deadline of what this request waits for.
  let timer: RequestTimer
  private(set) var machine = RequestMachine()
  var record = RequestRecord()

  /// What the app's head says that is needed later.
  var message = AppMessage()
  /// The entry and the origin; nil before routing, and for tunnels.
  var way: Way? { didSet { timer.limit = way?.stall ?? Pulse.standardLimit } }
  /// Counts this request as in flight, once its client is known.
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
  /// Nil: every redirect is relayed.
  var redirection: Redirection?
  /// Nil: the entry has no `cache`.
  var cache: CacheState?
  /// When a reload has removed what this exchange depends on: the time at which it ends at the latest.
  var endsAt: Int64?

  private(set) var isPerforming = false
  /// The account does not count it as in flight.
  private var isUncounted = false
  /// The input that arrived while a step was performed.
  private var arrived: RequestMachine.Input?

  /// What the app asked for, and how its answer is written.
  struct AppMessage {
    /// The request for the origin, and what decides how the answer is written.
    var outbound = OutboundRequest()
    /// The head for the origin, without the credential and the blank line.
    var head: Block?
    /// The app wants to keep its connection open.
    var persists = false
    /// The app waits for 100 before it sends its body.
    var expectsContinue = false
    /// Names whose fields the app wants in no table of HPACK. They count for every request that is made from its head.
    var marked: IndexedNames = []
  }

  /// The entry and the origin that a request goes to.
  struct Way {
    /// The snapshot owns it, and the request keeps the snapshot.
    unowned(unsafe) let entry: Entry
    /// The entry's, for the match that the request came by.
    unowned(unsafe) let rules: ForwardingRules
    /// Of the origin that the message's head is for.
    var pool: OriginPool
    /// nil: the entry has one origin, or each host is one.
    let search: OriginSearch?
    /// Nanoseconds in which a byte must move: the entry's `stall`, for an event stream its `tunnel`.
    var stall: Int64
  }

  enum Reply {
    // Indirect, because they are rare and large: other requests need no space for them.
    indirect case error(ProxyError)
    indirect case own(OwnAnswer)
    /// From the store of answers.
    case stored(StoredReply)
    /// The origin's, through blocks that others read, too. Its head is in the outbound block.
    case shared
    /// The same of another request's answer.
    case joined(SharedAnswer)
    /// 200 to a CONNECT that leads to an entry: what follows are requests.
    case established
  }

  /// - Parameter snapshot: of the request that it stands in for; nil: it begins on the present one.
  init(app: AppConnection, services: LoopServices, timer: RequestTimer, under snapshot: Snapshot? = nil) {
    timer.limit = Pulse.standardLimit
    record.times.started = services.loop.now
    record.peer = app.peer
    if let sender = app.sender { record.sender = sender }
    if app.isStream { record.target.isStream = true }
    loop = services.loop
    self.snapshot = snapshot ?? services.snapshot
    self.app = app
    self.services = services
    self.timer = timer
    super.init()
  }

  deinit { leaveClient() }

  var hasEnded: Bool { machine.hasEnded }
  /// The same timer, while bytes move.
  var pulse: Pulse { timer }

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

  /// Answers a head that is none.
  /// - Parameters:
  ///   - isHead: its method is HEAD: the answer has no body.
  ///   - closes: the bytes behind it mean nothing.
  func refuse(_ error: ProxyError, isHead: Bool, closes: Bool) {
    if isHead { message.outbound = OutboundRequest(method: .head) }
    message.persists = !closes
    take(failing(error))
  }

  /// The only way into the machine. An input that arrives while a step is performed waits for its end.
  func take(_ first: RequestMachine.Input?) {
    guard let first else { return }
    guard !isPerforming else {
      // Each step brings one input. A second one is a bug of the driver: the request fails, and closes what it holds.
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

  /// The input for an error.
  func failing(_ error: ProxyError) -> RequestMachine.Input {
    reply = .error(error)
    return .failed
  }

  /// The input for an answer of the proxy itself.
  func answering(_ reply: Reply) -> RequestMachine.Input {
    self.reply = reply
    return .answerFound
  }

  /// The reply of the `answerFound` that follows.
  func prepare(_ reply: Reply) { self.reply = reply }

  /// The attempt failed before its answer began.
  /// - Parameter isStale: as `exchangeFailed` decides.
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
    if identity.maxRequests != nil { app.clientPlace = ClientPlace(taken: account) }
  }

  /// Not one of its client's in flight any more.
  private func leaveClient() {
    guard let account else { return }
    self.account = nil
    if isUncounted { return }
    guard let place = app.clientPlace else { return account.end() }
    app.clientPlace = nil
    place.leave()
  }

  /// Its connections count as the client's, but it is none of the client's requests.
  func adopt(_ account: ClientAccount?) {
    self.account = account
    isUncounted = true
  }

  /// It goes on without its client, for others.
  func giveUpPlace() {
    let account = account
    leaveClient()
    adopt(account)
  }

  /// A refusal is relayed without having been held.
  func markRefusalSettled() { machine.markRefusalSettled() }

  /// A reload has removed what this request depends on, and its time is up.
  func cutOff() { take(failing(.cutOff)) }

  // MARK: Steps

  private func perform(_ step: RequestMachine.Step) -> RequestMachine.Input? {
    switch step {
    case .none: return nil
    case .beginHop: return beginHop()
    case .obtainCredential: return obtainCredential()
    case .awaitAnswer: park()
    case .collectBody: return collectBody()
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
      if case .error(let error) = reply { note(error.answer(for: way?.entry.name)) }
      let isReset = (attempt.download?.endsByClose ?? false) || (cache?.reading?.endsByClose ?? false)
      app.stream.isCut = true
      end()
      app.close(reset: isReset)
    case .finish(let keepsClient):
      end()
      app.requestEnded(keepAlive: keepsClient)
    case .leave:
      record.answer.details = record.answer.details ?? "the client left"
      // Whatever was sent is not whole.
      app.stream.isCut = true
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
    // What is left of interim responses precedes the origin's head.
    let interim = dropsComposed ? attempt.download?.interim ?? cache?.reading?.interim : nil
    dropAttempt()
    if let interim {
      dropComposedAnswer(behind: interim)
      cache?.reading = nil
    }
    if let cache, case .error(let error) = reply { failFetch(cache, .error(error)) }
    keepsAfterAnswer = write(staleReply(insteadOf: reply) ?? reply)
    // It may hold a body of which the blocks go as they are read.
    self.reply = nil
    return flushAnswer()
  }

  func flushAnswer() -> RequestMachine.Input? {
    if let cache, cache.reading != nil { return sendReading(cache, keepsClient: keepsAfterAnswer) }
    app.clientPlace?.leave()
    switch app.flush() {
    case .whole(let count):
      record.bytesSent += Int64(count)
      return .answerSent(keepsClient: keepsAfterAnswer)
    case .partly(let count):
      app.clientPlace?.comeBack()
      record.bytesSent += Int64(count)
      return nil
    case .failed(let count):
      record.bytesSent += Int64(count)
      return .clientBroken
    }
  }

  /// Records the error of the final answer. Earlier errors, which an attempt may have overcome, are not recorded.
  func note(_ refusal: OwnAnswer) {
    record.answer.error = record.answer.error ?? refusal.error.map { "\($0)" }
    record.answer.details = record.answer.details ?? refusal.details
  }

  // MARK: Waiting

  /// Nothing to do until another side acts: gives buffers back.
  func park() {
    if let head = message.head, head.capacity > head.count + 64 {
      message.head = head.exactCopy()
      loop.blocks.giveBack(head)
    }
    app.park()
  }

  /// The error of a wait that timed out.
  private func error(of timeout: RequestMachine.Timeout) -> ProxyError {
    switch timeout {
    case .credential:
      return .credentialUnavailable(way?.entry.settings.credential ?? "", reason: "no token came in time", retryAfter: 1)
    case .connection:
      if attempt.exchange?.leave() == true { return .clientShareUsedUp }
      if let error = way?.pool.hung() { return .upstream(error) }
      if way?.pool.isPaused == true { return .noStreams }
      return way?.pool.isConnecting == true ? .connectTimeout : .connectionLimit
    case .tunnel: return .connectTimeout
    case .app: return .stalled
    case .origin:
      let isParents = blameParent()
      if let search = way?.search { judge(search, isNoAnswer: false, isParents: isParents) }
      return .upstreamStalled
    }
  }

  /// The deadline of the current wait has passed.
  func expired() {
    if machine.phase == .connecting, let way, way.pool.isJudging {
      // A connection waits for a revocation answer, which has its own time limits.
      return loop.arm(timer, at: loop.now + way.entry.timeouts.connect)
    }
    if let end = tunnel?.dial?.movedEnd, end > loop.now {
      // The same for a parent, on the way of a tunnel.
      return loop.arm(timer, at: min(end, loop.now + Int64(snapshot.settings.timeouts.connect) * 1_000_000))
    }
    if machine.phase == .connecting, let search = way?.search { return take(shareEnded(search)) }
    take(.timeUp(attempt.waiting))
  }

  // MARK: Events of the app's side

  func clientReady() {
    noteLeaving()
    switch machine.phase {
    case .answering: take(flushAnswer())
    // This event does not come from the origin, so reading its head would be in vain.
    case .exchanging: take(pumpUp())
    case .holding, .relaying: take(pump())
    case .collecting: take(readWholeBody())
    case .tunnelling: take(pumpTunnel())
    case .routing, .authorizing, .collapsed, .connecting, .preparing, .pausing, .opening, .ended: break
    }
  }

  /// If the app has closed its side, the machine decides whether the request goes on.
  @inline(__always)
  func noteLeaving() {
    if app.stream.peerEnded { noteEnd() }
  }

  private func noteEnd() {
    if outliveApp() { return }
    if app.stream.isBroken, machine.phase != .tunnelling { return take(.clientBroken) }
    // The body of a stored or shared answer: as while the origin's is relayed.
    if machine.phase == .answering, cache?.reading != nil, body.isDone { return take(.clientBroken) }
    take(.clientClosed(bodyIsRead: body.isDone))
  }

  // MARK: Events of its credential

  override func credentialArrived(_ result: Result<CredentialVersion, ProxyError>) { take(credentialFound(result)) }

  override func refusalDecided(_ decision: RefusalDecision) { take(follow(decision, .refreshed)) }

  override func preparationArrived() {
    guard machine.phase == .preparing else { return }
    endPreparation()
    take(.preparationArrived)
  }

  override var connection: UpstreamConnection? { attempt.exchange?.connection }
  override var isInLine: Bool { attempt.exchange?.isWaiting ?? false }

  override var subject: AppSubject? { authorization.subject }

  override var refusalKey: RequestKey {
    RequestKey(
      entry: way?.entry.name ?? "", client: record.client ?? "", method: askedMethod,
      path: Array(askedPath.utf8))
  }

  // MARK: End

  /// Gives up every wait, and the attempt.
  func dropAttempt() {
    tunnel?.stopOpening()
    endWait()
    record.bytesSent += attempt.download?.sent ?? 0
    attempt.end(on: loop)
    way?.search?.cancel()
  }

  private func end() {
    dropAttempt()
    if let cache { leaveStore(cache) }
    record.bytesReceived += body.received
    body.giveBack()
    if let head = message.head.take() { loop.blocks.giveBack(head) }
    record.times.ended = loop.clock()
    leaveClient()
    defer { if cache?.sharing.isBackground != true { services.observer.ended(record) } }
    record.upstream.trust = way?.pool.origin.trust?.policy.name
    // A host below a wildcard may have had this request only, and never a connection.
    if way?.entry.origin == nil { way?.pool.tidy() }
  }
}
