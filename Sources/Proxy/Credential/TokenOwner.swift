import Credentials
import EventIO

/// Owns an OAuth 2.0 credential: performs the actions of its machine, and passes their results back to it.
final class TokenOwner: CredentialOwner {
  private var machine: OAuth2Machine
  private var exchange: TokenExchange
  /// Increases with each change of the policy. What an exchange discovered in an earlier epoch is not kept.
  private var epoch = 0
  private var flight: TokenFlight?
  /// The store in which the credential's lock was taken.
  private var store: any TokenStore

  private var wasUnfinished = false
  private var wasUnsaved = false
  /// nil if nobody else can change the record.
  private var watch: StoreWatch?
  /// In the record that a fleet shares; nil: it has none there.
  private var part: SharedPart?
  private var isTakingNews = false
  /// Versions that requests may still carry, for a logout. Without a watch and without sources, none.
  private var issued: [RenderedCredential] = []

  /// - Parameter version: the last one that an owner before this one has published.
  init(_ setup: CredentialSetup, _ policy: OAuth2Policy, _ desk: CredentialDesk, serial: UInt64, after version: UInt64) {
    machine = OAuth2Machine(
      name: setup.name, policy: policy, seed: UInt64.random(in: 0 ... .max), after: version, dpopKey: policy.keyWithoutStore,
      sharing: setup.shared?.name.binding)
    exchange = TokenExchange(policy: policy)
    store = setup.store
    super.init(setup, desk, serial: serial)
    note()
    keepWatch()
    followPlace()
  }

  override var latestVersion: UInt64 { machine.published?.version ?? machine.lastVersion }
  override var mustFinish: Bool { machine.mustFinish }
  override var isBusy: Bool {
    if case .refreshing = machine.state(now: now) { true } else { machine.mustFinish }
  }

  // MARK: Inputs

  override func reconfigure() {
    guard let policy = setup.policy.tokens else { return }
    if policy != machine.policy {
      exchange = TokenExchange(policy: policy)
      epoch += 1
    } else if policy.source?.isChosen == true {
      exchange.chooseAgain()
      epoch += 1
    }
    perform(
      policy != machine.policy
        ? machine.reconfigure(policy, sharing: setup.shared?.name.binding, now: now) : machine.askAgain(now: now))
    keepWatch()
    followPlace()
  }

  /// Goes on watching the store: after a logout, requests that began before may not send its tokens either.
  override func retire() {
    super.retire()
    perform(machine.retire(now: now))
  }

  override func stop() {
    watch?.end(on: loop)
    watch = nil
    perform(machine.stop(now: now))
    part?.leave()
    part = nil
  }

  override func need(from executor: LoopExecutor) {
    // A retired owner neither spends a refresh token of another configuration, nor writes its record in the store.
    if isRetired, machine.usesStore, !isBusy, machine.published?.isUsable(at: now) != true {
      return tell(executor) { $0.failed(.temporarily("a reload has replaced the credential", retryAfter: 1_000)) }
    }
    let (need, actions) = machine.need(now: now)
    switch need {
    case .ready(let credential): publish(credential, to: executor)
    case .unavailable(let unavailable): tell(executor) { $0.failed(unavailable) }
    case .wait: break
    }
    perform(actions)
  }

  /// Fetches a token before a request asks for one.
  func fetchAhead() { perform(machine.ahead(now: now)) }

  override func decide(version: UInt64, by key: RequestKey, isRetry: Bool, ticket: UInt64?, from executor: LoopExecutor) {
    let (decision, actions) = machine.refused(version: version, by: key, isRetry: isRetry, now: now)
    // Before the actions, so that a version that they publish finds this request among those that wait for it.
    if let ticket { tell(executor, ticket, decision) }
    perform(actions)
  }

  override func accepted(_ key: RequestKey) { machine.accepted(key) }

  override func expired(on loop: EventLoop) { perform(machine.timer(now: now)) }

  // MARK: Actions

  private func perform(_ actions: [OAuth2Machine.Action]) {
    performOnce(actions)
    takeNews()
  }

