import EventIO
import Streams
import WayOut

/// Opens a stream by one of several ways, in their order and by their health (`WayAttempt`).
final class WayDial: Dial {
  private let target: Target
  private let route: Route
  private var attempt: WayAttempt?
  private var asker = NameAsker.configuration
  private var index = 0
  private var began: Int64 = 0
  /// The end of the present way's share of the time, and that of what it is asked for now.
  private var (shareEnd, tryEnd): (Int64, Int64) = (0, 0)
  private var isJudging = false
  /// Addresses that the present parent is asked for next, if those before are not reached.
  private var addresses: ArraySlice<Address> = []
  private var parentConnection: ParentConnection?
  private var direct: HostDial?
  private var lookup: Resolver.Waiter?
  /// Why each way failed.
  private var failures: [UpstreamError?]
  private var isOver = false

  init(_ target: Target, _ route: Route, on upstreams: Upstreams, report: @escaping (Progress) -> Void) {
    self.target = target
    self.route = route
    failures = Array(repeating: nil, count: route.ways.count)
    super.init(on: upstreams, report: report)
  }

  private var loop: EventLoop { upstreams.loop }
  private var parent: Parent? { route.ways[index] }

  override func start(for asker: NameAsker, within limit: Int64) {
    self.asker = asker
    // The time for a look-up is part of the way's.
    report(.connecting)
    guard !isOver else { return }
    let mayBeAbsolute = target.isClear && !route.tunnelsAlways
    var attempt = WayAttempt(
      route.ways.map { $0?.hop }, until: loop.now + limit,
      by: mayBeAbsolute ? WayHealth.Witness(host: target.host, port: target.port) : nil)
    let step = upstreams.shared.health.withLock { attempt.start(&$0, now: loop.now) }
    self.attempt = attempt
    follow(step)
  }

  override func cancel() {
    guard !isOver else { return }
    over()
    upstreams.shared.health.withLock { attempt?.cancel(&$0) }
  }

  override var overdue: UpstreamError { isOver ? .connectTimeout : timeout.0 }

  override func timeUp() -> UpstreamError {
    guard !isOver else { return .connectTimeout }
    let (error, outcome) = timeout
    stopTrying()
    failures[index] = error
    _ = ended(outcome, isLast: true)
    over()
    return error
  }

  private func over() {
    isOver = true
    stopTrying()
    loop.forget(self)
  }

  private func stopTrying() {
    parentConnection?.cancel()
    parentConnection = nil
    direct?.cancel()
    direct = nil
    lookup?.cancel()
    lookup = nil
    isJudging = false
  }

  private func armTry(_ end: Int64) {
    tryEnd = end
    loop.arm(self, at: end)
  }

  /// A way's share of the time is over, or that of one address.
  override func expired(on loop: EventLoop) {
    guard !isOver else { return }
    if let parent, let connection = parentConnection, loop.now < shareEnd {
      guard connection.silence == .ofAnswer, !addresses.isEmpty else { return armTry(shareEnd) }
      connection.cancel()
      parentConnection = nil
      return askForNextAddress(parent)
    }
    let (error, outcome) = timeout
    stopTrying()
    failed(error, outcome)
  }

  /// What it means that the present try's time is over.
  private var timeout: (UpstreamError, WayAttempt.Outcome) {
    guard let parent else { return (.connectTimeout, timedOut(.broken)) }
    func failure(_ reason: ParentFailure.Reason) -> UpstreamError {
      .parent(ParentFailure(parent: parent.name, credential: parent.credential?.name, reason: reason))
    }
    switch parentConnection?.silence {
    case .own: return (failure(.unreached(.connectTimeout)), .unasked)
    case .ofAnswer:
      // A parent that has served others a moment ago waits for a target that does not answer.
      let now = loop.now
      let isServing = upstreams.shared.health.withLock { $0.hasWorkedLately(parent.hop, now: now) }
      return isServing
        ? (failure(.unreachable(.timeout)), .overdue) : (failure(.unreached(.connectTimeout)), timedOut(.broken))
    case .ofParent: return (failure(.unreached(.connectTimeout)), timedOut(.broken))
    // Our own look-up (`resolve: here`).
    case nil: return (failure(.origin(.resolverTimeout(target.host))), .unasked)
    }
  }

  private func timedOut(_ outcome: WayAttempt.Outcome) -> WayAttempt.Outcome { attempt?.timedOut(outcome) ?? outcome }

  // MARK: One way after the other

  private func follow(_ step: WayAttempt.Step) {
    switch step {
    case .tryWay(let index, let until):
      self.index = index
      began = loop.now
      shareEnd = until
      addresses = []
      armTry(until)
      begin()
    case .stop(let index):
      let error = failures[index] ?? .connectTimeout
      over()
      report(.failed(error))
    }
  }

