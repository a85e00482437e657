import EventIO
import HTTP2
import HTTPWire
import Streams

/// An HTTP/2 connection to an origin: moves bytes between its session and its stream, tells each request on it what has come, and decides
/// how long it takes more of them. Its root, the connection that was dialled and judged, owns it.
final class Carrier {
  /// Nanoseconds, give or take a tenth, after which it takes no more requests: by then the name may mean another address.
  private static let age: Int64 = 3_600_000_000_000
  /// Nanoseconds of silence after which it must show that it is alive.
  private static let silence: Int64 = 10_000_000_000
  /// Nanoseconds that an answer to PING is awaited before other requests go elsewhere, and before the connection counts as dead.
  private static let patience: (others: Int64, all: Int64) = (200_000_000, 3_000_000_000)
  /// Requests that may be given up. Origins that guard against resets end all streams of a connection.
  private static let cancellations = 100
  private static let readsATurn = 16
  /// Reads after which those are told for whom bodies have come. Larger pieces cost less to pass on; these stay in the processor's caches.
  private static let readsATelling = 8
  /// Nanoseconds that the end of a stream is awaited whose answer is whole.
  private static let endPatience: Int64 = 1_000_000_000
  /// Nanoseconds for which it takes no requests, so that those in progress may end and others have its place; then as long it goes on.
  private static let yielding: Int64 = 3_000_000_000
  /// Nanoseconds after which an origin that takes no requests here is asked whether it takes some on another connection.
  private static let longPause: Int64 = 2_000_000_000
  /// Of the configuration, in its widest sense: a reload may raise what holds now.
  private static let mostStreams = 1000

  /// Valid until `closed`; then all that is left are streams that are read to their ends.
  unowned let root: UpstreamConnection
  let loop: EventLoop
  private let upstreams: Upstreams
  private let pool: OriginPool
  let session: ClientSession
  private var streams = StreamTable<CarriedStream>()
  /// Streams that are lent, and those whose end has not come.
  private(set) var count = 0
  /// Streams whose answers are whole but for their ends, and when those are awaited no longer; the oldest first.
  private var ending: [(ticket: StreamTicket, limit: Int64)] = []
  private var opened = 0
  private var pipe: SessionPipe
  private var isPumping = false
  private var isClosed = false
  /// A write has failed: there will be none again.
  private var isBroken = false
  /// It takes no more requests.
  private(set) var isRetired = false
  private let ageEnd: Int64
  private var idleEnd = Int64.max
  private var drainEnd = Int64.max
  private var yieldEnd: Int64 = 0
  /// Its place is for requests elsewhere.
  private(set) var handsOver = false
  /// Since when its origin takes no requests; nil: it does.
  private var pausedSince: Int64?
  private var lastReceived: Int64
  /// When the PING was sent that has no answer yet; nil: there is none.
  private var pinged: Int64?
  private(set) var failure: HTTP2Failure?
  /// The origin has said that it does not serve an authority here. Logged once.
  private var hasMisdirected = false
  /// The reason of the GOAWAY that was logged last; nil: none was.
  private var saidGoAway: ErrorCode?

  init(_ root: UpstreamConnection) {
    self.root = root
    loop = root.loop
    upstreams = root.upstreams
    pool = root.pool
    let rules = upstreams.rules
    session = ClientSession(
      limits: SessionLimits(streams: Self.mostStreams, headerSection: rules.responseHead), peerStreams: pool.lastPeerLimit,
      windows: upstreams.windows, now: loop.now)
    pipe = SessionPipe(session, over: root.stream, on: loop)
    lastReceived = loop.now
    var age = Self.age / 10 * 9 + Int64.random(in: 0...Self.age / 5)
    // A certificate may be valid for longer than the loop's clock can count.
    if let expiry = pool.certificateExpiry {
      age = min(age, min(max(expiry - wallClockSeconds(), 0), Self.age / 1_000_000_000 * 2) * 1_000_000_000)
    }
    ageEnd = loop.now + age
  }

  // MARK: Requests

  var isIdle: Bool { count == 0 }
  /// Requests that it takes at once.
  var limit: Int { min(session.streamLimit, pool.streamsOnOne) }
  var hasRoom: Bool { !isRetired && pinged == nil && count < limit && loop.now < ageEnd && !isYielding }
  /// It is likely to have room soon.
  var isAwaited: Bool { pinged.map { loop.now < $0 + Self.patience.others } ?? false }
  /// Its origin wants no requests now: another connection would have no room either.
  var isPaused: Bool { limit == 0 && !isRetired }
  /// It has been so for long.
  var staysPaused: Bool { isPaused && pauseEnd.map { loop.now >= $0 } ?? false }
  private var pauseEnd: Int64? { pausedSince.map { $0 + Self.longPause } }
  /// It takes no requests now, as others want its place.
  var isYielding: Bool { loop.now < yieldEnd }
  /// Its requests have had as much time as those that it let wait.
  var mayYield: Bool { !isRetired && loop.now >= yieldEnd + Self.yielding }

