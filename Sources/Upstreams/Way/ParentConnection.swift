import CSystem
import EventIO
import HTTPWire
import Streams
import TLS
import Trust
import WayOut

/// Opens one stream through one parent proxy: TCP, TLS and its verdict, then the request for the target. No byte of the parent's
/// credential leaves before the verdict, and no byte for the target before the parent's answer.
///
/// The socket's registration and the dial hold it until it has reported.
final class ParentConnection: EventHandler {
  enum Report {
    /// A revocation answer is waited for.
    case judging
    /// It has come, or will not, after this time in nanoseconds.
    case judged(after: Int64)
    case open(Dial.Connected)
    case failed(ParentFailure)
  }

  private enum Phase { case idle, dialling, handshaking, judging, obtaining, awaitingTrial, asking, skipping, answered, ended }

  /// Answers to one parent's challenges: two for Digest, and the rounds of Negotiate.
  private static let maximumChallenges = 6
  /// New connections in place of those that ended while they waited, for one stream.
  private static let maximumReopenings = 3

  let parent: Parent
  private let target: Target
  private unowned let upstreams: Upstreams
  private let report: (Report) -> Void
  private var phase = Phase.idle
  private var dial: Dial?
  private var stream: ByteStream?
  private var address: Address?
  private var offered: VerdictRecord?
  private var verdict: VerdictRecord?
  private var gate: RevocationCheck?
  /// When the wait for a revocation answer began, in nanoseconds of the loop's clock.
  private var judgingSince: Int64?
  private var wait: (any ParentWait)?
  private var login: ParentLogin?
  private var trial: LoginTrial?
  /// What follows the challenge whose body is skipped.
  private var next = ParentReading.Next.anyConnection
  private var skipped: SkippedBody?
  private var challenges = 0
  private var reopenings = 0
  private var hasMetOtherRules = false
  /// The trial goes on with another connection, or another ticket.
  private var keepsTrial = false
  /// The parent has refused one version already; it gets one more.
  private var isSecondTry = false
  private var unsent: ArraySlice<UInt8> = []
  /// Some of what was to be sent last has left.
  private var isWritten = false
  private var received: [UInt8] = []
  private var exchange: ParentExchange?
  private var hasAsked = false

  struct Target {
    /// The host, whichever of its addresses the parent is asked for.
    var name: String
    /// What the parent is asked for. A name: lower-case, IPv6 without brackets.
    var host: String
    var port: UInt16
    /// The origin speaks clear HTTP, and its requests may go in absolute-form.
    var mayBeAbsolute: Bool
    /// Where connections come from.
    var source: SourceAddresses
  }

  /// What a time-up means now.
  enum Silence {
    /// The parent's own: its name, TCP or TLS.
    case ofParent
    /// It was asked, and may wait for the target.
    case ofAnswer
    /// The proxy's: a verdict, a credential, another connection's trial.
    case own
  }
  var silence: Silence {
    switch phase {
    case .idle, .dialling, .handshaking, .ended: .ofParent
    case .judging, .obtaining, .awaitingTrial, .answered: .own
    case .asking, .skipping: unsent.isEmpty ? .ofAnswer : .ofParent
    }
  }

  init(_ parent: Parent, _ target: Target, on upstreams: Upstreams, report: @escaping (Report) -> Void) {
    self.parent = parent
    self.target = target
    self.upstreams = upstreams
    self.report = report
  }

  private var loop: EventLoop { upstreams.loop }
  private var refuser: ParentRefuser {
    let host = LoginTarget(target.name, target.port).host
    return isAbsolute ? .request(host) : .tunnel(host)
  }
  private var isAbsolute: Bool { target.mayBeAbsolute && parent.takesAbsoluteForm }

  func start() {
    phase = .dialling
    // The operator wrote the parent, so `forbidden_addresses` does not apply; it must not be this process, though.
    let route = Route(ways: [nil], addresses: parent.addresses, source: target.source)
    let dial = Dial.to(
      Dial.Target(host: parent.settings.host, port: parent.settings.port, checksAddresses: false, route: route),
      on: upstreams
    ) { [unowned self] in self.dialled($0) }
    self.dial = dial
    dial.start(for: .configuration, within: 0)
  }

  func cancel() {
    guard phase != .ended else { return }
    let late = lateAnswer
    finish()
    if let late { late.start() } else if let stream { stream.close(on: loop) }
    stream = nil
  }

  /// Not nil: the parent owes an answer that says whether the credential is right, and nobody else knows.
  private var lateAnswer: LateAnswer? {
    guard phase == .asking, unsent.isEmpty, let stream, let exchange, exchange.presentsLogin, let login, let trial, trial.isOpen
    else { return nil }
    return LateAnswer(stream, received, trial, of: parent, version: login.version, on: upstreams) { exchange.verdict(&$0) }
  }