  private func begin() {
    guard let parent else { return goDirectly() }
    guard parent.settings.resolvesHere else {
      // The parent resolves the name, so the rules can only see how it is written.
      guard !target.checksAddresses || !upstreams.isForbidden(unresolved: target.host, port: target.port) else {
        return failed(.addressForbidden(target.host), .unusable)
      }
      return ask(parent, for: target.host)
    }
    if let written = route.addresses {
      let allowed = written.filter { written in
        var address = written
        address.port = target.port
        return !target.checksAddresses || !upstreams.isOwnListener(address)
      }
      guard !allowed.isEmpty else { return failed(.addressForbidden(target.host), .unusable) }
      return ask(parent, forOneOf: allowed)
    }
    let payer = upstreams.rules.writtenHosts.contains(target.host) ? .configuration : asker
    switch loop.resolver.lookUp(target.host, for: payer, deliver: { [unowned self] in resolved($0) }) {
    case .known(let answer): resolved(answer)
    case .pending(let waiter): lookup = waiter
    }
  }

  private func resolved(_ answer: Resolver.Answer) {
    lookup = nil
    guard let parent else { return }
    switch answer {
    case .failure(let failure): behind(parent, UpstreamError(failure, of: target.host))
    case .success(let addresses):
      let permitted = target.checksAddresses ? upstreams.permitted(addresses, port: target.port) : addresses
      guard !permitted.isEmpty else { return failed(.addressForbidden(target.host), .unusable) }
      ask(parent, forOneOf: permitted)
    }
  }

  /// It may reach one of them and not another, of the other family say.
  private func ask(_ parent: Parent, forOneOf known: [Address]) {
    let fitting = known.filter { route.source.family == nil || route.source.family == $0.family }
    guard !fitting.isEmpty else { return failed(.familyExcluded(target.host), .unusable) }
    addresses = ConnectionRace.interleaved(fitting)[...]
    askForNextAddress(parent)
  }

  private func askForNextAddress(_ parent: Parent) {
    // Each has an equal share of what is left of the parent's.
    armTry(loop.now + max(0, shareEnd - loop.now) / Int64(addresses.count))
    guard let address = addresses.popFirst() else { return }
    ask(parent, for: address.host)
  }

  private func behind(_ parent: Parent, _ error: UpstreamError) {
    failed(ParentFailure(parent: parent.name, credential: parent.credential?.name, reason: .origin(error)))
  }

  private func ask(_ parent: Parent, for host: String) {
    let connection = ParentConnection(
      parent,
      .init(
        name: target.host, host: host, port: target.port, mayBeAbsolute: target.isClear && !route.tunnelsAlways,
        source: route.source),
      on: upstreams
    ) { [unowned self] in answered($0) }
    parentConnection = connection
    connection.start()
  }

  private func answered(_ result: ParentConnection.Report) {
    switch result {
    case .judging:
      isJudging = true
      loop.disarm(self)
    case .judged(let time):
      isJudging = false
      attempt?.extend(by: time)
      shareEnd += time
      armTry(tryEnd + time)
    case .failed(let failure):
      parentConnection = nil
      if case .unreachable = failure.reason, let parent, !addresses.isEmpty, loop.now < shareEnd {
        failures[index] = .parent(failure)
        return askForNextAddress(parent)
      }
      failed(failure)
    case .open(let connected):
      parentConnection = nil
      opened(connected)
    }
  }

  override var movedEnd: Int64? { isJudging ? .max : attempt?.end }

  private func goDirectly() {
    let dial = HostDial(target, on: upstreams) { [unowned self] in dialled($0) }
    direct = dial
    dial.start(for: asker, within: 0)
  }

  private func dialled(_ progress: Progress) {
    switch progress {
    case .connecting: break
    case .failed(let error):
      direct = nil
      failed(error, ParentFailure.outcome(ofReaching: error))
    case .connected(let connected):
      direct = nil
      opened(connected)
    }
  }

  private func opened(_ connected: Connected) {
    _ = ended(connected.absolute == nil ? .connected : .silent, isLast: true)
    connected.absolute?.claim = attempt?.claim
    isOver = true
    loop.forget(self)
    report(.connected(connected))
  }

  private func failed(_ failure: ParentFailure) { failed(.parent(failure), failure.outcome) }

  private func failed(_ error: UpstreamError, _ outcome: WayAttempt.Outcome) {
    failures[index] = error
    if let step = ended(outcome, isLast: false) { follow(step) }
  }

  /// Remembers what came of the present try, and tells the observer.
  private func ended(_ outcome: WayAttempt.Outcome, isLast: Bool) -> WayAttempt.Step? {
    let (now, random) = (loop.now, UInt64.random(in: 0...UInt64.max))
    let (step, changes) = upstreams.shared.health.withLock { health in
      (attempt?.ended(outcome, isLast: isLast, &health, now: now, random: random), health.takeChanges())
    }
    if let parent { upstreams.observer.parentTried(parent.name, ParentResult(outcome), nanoseconds: loop.clock() - began) }
    upstreams.report(changes, failures[index])
    return step
  }
}

extension UpstreamError {
  init(_ failure: Resolver.Failure, of host: String) {
    switch failure {
    case .notFound: self = .nameNotFound(host)
    case .broken(let text): self = .resolverFailed(host, text)
    case .overloaded: self = .resolverFailed(host, "too many look-ups are waiting")
    }
  }
}