  private func performOnce(_ actions: [OAuth2Machine.Action]) {
    var isOtherLogin = false
    if actions.contains(where: { $0.isOfAnotherAccount }) { standing.begin() }
    for action in actions {
      switch action {
      // Nobody can take a file's lock over: there is no time before which the request must be sent.
      case .fetch(let id, let refreshToken, let before):
        fetch(id, refreshToken, notAfter: before.flatMap { part?.bootTime(of: $0) })
      case .cancelFetch(let id):
        flight(id)?.cancel()
        if flight?.id == id { flight = nil }
      case .store(let id, let request): carry(id, request)
      case .publish(let credential):
        if watch != nil || part != nil || !setup.exchanged.isEmpty { remember(credential) }
        publish(credential)
      case .withdraw:
        for credential in issued { credential.withdraw() }
        issued = []
        isOtherLogin = true
      case .releaseRefused(let reason): tellAll { $0.released(reason) }
      case .failWaiters(let unavailable): tellAll { $0.failed(unavailable) }
      case .wakeAt(let time?): loop.arm(self, at: time &* 1_000_000)
      case .wakeAt(nil): loop.disarm(self)
      case .report(let report):
        if case .loggedIn = report { isOtherLogin = true }
        let event = CredentialEvent.token(report, generation: part == nil ? nil : machine.generation, now: now)
        desk.registry.note(event, of: name)
        desk.observer.credential(name, event)
      }
    }
    // Behind what was published, so that they exchange this.
    if isOtherLogin { tellUsers() }
    note()
  }

  // MARK: Token requests

  /// - Parameter notAfter: milliseconds of the boot-time clock; nil: at any time.
  private func fetch(_ id: UInt64, _ refreshToken: Secret?, notAfter: Int64?) {
    guard let policy = setup.policy.tokens else { return }
    let epoch = epoch
    let next = TokenFlight(
      id, of: self, policy, exchange, refreshToken: refreshToken, dpopKey: machine.dpopKey, notAfter: notAfter
    ) {
      [unowned self] answer, exchange in
      flight = nil
      if epoch == self.epoch { self.exchange = exchange }
      perform(machine.tokenAnswer(id: id, answer, now: now, wall: wallClockSeconds()))
    }
    flight = next
    next.begin()
  }

  override func flight(_ id: UInt64) -> TokenFlight? { flight?.id == id ? flight : nil }

  // MARK: Store

  /// Requests of one credential keep their order, because the lane for files is one queue.
  private func carry(_ id: UInt64, _ request: TokenStoreRequest) {
    if let part { return part.perform(request, id: id) }
    // A reading begins a series of requests. Only there may the store of a new configuration take over.
    if case .read = request { store = setup.store }
    let (store, name) = (store, name)
    inLane(.files) {
      store.perform(request, for: name)
    } then: { owner, answer in
      (owner as? TokenOwner)?.stored(id, request, answer)
    }
  }

  private func stored(_ id: UInt64, _ request: TokenStoreRequest, _ answer: TokenStoreAnswer?) {
    if answer == nil, case .release = request {
      // A lock that is never released would block every other process.
      let serial = serial
      return Later.run(on: loop, afterMilliseconds: 100) { [desk] in
        (desk.owner(serial: serial) as? TokenOwner)?.carry(id, request)
      }
    }
    perform(machine.storeAnswered(id: id, answer ?? .failed("too much waits for the disk"), now: now, wall: wallClockSeconds()))
  }

  // MARK: The record that a fleet shares

  private func followPlace() {
    let place = setup.shared
    if let part, let place, part.follow(place) { return }
    let former = part
    former?.end()
    part = place.map { SharedPart(of: self, at: $0, desk.store) }
    while let news = former?.take() { tell(news) }
    part?.begin()
    takeNews()
  }

  /// The machine waits for another process, which may have finished.
  var waitsForStore: Bool { machine.awaitsOther }

  /// The store can be reached again.
  func storeReturned() { perform(machine.storeReturned(now: now)) }

  /// The store in use is not that of its part. Unless it is retired, a newer configuration is on its way.
  func storeRemoved() { perform(machine.storeRemoved(now: now)) }

  /// Tells the machine what its part has to say. Not while the machine's own actions are performed: they have an order.
  func takeNews() {
    guard !isTakingNews else { return }
    isTakingNews = true
    defer { isTakingNews = false }
    while let news = part?.take() { tell(news) }
  }

  private func tell(_ news: SharedPart.News) {
    switch news {
    case .answer(let id, let answer, let clock):
      performOnce(machine.storeAnswered(id: id, answer, now: now, wall: clock ?? wallClockSeconds()))
    case .seen(let answer, let clock): performOnce(machine.seen(answer, now: now, wall: clock))
    }
  }

