import Cache
import EventIO
import HTTPWire

/// Identical requests in flight: one asks the origin, and the others read its answer.
extension Request: FlightLeader {
  /// How often a look-up may find that something has changed meanwhile.
  private static let looks = 4

  /// The request can be sent. It waits for the answer to another one, or others may wait for its own.
  /// - Parameter needsCredential: as of `originFound`.
  func collapse(_ state: CacheState, needsCredential: Bool) -> RequestMachine.Input {
    state.sharing.needsCredential = needsCredential
    var found = state.sharing.found.take()
    guard let key = state.key, let asked = state.asked, state.collapses else { return goAlone(state) }
    let store = services.cacheDesk.store
    let recent = recentVariants
    let index = loop.executor.index
    var seen = state.stale.seen
    for _ in 0..<Self.looks {
      if found == nil { seen = store.beginLookUp() }
      let probe = found.take() ?? store.probe(key.target, key.partition, now: loop.now)
      if state.sharing.hasWaited, let input = fresh(in: probe, seen, state, asked) { return input }
      guard probe.mayCollapse else { break }
      if let flight = probe.flight(needs: state.plan.needs, now: loop.now, { asked.variant($0, recent: recent) }) {
        return join(flight, state, asked)
      }
      let lead = store.lead(
        key.target, key.partition, vary: probe.vary, variant: asked.variant(probe.vary, recent: recent), after: probe,
        loop: index)
      switch lead {
      case .flight(let flight):
        state.sharing.flight = flight
        flight.owner = self
        return goAlone(state)
      case .changed: state.sharing.hasWaited = true
      case .alone: return goAlone(state)
      }
    }
    return goAlone(state)
  }

  func goAlone(_ state: CacheState) -> RequestMachine.Input {
    .originFound(needsCredential: state.sharing.needsCredential)
  }

  /// What has been stored since the first look.
  private func fresh(
    in probe: CacheStore.Probe, _ seen: CacheStore.Beginning?, _ state: CacheState, _ asked: AskedFields
  ) -> RequestMachine.Input? {
    guard let answer = probe.answer({ asked.variant($0) }), isOfUse(answer) else { return nil }
    if case .now(let left) = answer.times.use(for: state.plan.needs, now: loop.now) {
      answer.noteUse()
      let outcome: CacheOutcome = state.sharing.hasJoined ? .collapsed(state.forward) : .hit(ttl: left)
      return serve(StoredReply(answer, outcome, for: state.plan))
    }
    // Of what the app's own conditions went on for, nothing is validated.
    if state.stale.validates || state.plan.condition == .none {
      state.stale.answer = answer
      state.stale.seen = seen
      state.stale.validates = answer.facts.hasValidator
    }
    return nil
  }

  /// Others join: from now on the fetch has readers.
  func openFetch() -> SharedFetch? {
    guard let state = cache, let key = state.key, let flight = state.sharing.flight else { return nil }
    state.sharing.flight = nil
    let fetch = beginFetch(state, key, flight)
    state.sharing.fetch = fetch
    return fetch
  }

  /// The fetch of this request ends, and nobody has joined it.
  /// - Returns: whether there was one.
  @discardableResult
  func leaveFlight(_ state: CacheState) -> Bool {
    guard let flight = state.sharing.flight else { return false }
    state.sharing.flight = nil
    flight.owner = nil
    services.shared.cache.leave(flight)
    return true
  }

  /// The fetch has no answer for those who wait.
  func failFetch(_ state: CacheState, _ failure: FetchFailure) {
    leaveFlight(state)
    state.sharing.fetch?.fail(failure)
  }

  /// A fetch that others may join, or one that only stores.
  func beginFetch(_ state: CacheState, _ key: CacheKey, _ flight: Flight?) -> SharedFetch {
    SharedFetch(
      RequestLeader(self), on: loop, services.cacheDesk, state.cache, key, flight, stall: way?.stall ?? 30_000_000_000,
      hasLeader: !state.sharing.isBackground)
  }

  private func join(_ flight: Flight, _ state: CacheState, _ asked: AskedFields) -> RequestMachine.Input {
    let desk = services.cacheDesk
    let joined = RequestReader(self, desk.newReader(), flight, owner: services.shared.group.executors[flight.loop])
    state.sharing.joined = joined
    state.sharing.hasJoined = true
    desk.began(joined)
    joined.join(asked, from: loop.executor, isSecondTry: state.sharing.isSecondTry)
    return .answerAwaited
  }

  // MARK: What the fetch says