  /// Whether the exchange may go over it now. After a silence only what may be repeated goes along with a PING; the rest waits for the
  /// answer, so that none is lost with a connection that has died meanwhile.
  func mayCarry(_ exchange: Exchange, now: Int64) -> Bool {
    guard now - lastReceived >= Self.silence else { return true }
    ping()
    return exchange.isIdempotent
  }

  /// A stream for one request.
  func open() -> UpstreamConnection {
    let stream = CarriedStream(self)
    count += 1
    opened += 1
    idleEnd = .max
    if loop.now >= root.usesAnswersAt { root.useAnswers() }
    let connection = UpstreamConnection(stream, of: root, isReused: opened > 1)
    stream.user = connection
    return connection
  }

  /// Sends the head of a request.
  /// - Parameter head: as written for HTTP/1.1, with its blank line.
  /// - Returns: how its body follows; nil: it cannot be sent.
  func submit(_ stream: CarriedStream, _ head: UnsafeRawBufferPointer) -> BodyFraming? {
    guard !isClosed else { return nil }
    let indexes = pool.origin.identity.streams?.indexesFields ?? false
    guard
      case .stream(let ticket, let framing) = session.submit(
        head: head, secretFrom: indexes ? .max : 0, marked: stream.marked, isSecretPath: true)
    else { return nil }
    stream.ticket = ticket
    streams.insert(stream, ticket)
    wantsFlush()
    return framing
  }

  /// The session has something to send. Frames of a turn leave in one write.
  func wantsFlush() {
    if !isPumping, !isClosed { loop.again(root) }
  }

  /// The user of a stream is done with it.
  /// - Parameter isWhole: both messages have ended.
  func ended(_ stream: CarriedStream, isWhole: Bool) {
    if let ticket = stream.ticket {
      streams.remove(ticket)
      if !isWhole, stream.isAnswered, !isClosed, session.awaitEnd(of: ticket) {
        ending.append((ticket, loop.now + Self.endPatience))
        return arm()
      }
    }
    count -= 1
    if let ticket = stream.ticket {
      if !isWhole, !isClosed {
        let isSilent = loop.now - max(lastReceived, stream.written) > 1_000_000_000
        // An app that leaves says nothing of the origin, which may count PINGs.
        if isSilent, stream.isOverdue, !stream.answer.hasHead { ping() }
      }
      let cancelled = session.cancelled
      session.release(ticket)
      if session.cancelled > cancelled { report(.cancel, byOrigin: false) }
      if session.cancelled >= Self.cancellations { isRetired = true }
      wantsFlush()
    }
    // What was reset may still offend its origin.
    if !isWhole, pool.isForLoners { isRetired = true }
  }

  /// The stream that nobody uses any more has ended, or takes too long for it.
  private func release(ending ticket: StreamTicket) {
    ending.removeAll { $0.ticket == ticket }
    count -= 1
    session.release(ticket, code: .noError)
  }

  /// - Returns: false: somebody uses the stream.
  private func isEnding(_ ticket: StreamTicket) -> Bool {
    !ending.isEmpty && ending.contains { $0.ticket == ticket }
  }

  /// Its last stream may have ended.
  func rest() {
    guard !isClosed, count == 0 else { return }
    guard !isRetired, loop.now < ageEnd else { return wantsEnd() }
    guard !isYielding, let end = pool.keepIdle() else {
      handsOver = true
      return wantsEnd()
    }
    // Whoever is in line for a paused one waits no longer than for a new one.
    idleEnd = isPaused ? min(end, loop.now + pool.timeouts.connect) : end
    arm()
  }

  /// Takes no requests for a while. If those in progress end meanwhile, its place is for others.
  func yield() {
    yieldEnd = loop.now + Self.yielding
    if count == 0 { rest() } else { arm() }
  }

  /// Ends once its present work is done: what runs now may still use it.
  private func wantsEnd() {
    isRetired = true
    loop.again(root)
  }

  /// Takes no more requests. Those in progress have so many nanoseconds; nil: as many as they need.
  func retire(within limit: Int64? = nil) {
    isRetired = true
    if let limit { drainEnd = min(drainEnd, loop.now + limit) }
    arm()
    loop.again(root)
  }