  func report(_ report: SharedRecord.Report) {
    switch report {
    case .claim(let result): desk.observer.claimed(name, ClaimResult(result))
    case .takenOver(let holder, let generation):
      desk.observer.credential(name, .claimTakenOver(holder: holder, generation: generation))
    case .putBack(let generation): desk.observer.credential(name, .recordPutBack(generation: generation))
    }
  }

  // MARK: What other processes write

  private func keepWatch() {
    guard machine.usesStore, setup.store.isShared else {
      watch?.end(on: loop)
      watch = nil
      return
    }
    if let watch {
      watch.follow(setup.store)
    } else {
      let watch = StoreWatch(self, setup.store)
      self.watch = watch
      look(watch)
    }
  }

  /// One look at the store, and the next one at most a second after it began.
  func look(_ watch: StoreWatch) {
    loop.arm(watch, afterMilliseconds: watch.pause())
    // The lane may be slow. Under its own lock, this process alone changes the record.
    guard !watch.isLooking, !machine.holdsLock else { return }
    watch.isLooking = true
    let (store, mark, name) = (watch.store, watch.mark, name)
    inLane(.files) {
      store.perform(.look(since: mark), for: name)
    } then: { owner, answer in
      (owner as? TokenOwner)?.looked(at: store, answer)
    }
  }

  private func looked(at store: any TokenStore, _ answer: TokenStoreAnswer?) {
    watch?.isLooking = false
    // A reload may have replaced the store meanwhile. What the lock has read meanwhile is as new as this.
    guard let watch, watch.store === store, let answer, !machine.holdsLock else { return }
    if case .unchanged = answer { return }
    if case .seen(_, let mark) = answer { watch.mark = mark }
    perform(machine.seen(answer, now: now, wall: wallClockSeconds()))
  }

  private func remember(_ credential: RenderedCredential) {
    // Only those that somebody still has.
    for index in issued.indices.reversed()
    where isKnownUniquelyReferenced(&issued[index]) || !issued[index].isUsable(at: now) { issued.remove(at: index) }
    issued.append(credential)
  }

  // MARK: Credentials that exchange this one's tokens, and those whose tokens this one exchanges

  private func tellUsers() {
    let identity = setup.identity
    for executor in desk.group.executors { executor.call { loop in CredentialDesk.of(loop).withdrawn(identity) } }
  }

  override func sourceWithdrawn() { perform(machine.sourceWithdrawn(now: now)) }

  // MARK: What is seen from outside

  /// Unique in the process.
  private var number: UInt64 { UInt64(loop.executor.index) << 48 | serial }

  private func note() {
    if machine.mustFinish != wasUnfinished {
      wasUnfinished = machine.mustFinish
      desk.registry.note(owner: number, mustFinish: wasUnfinished)
    }
    if part != nil || wasUnsaved, machine.hasUnsaved != wasUnsaved {
      wasUnsaved = machine.hasUnsaved
      desk.store.note(unsaved: wasUnsaved, of: number)
    }
    if isRetired { return }
    let published = machine.published
    var report = CredentialReport(name: name, phase: .empty, version: latestVersion)
    report.certificateExpiry = setup.certificate?.chain.first?.notAfter
    if let published, published.expiry != RenderedCredential.never, published.isUsable(at: now) {
      report.expiry = wallClockSeconds() + (published.expiry - now) / 1_000
      if published.refreshAt != RenderedCredential.never {
        report.attempts.due = wallClockSeconds() + (published.refreshAt - now) / 1_000
      }
    }
    switch machine.state(now: now) {
    case .empty: report.phase = .empty
    case .refreshing: report.phase = .refreshing
    case .ready: report.phase = .ready
    case .failed:
      report.phase = .failed
      report.reason = machine.failureReason
    case .needsOperator(let reason, _):
      report.phase = .needsOperator
      report.reason = reason
    }
    if report.phase == .needsOperator { standing.suspend() } else { standing.resume() }
    if machine.hasLogin {
      report.login = CredentialReport.Login(
        isNeeded: machine.needsLogin, time: machine.login?.loggedInAt, expiry: machine.login?.expiresAt)
    }
    if part != nil { report.note(generation: machine.generation) }
    desk.registry.note(report)
  }
}

extension OAuth2Machine.Action {
  /// What follows it may be another account's.
  fileprivate var isOfAnotherAccount: Bool {
    switch self {
    case .withdraw, .report(.loggedIn): true
    default: false
    }
  }
}