  /// It reports nothing any more. The stream is the caller's.
  private func finish() {
    phase = .ended
    dial?.cancel()
    dial = nil
    wait?.cancel()
    wait = nil
    if gate != nil { upstreams.revocations.leave(self) }
    gate = nil
    upstreams.logins.forget(self)
    trial = nil
    loop.forget(self)
  }

  private func fail(_ reason: ParentFailure.Reason, status: Int? = nil, reply: UInt8? = nil) {
    guard phase != .ended else { return }
    // What is no answer may have been a refusal.
    if case .badAnswer = reason, isWritten, exchange?.presentsLogin ?? false { trial?.unanswered(now: loop.now) }
    finish()
    if let stream { stream.close(on: loop) }
    stream = nil
    report(
      .failed(
        ParentFailure(
          parent: parent.name, credential: parent.credential?.name, reason: reason, wasAsked: hasAsked, status: status,
          reply: reply)))
  }

  // MARK: The parent itself

  private func dialled(_ progress: Dial.Progress) {
    switch progress {
    case .connecting: break
    case .failed(let error):
      dial = nil
      fail(.unreached(error))
    case .connected(let connected):
      dial = nil
      stream = connected.stream
      address = connected.address
      if let token = connected.stream.token { loop.hand(token, to: self) }
      guard !upstreams.isOwnListener(connected.address),
        !upstreams.isOwnListener(connected: connected.stream.descriptor, to: connected.address)
      else { return fail(.unreached(.addressForbidden(parent.settings.host))) }
      secure(connected.stream)
    }
  }

  private func secure(_ stream: ByteStream) {
    guard parent.isTLS else { return obtainLogin() }
    guard let trust = parent.trust else { return fail(.unreached(.tlsFailed("there is no trust policy"))) }
    let known = upstreams.sessions.take(parent.trustKey, now: wallClockSeconds())
    offered = known?.record
    do {
      stream.secure(
        try TLSConnection(
          context: upstreams.context(trust, parent.clientIdentity), descriptor: stream.descriptor,
          serverName: parent.settings.host, session: known?.session))
    } catch { return fail(.unreached(.tlsFailed(error.message))) }
    phase = .handshaking
    handshake()
  }

  private func handshake() {
    guard let tls = stream?.tls else { return }
    switch tls.handshake() {
    case .done: judge(tls)
    case .wantRead, .wantWrite: break
    case .failed(let error):
      if let refusal = tls.refusal { refuse(refusal) } else { fail(.unreached(.tlsFailed(error.message))) }
    }
  }

  private func judge(_ tls: TLSConnection) {
    guard let trust = parent.trust else { return }
    if tls.isResumed {
      guard let offered else {
        return refuse(
          PeerRefusal(
            evaluator: "default", reason: .verdictExpired, detail: "a session without a verdict was resumed"))
      }
      verdict = offered
    } else {
      verdict = VerdictRecord(chain: tls.verifiedChain, until: 0, staple: tls.stapledOCSP)
    }
    tls.dropChains()
    guard let verdict else { return }
    phase = .judging
    gate = trust.evaluation.gate(host: tls.peerName, chain: verdict.chain, staple: verdict.staple, judgesParent: true)
    passGate()
  }

  private func passGate() {
    guard let action = gate?.next(upstreams.shared.revocation, now: wallClockSeconds()) else { return }
    switch action {
    case .fetch(let request):
      if judgingSince == nil {
        judgingSince = loop.now
        report(.judging)
      }
      return upstreams.revocations.ask(request, for: self)
    default: break
    }
    if let since = judgingSince {
      judgingSince = nil
      report(.judged(after: loop.now - since))
    }
    switch action {
    case .fetch: break
    case .refused(let refusal):
      if let gate { upstreams.observer.report(gate) }
      refuse(refusal)
    case .trusted(let until):
      if let gate { upstreams.observer.report(gate) }
      gate = nil
      verdict?.until = until
      obtainLogin()
    }
  }

  private func refuse(_ refusal: TrustRefusal) {
    upstreams.observer.trustFailed(upstream: "parent \(parent.name)", evaluator: refusal.evaluator, reason: refusal.reason)
    fail(
      .unreached(.untrusted(evaluator: refusal.evaluator, reason: refusal.reason.rawValue, detail: refusal.detail)))
  }

  // MARK: Its credential