  func told(_ news: ReaderNews) {
    guard let state = cache, let joined = state.sharing.joined else { return }
    noteLeaving()
    guard machine.phase == .collapsed else {
      // It reads already.
      if case .cut = news { tooSlow() }
      return
    }
    switch news {
    case .read(let answer):
      joined.found(answer)
      services.cacheDesk.reads(joined)
      readAgain()
    case .answer(let answer):
      endJoining(state)
      answer.noteUse()
      take(
        isOfUse(answer) ? serve(StoredReply(answer, .collapsed(state.forward), for: state.plan)) : goAlone(state))
    case .goAlone:
      endJoining(state)
      take(goAlone(state))
    case .lookAgain: lookAgain(state)
    case .failed(let failure):
      endJoining(state)
      take(failed(failure, state))
    case .cut: lookAgain(state)
    }
  }

  private func lookAgain(_ state: CacheState) {
    endJoining(state)
    state.sharing.hasWaited = true
    take(collapse(state, needsCredential: state.sharing.needsCredential))
  }

  private func failed(_ failure: FetchFailure, _ state: CacheState) -> RequestMachine.Input {
    switch failure {
    case .error(let error): return failing(error)
    case .status(let status):
      guard let reply = staleOnError(state, status: status) else { return goAlone(state) }
      return serve(reply)
    }
  }

  func endJoining(_ state: CacheState) {
    guard let joined = state.sharing.joined else { return }
    state.sharing.joined = nil
    services.cacheDesk.ended(joined)
  }

  // MARK: Reading

  /// More of a body is there, or its end, or room at the app.
  func readAgain() {
    switch machine.phase {
    case .answering: take(flushAnswer())
    case .collapsed:
      if let state = cache, let joined = state.sharing.joined, let answer = joined.answer {
        startReading(state, joined, answer)
      }
    default: break
    }
  }

  /// The app gets nothing before the first byte of the body is there: until then, a fetch that breaks is repeated.
  private func startReading(_ state: CacheState, _ joined: JoinedFetch, _ answer: SharedAnswer) {
    var body = answer.body
    switch body.next() {
    case .later: return
    case .broken:
      guard !state.sharing.isSecondTry else {
        leaveFetch(state)
        return take(failing(.bodyBroken))
      }
      state.sharing.isSecondTry = true
      joined.leave()
      lookAgain(state)
    case .bytes, .complete: take(serve(answer, state))
    }
  }

  /// The head of an answer that another request fetches, or has fetched.
  func write(_ answer: SharedAnswer) -> Bool {
    pulse.moved()
    let name = snapshot.name
    let draft = answer.draft
    let head = cache?.prepared.head ?? draft.head
    let lines = redirection == nil ? [] : noteLine
    var framing = draft.length.map { BodyFraming.length(Int64($0)) } ?? .chunked
    if framing == .chunked, !message.outbound.isHTTP11 { framing = .untilClose }
    if head.status == 204 { framing = .none }
    let keepsClient = message.persists && framing != .untilClose && !app.isClosing
    let age = draft.times.age(loop.now)
    let outcome = CacheOutcome.collapsed(cache?.forward ?? .targetMiss)
    let block = app.outbound(with: head.sizeLimit + lines.count + ByteWriter.cacheStatusLimit + name.bytes.count + 96)
    var writer = ByteWriter(block.base, capacity: block.capacity, count: block.end)
    writer.append(head, age: age)
    if !lines.isEmpty { writer.append(lines) }
    writer.append(framing: framing)
    writer.append(cacheStatus: outcome, name: name.bytes)
    if !keepsClient { writer.appendField("Connection", "close") }
    writer.appendCRLF()
    block.end = writer.count
    cache?.sharing.joined?.begun()
    cache?.reading = BodyReading(answer.body, range: nil, framing: framing, keepsClient: keepsClient)
    record.answer.status = head.status
    record.answer.author = .upstream
    record.answer.cache = CacheReport(outcome, age: age)
    return keepsClient
  }

  /// It holds up others.
  func tooSlow() { take(failing(.bodyBroken)) }

  func leaveFetch(_ state: CacheState) {
    state.sharing.joined?.leave()
    endJoining(state)
  }

  /// The request ends.
  func leaveStore(_ state: CacheState) {
    leaveFlight(state)
    if let fetch = state.sharing.fetch {
      state.sharing.fetch = nil
      fetch.leaderLeft()
      fetch.askerEnded()
    }
    leaveFetch(state)
    state.reading = nil
  }
}