  // MARK: Bytes

  func start() {
    pump()
    // Those in line go first: without them it might end at once.
    pool.changed()
    rest()
  }

  func ready() { pump() }

  private func pump() {
    guard !isPumping, !isClosed else { return }
    isPumping = true
    receive()
    // What is sent makes room for more of the bodies.
    while !isClosed, pipe.hasWork, flush() { takeEvents() }
    isPumping = false
    if !isClosed, isRetired, count == 0 { close() }
  }

  private func receive() {
    var budget = Self.readsATurn
    let block = loop.blocks.borrow()
    defer { loop.blocks.giveBack(block) }
    while !isClosed {
      guard budget > 0 else { return loop.again(root) }
      budget -= 1
      switch pipe.receive(through: block) {
      case .bytes:
        lastReceived = loop.now
        takeEvents(mayWait: budget % Self.readsATelling != 0)
      case .blocked:
        notify()
        return root.keepSessions()
      case .ended, .lost:
        session.connectionLost()
        takeEvents()
        return close()
      }
    }
  }

  /// - Parameter mayWait: those for whom a body has come may be told later, by `notify`.
  private func takeEvents(mayWait: Bool = false) {
    var isChanged = false
    var hasEnded = false
    while let event = session.nextEvent() {
      switch event {
      case .interimHead(let ticket, let head): streams.touch(ticket)?.answer.take(interim: session.bytes(of: ticket, head))
      case .head(let ticket, let head, _):
        streams.touch(ticket)?.answer.take(head: session.bytes(of: ticket, head), length: session.bodyLength(of: ticket))
      case .data(let ticket), .room(let ticket): streams.touch(ticket)
      case .trailers(let ticket, let lines): streams.touch(ticket)?.answer.take(trailers: session.bytes(of: ticket, lines))
      case .end(let ticket) where isEnding(ticket), .ended(let ticket, _) where isEnding(ticket):
        release(ending: ticket)
        hasEnded = true
      case .end(let ticket): streams.touch(ticket)?.answer.hasEnded = true
      case .ended(let ticket, let end):
        if case .reset(.enhanceYourCalm) = end { pool.backOff() }
        report(end)
        streams.touch(ticket)?.failure = failure(of: end)
      case .refused, .sent: break
      case .goAway(let goAway):
        isRetired = true
        isChanged = true
        if goAway.code == .http11Required { pool.wantsHTTP1() }
        if goAway.code == .enhanceYourCalm { pool.backOff() }
        noteGoAway(goAway)
      case .settings:
        pausedSince = session.streamLimit == 0 ? pausedSince ?? loop.now : nil
        pool.peerTakes(session.streamLimit)
        isChanged = true
      case .pong:
        pinged = nil
        isChanged = true
        upstreams.observer.pinged(upstream: pool.upstream, isAnswered: true)
      case .failed(let failure):
        if let abuse = HTTP2Abuse(failure) { upstreams.observer.abused(upstream: pool.upstream, abuse) }
        self.failure = self.failure ?? HTTP2Failure(failure)
        isRetired = true
      }
    }
    if !mayWait || isChanged || hasEnded || session.failure != nil || isRetired { notify() }
    if session.failure != nil {
      flush()
      close()
    } else if isRetired, opened == 0 {
      // Before its pool opens another one for those who wait for this one.
      close()
    } else if isChanged || hasEnded {
      if pausedSince != nil { arm() }
      pool.changed()
      if hasEnded { rest() }
    }
  }

  /// Origins say it twice when they end in order, and hostile ones without end: it is news only with another reason.
  private func noteGoAway(_ goAway: GoAway) {
    guard saidGoAway != goAway.code else { return }
    saidGoAway = goAway.code
    upstreams.observer.wentAway(
      upstream: pool.upstream, code: goAway.code.rawValue, lastStream: goAway.lastStream,
      text: String(decoding: session.goAwayText, as: UTF8.self))
  }

  /// Counts what one of the two ends has reset.
  private func report(_ end: StreamEnd) {
    switch end {
    case .reset(let code): report(code, byOrigin: true)
    case .refused: report(.refusedStream, byOrigin: true)
    case .http11Required:
      report(.http11Required, byOrigin: true)
      pool.wantsHTTP1()
    case .malformed(let code): report(code, byOrigin: false)
    case .headTooLarge: report(.cancel, byOrigin: false)
    case .tooManyInterimHeads: report(.enhanceYourCalm, byOrigin: false)
    case .goneAway, .connection: break
    }
  }