  private func obtainLogin() {
    guard let credential = parent.credential else { return enterTrial() }
    phase = .obtaining
    let peer = ParentPeer(
      isTLS: parent.isTLS, host: parent.settings.host, port: parent.settings.port,
      endPointBinding: stream?.tls?.endPointBinding)
    var isLater = false
    let wait = credential.obtain(for: peer, on: loop) { [unowned self] result in
      guard phase == .obtaining else { return }
      self.wait = nil
      switch result {
      case .success(let login):
        // Of another version others decide.
        let isSame = login.version == self.login?.version
        self.login = login
        if isLater, reopensAfterWait() { return }
        if keepsTrial, isSame { return begin() }
        keepsTrial = false
        trial = nil
        enterTrial()
      case .failure(let missing): fail(.loginMissing(missing.reason))
      }
    }
    // What was known has been delivered already.
    isLater = true
    if phase == .obtaining { self.wait = wait }
  }

  /// While it waited with nothing asked, the parent may have closed the connection, or said that it waits no longer: that would be taken
  /// for the answer to what comes now.
  /// - Returns: whether it is opened anew.
  private func reopensAfterWait() -> Bool {
    guard exchange == nil, challenges == 0, reopenings < Self.maximumReopenings else { return false }
    switch stream?.remainder() {
    case .end, .unread: break
    case .quiet, .undecided, nil: return false
    }
    reopenings += 1
    startAnew()
    return true
  }

  private func enterTrial() {
    let key = LoginTrials.Key(account: parent.account, version: login?.version ?? 0)
    let form: LoginTrials.Form = isAbsolute ? .absolute : .tunnel
    var target = LoginTarget(target.name, target.port)
    if self.target.host != self.target.name { target.address = self.target.host.hashValue }
    switch upstreams.shared.logins.enter(key, form, target, from: loop.executor, now: loop.now) {
    case .go(let number, let isDoubted):
      trial = LoginTrial(key, form, target, number: number, upstreams.shared)
      guard isDoubted else { return begin() }
      readAgain { [unowned self] in
        keepsTrial = true
        if !reopensAfterWait() { begin() }
      }
    case .wait(let until):
      phase = .awaitingTrial
      upstreams.logins.await(key, self, until: until, on: loop)
    case .refused(let asked, isFinal: true): refused(.loginRefused(asked: asked), nil, nil)
    case .refused(let asked, isFinal: false): fail(.loginRefused(asked: asked, isFinal: false))
    case .unanswered: fail(.loginUnanswered)
    case .heldBack(let asked): readAgain { [unowned self] in fail(.loginRefused(asked: asked, isFinal: false)) }
    }
  }

  /// What was accepted before was refused, for this host or for another one.
  /// - Parameter otherwise: what follows if its source has no other value.
  private func readAgain(_ otherwise: @escaping () -> Void) {
    guard let credential = parent.credential, let login else { return otherwise() }
    phase = .answered
    let wait = credential.refused(login.version, by: refuser, on: loop) { [unowned self] hasAnother in
      guard phase == .answered else { return }
      self.wait = nil
      guard hasAnother else { return otherwise() }
      trial = nil
      if !reopensAfterWait() { obtainLogin() }
    }
    if phase == .answered { self.wait = wait }
  }

  /// What came of another connection's trial is known.
  func trialSettled() {
    guard phase == .awaitingTrial else { return }
    // The version may have been replaced meanwhile.
    if !reopensAfterWait() { obtainLogin() }
  }

  // MARK: The target

  private func begin() {
    if isAbsolute { return opened(isAbsolute: true) }
    phase = .asking
    let exchange: ParentExchange
    do {
      exchange = try ParentExchange(
        parent, host: target.host, port: target.port, login: login, by: upstreams.rules.name,
        limit: upstreams.rules.responseHead, hasMetOtherRules: hasMetOtherRules)
    } catch { return fail(error) }
    self.exchange = exchange
    hasAsked = true
    unsent = exchange.opening[...]
    isWritten = false
    proceed()
  }

  private func proceed() {
    guard flush(), phase == .asking || phase == .skipping || phase == .answered else { return }
    receive()
  }

  /// - Returns: false: it waits, or has failed.
  private func flush() -> Bool {
    guard let stream else { return false }
    while !unsent.isEmpty {
      switch unsent.withUnsafeBytes({ stream.write($0) }) {
      case .bytes(let count):
        unsent.removeFirst(count)
        isWritten = true
      case .later: return false
      case .failed:
        fail(.badAnswer("it closed the connection"))
        return false
      }
    }
    return true
  }

  private func receive() {
    guard let stream else { return }
    let block = loop.blocks.borrow()
    defer { loop.blocks.giveBack(block) }
    // What was not asked yet has no answer.
    while phase == .asking || phase == .skipping, unsent.isEmpty {
      block.clear()
      switch stream.read(into: block.space) {
      case .bytes(let count):
        received += UnsafeRawBufferPointer(start: block.base, count: count)
        interpret()
      case .later: return
      case .end, .truncated, .failed:
        if phase == .skipping { return reopen() }
        return fail(.badAnswer("it closed the connection before its answer was complete"))
      }
    }
  }

  private func interpret() {
    if phase == .skipping { return skip() }
    guard let exchange else { return }
    while phase == .asking {
      switch exchange.read(&received) {
      case .incomplete: return
      case .send(let bytes):
        if exchange.isLoginAccepted { trial?.accepted(now: loop.now) }
        unsent += bytes[...]
        isWritten = false
        guard flush() else { return }
      case .open: return opened(isAbsolute: false)
      case .refused(let reason, let status, let reply): return refused(reason, status, reply)
      case .challenged(let next, let body): return challenged(next, body)
      }
    }
  }

  // MARK: Challenges

  /// The parent is asked again, with an answer to its challenge: over the same connection, if that can be kept.
  private func challenged(_ next: ParentReading.Next, _ body: SkippedBody?) {
    challenges += 1
    guard challenges <= Self.maximumChallenges else {
      return fail(.badAnswer("it answers each request with another challenge"))
    }
    self.next = next
    if next == .otherRules { hasMetOtherRules = true }
    keepsTrial = true
    guard let body else { return reopen() }
    skipped = body
    phase = .skipping
    skip()
  }

  private func skip() {
    switch skipped?.skip(&received) {
    case .more: break
    case .unusable, nil: reopen()
    case .over:
      exchange = nil
      // Behind the body nothing may follow yet.
      guard received.isEmpty else { return reopen() }
      if next == .newTicket { obtainLogin() } else { begin() }
    }
  }

  /// The parent has closed the connection of its challenge, or it cannot be kept.
  private func reopen() {
    guard next != .thisConnection else {
      return fail(.badAnswer("it closed the connection in the middle of an authentication"))
    }
    startAnew()
  }

  private func opened(isAbsolute: Bool) {
    guard let stream, let address else { return }
    if let tls = stream.tls, let verdict {
      while let session = tls.takeSession() { upstreams.sessions.store(session, verdict, for: parent.trustKey) }
    }
    // Of requests in absolute-form each answer says what the parent thinks of the credential.
    var absolute: AbsoluteForm?
    if isAbsolute {
      absolute = AbsoluteForm(parent, host: target.host, port: target.port, login, trial, on: upstreams)
    } else {
      if login?.isPresented ?? true {
        trial?.accepted(now: loop.now)
        parent.credential?.accepted(by: refuser, on: loop)
      }
    }
    let rest = received
    finish()
    self.stream = nil
    report(
      .open(
        Dial.Connected(
          stream: stream, address: address, parent: parent, verdict: verdict, absolute: absolute, rest: rest)))
  }

  private func refused(_ reason: ParentFailure.Reason, _ status: Int?, _ reply: UInt8?) {
    // 403 or 5xx: some parents say so before they judge the credential.
    guard case .loginRefused(let asked, let isFinal) = reason else { return fail(reason, status: status, reply: reply) }
    let pause = exchange?.pause
    // Without a trial it was refused for all before.
    let isForAll = trial?.refused(asked: asked, pause: pause, now: loop.now) ?? true
    let reason = ParentFailure.Reason.loginRefused(asked: asked, isFinal: isFinal && isForAll)
    guard pause == nil, let credential = parent.credential, let login, !isSecondTry else {
      return fail(reason, status: status, reply: reply)
    }
    phase = .answered
    let wait = credential.refused(login.version, by: isForAll ? .parent : refuser, on: loop) { [unowned self] hasAnother in
      guard phase == .answered else { return }
      self.wait = nil
      guard hasAnother else { return fail(reason, status: status, reply: reply) }
      again()
    }
    if phase == .answered { self.wait = wait }
  }

  /// Asks once more, over a new connection, with what the credential's source says now.
  private func again() {
    isSecondTry = true
    keepsTrial = false
    startAnew()
  }

  private func startAnew() {
    if let stream { stream.close(on: loop) }
    stream = nil
    exchange = nil
    received = []
    unsent = []
    verdict = nil
    start()
  }

  // MARK: Events

  override func ready(_ events: UInt32, on loop: EventLoop) {
    stream?.note(events)
    switch phase {
    case .handshaking: handshake()
    case .asking, .skipping: proceed()
    default: break
    }
  }
}

extension ParentConnection: RevocationWaiter {
  func revocationAnswered() {
    if phase == .judging { passGate() }
  }
}