  private func report(_ code: ErrorCode, byOrigin: Bool) {
    upstreams.observer.streamReset(upstream: pool.upstream, byOrigin: byOrigin, code: code.rawValue)
  }

  private func failure(of end: StreamEnd) -> HTTP2Failure {
    if end == .goneAway, session.goAway?.code == .http11Required { return .wantsHTTP1 }
    guard case .connection(let reason, sent: true) = end else { return HTTP2Failure(end) }
    if let failure { return failure }
    if reason == .lost, let code = session.goAway?.code { return .goneAway(code.rawValue) }
    return HTTP2Failure(reason)
  }

  /// The origin has answered 421: it does not serve the authority on this connection.
  func misdirected() {
    guard !hasMisdirected else { return }
    hasMisdirected = true
    upstreams.observer.misdirected(upstream: pool.upstream)
  }

  /// Lets the requests go on for which something has come.
  private func notify() {
    while let stream = streams.nextTouched() { stream.user?.ready(0, on: loop) }
  }

  /// The origin takes nothing any more. What it sent before may say which requests it has not processed.
  private func readLastWords() {
    root.stream.readLastWords()
    receive()
    guard !isClosed else { return }
    session.connectionLost()
    takeEvents()
    close()
  }

  /// Writes what the session has for the origin.
  /// - Returns: false: the origin takes no more now, or the connection is closed.
  @discardableResult
  private func flush() -> Bool {
    guard !isBroken else { return false }
    switch pipe.send() {
    case .all: return true
    case .blocked: return false
    case .lost:
      isBroken = true
      readLastWords()
      return false
    }
  }

  // MARK: Life

  private func ping() {
    guard pinged == nil, !isClosed else { return }
    pinged = loop.now
    _ = session.ping()
    arm()
    wantsFlush()
  }

  private func arm() {
    var deadline = min(idleEnd, drainEnd)
    if let first = ending.first { deadline = min(deadline, first.limit) }
    if isYielding { deadline = min(deadline, yieldEnd) }
    if let end = pauseEnd, loop.now < end { deadline = min(deadline, end) }
    if let pinged { deadline = min(deadline, isAwaited ? pinged + Self.patience.others : deathEnd) }
    if deadline < .max { loop.arm(root, at: deadline) }
  }

  /// When it counts as dead. The answer to a PING may be behind large bodies, so whatever comes is a sign of life while there are streams.
  private var deathEnd: Int64 {
    guard let pinged else { return .max }
    return (count == 0 ? pinged : max(pinged, lastReceived)) + min(Self.patience.all, pool.timeouts.connect)
  }

  func timeUp() {
    if loop.now >= deathEnd {
      // What has come while the loop was busy.
      root.stream.readLastWords()
      pump()
      if isClosed { return }
    }
    if loop.now >= deathEnd {
      upstreams.observer.pinged(upstream: pool.upstream, isAnswered: false)
      failure = .dead
      session.connectionLost()
      takeEvents()
      return close()
    }
    if loop.now >= idleEnd || loop.now >= drainEnd { return close() }
    let isLate = giveUpEnds()
    arm()
    // What waits for this connection may go elsewhere, or on.
    if pinged != nil || yieldEnd > 0 || pausedSince != nil || isLate { pool.changed() }
    if isLate { rest() }
  }

  /// Resets streams whose end has not come in time.
  /// - Returns: whether there were any.
  private func giveUpEnds() -> Bool {
    let before = ending.count
    while let first = ending.first, loop.now >= first.limit {
      release(ending: first.ticket)
      report(.noError, byOrigin: false)
      wantsFlush()
    }
    return ending.count < before
  }

  /// Says goodbye, and closes.
  private func close() {
    guard !isClosed else { return }
    if count == 0, session.failure == nil {
      session.close()
      flush()
    }
    if !isClosed { root.close() }
  }

  /// The root has closed. What has come whole can still be read.
  func closed() {
    guard !isClosed else { return }
    let error = uselessness
    isClosed = true
    isRetired = true
    if session.failure == nil { session.connectionLost() }
    pipe.giveBack()
    while let event = session.nextEvent() {
      if case .ended(let ticket, let end) = event { streams.touch(ticket)?.failure = failure(of: end) }
    }
    notify()
    if opened == 0 { pool.unusable(root, .http2(error)) }
  }

  /// Why it ends, if it has served nobody.
  private var uselessness: HTTP2Failure {
    if let failure, !failure.isLossOfConnection { return failure }
    if session.goAway?.code == .http11Required { return .wantsHTTP1 }
    return .notProcessed(byGoAway: failure != nil || session.goAway != nil)
  }
}
