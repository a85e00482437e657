@testable import Credentials

/// Processes, a store and a token server in one thread and one clock of its own: a run depends on its schedule alone.
final class Simulation {
  indirect enum Event {
    case need
    case refusal
    case timer(Int64)
    case recordTimer
    case store(UInt64, SharedOperation, epoch: Int)
    case storeAnswer(UInt64, SharedAnswer, epoch: Int)
    case notification(epoch: Int)
    case send(UInt64, Secret?, before: Int64?)
    case request(UInt64, Int)
    case tokenAnswer(UInt64, Int, TokenAnswer)
    case requestTimeout(UInt64, Int)
    case connect
    case disconnect
    case start
    case thaw
    case storeUp
  }

  /// Boxed, as debug builds copy what is large whenever it is passed on.
  private final class Entry {
    let time: Int64
    let process: Int
    let event: Event

    init(time: Int64, process: Int, event: Event) {
      self.time = time
      self.process = process
      self.event = event
    }
  }

  let schedule: Schedule
  let plant: Plant?
  private var random: SeededRandom
  private var time: Int64 = 0
  private var queue: [Entry] = []
  /// Of `queue`, in its order: time, and then what was posted first.
  private var ranks: [Int64] = []
  private var order: Int64 = 0
  private var hasStruck = false
  /// The second fault: whom, and before which event.
  private var next: (victim: Int, step: Int)?
  private var hasStruckTwice = false
  private(set) var steps = 0
  private var processes: [SimulatedProcess] = []
  private var store: ModelStore
  private var server: ModelServer
  private var isUp = true
  private(set) var findings: Set<Finding> = []
  /// So that nobody takes a simulation for thorough in which little happens.
  private(set) var seen: Set<Occurrence> = []

  enum Occurrence: String, CaseIterable {
    case takenOver, putBack, superseded, adopted, operatorNeeded, claimLost, unsaved, sentNothing, secondUse, struckTwice
  }
  /// For a failed schedule: what happened.
  private(set) var log: [String] = []
  var isLogging = false

  private static let end: Int64 = 120_000
  /// When all processes meet a 401, and the number of the next event: more than there are before.
  private static let refusals: Int64 = 60_000
  private static let late = 1_000_000

  init(_ schedule: Schedule, plant: Plant? = nil) {
    self.schedule = schedule
    self.plant = plant
    random = SeededRandom(schedule.seed)
    server = ModelServer(schedule.server)
    let record = TokenRecord(binding: SimulatedProcess.binding, generation: 1, refreshToken: Secret("r1"))
    store = ModelStore(schedule.startsEmpty ? nil : record)
  }

  func run() {
    for name in 0..<schedule.processes {
      processes.append(SimulatedProcess(name, random: &random))
      begin(name, at: 0)
    }
    while let index = earliest() {
      let entry = queue[index]
      queue.swapAt(index, queue.count - 1)
      queue.removeLast()
      ranks.swapAt(index, ranks.count - 1)
      ranks.removeLast()
      guard entry.time <= Self.end else { break }
      time = max(time, entry.time)
      if schedule.isLate, steps < Self.late, time >= Self.refusals { steps = Self.late }
      if steps == (schedule.isLate ? Self.late : 0) + schedule.step { strike(entry.process) }
      if let next, steps >= next.step { strikeAgain(next.victim) }
      steps += 1
      deliver(entry)
    }
    time = Self.end
    judge()
  }

  /// The earliest event: few are waiting, so that a search is as good as a heap.
  private func earliest() -> Int? {
    ranks.withUnsafeBufferPointer { ranks in
      guard var best = ranks.first else { return nil }
      var found = 0
      var index = 1
      while index < ranks.count {
        if ranks[index] < best { (best, found) = (ranks[index], index) }
        index += 1
      }
      return found
    }
  }

  private func post(_ event: Event, to process: Int, after delay: Int64) {
    order += 1
    queue.append(Entry(time: time + delay, process: process, event: event))
    ranks.append((time + delay) << 24 + order)
  }

  private func note(_ text: @autoclosure () -> String) { if isLogging { log.append("\(time) \(text())") } }

  private func find(_ finding: Finding) {
    note("FINDING \(finding.rawValue)")
    findings.insert(finding)
  }

  // MARK: Processes

  private func begin(_ name: Int, at start: Int64) {
    post(.connect, to: name, after: start)
    post(.need, to: name, after: start + random.within(5...40))
    for later in [2_000, 17_000, 40_000, 70_000, 100_000, 110_000] where later > time + start {
      post(.need, to: name, after: Int64(later) - time + random.within(0...50))
    }
    if schedule.hasRefusals { post(.refusal, to: name, after: max(0, Self.refusals - time) + random.within(0...30)) }
  }

  private func deliver(_ entry: Entry) {
    let name = entry.process
    switch entry.event {
    // What is on its way goes on without its process.
    case .store(let id, let operation, let epoch): return reachStore(name, id, operation, epoch)
    case .request(let id, let index): return reachServer(name, id, index)
    case .storeUp:
      isUp = true
      for other in processes.indices { post(.connect, to: other, after: random.within(5...300)) }
      return
    case .start:
      note("process \(name) starts")
      return begin(name, at: 0)
    default: break
    }
    guard processes[name].isAlive else { return }
    if let until = processes[name].frozenUntil, time < until {
      // What lies in sockets is read before timers are looked at.
      let isTimer = if case .requestTimeout = entry.event { true } else if case .timer = entry.event { true } else { false }
      return post(entry.event, to: name, after: until - time + (isTimer ? 5 : random.within(1...3)))
    }
    receive(name, entry.event)
    let generation = processes[name].generation
    if generation != processes[name].learned.generation { processes[name].learned = (generation, time) }
  }

  private func receive(_ name: Int, _ event: Event) {
    let now = time + processes[name].offset
    switch event {
    case .need:
      let result = processes[name].machine.need(now: now)
      run(name, result.actions)
    case .refusal:
      guard let version = processes[name].published?.version else { return }
      run(name, processes[name].machine.refused(version: version, by: key(), isRetry: false, now: now).actions)
    case .timer(let wake):
      if processes[name].wake == wake {
        processes[name].wake = nil
        run(name, processes[name].machine.timer(now: now))
      }
    case .recordTimer: run(name, processes[name].record.timer(now: now))
    case .storeAnswer(let id, let answer, let epoch):
      guard epoch == processes[name].epoch else { return }
      processes[name].pending.removeAll { $0 == id }
      run(name, processes[name].record.answered(id: id, answer, now: now))
    case .notification(let epoch):
      if epoch == processes[name].epoch { run(name, processes[name].record.notified(now: now)) }
    case .send(let id, let token, let before): send(name, id, token, before)
    case .tokenAnswer(let id, let index, let answer):
      guard processes[name].fetches[id] == index else { return }
      processes[name].fetches[id] = nil
      if case .token = answer {
        server.delivered(index, at: time)
        if schedule.step == Schedule.delivery { strike(name) }
      } else {
        server.isOver(index)
      }
      if case .refused = answer { processes[name].lastRead = nil }
      note("process \(name) gets \(answer.short)")
      run(name, processes[name].machine.tokenAnswer(id: id, answer, now: now, wall: wall(name)))
    case .requestTimeout(let id, let index):
      server.isOver(index)
      guard processes[name].fetches[id] == index else { return }
      processes[name].fetches[id] = nil
      note("process \(name) waits no longer for an answer")
      run(name, processes[name].machine.tokenAnswer(id: id, .failed(.timedOut), now: now, wall: wall(name)))
    case .connect:
      guard isUp, processes[name].connectedSince == nil else { return }
      note("process \(name) is connected")
      processes[name].connectedSince = time
      run(name, processes[name].record.connected(now: now))
      run(name, processes[name].machine.storeReturned(now: now))
    case .disconnect: disconnect(name)
    case .thaw: processes[name].thawedSince = time
    case .store, .request, .start, .storeUp: break
    }
  }

  private func wall(_ name: Int) -> Int64 { (ModelStore.epoch + time) / 1_000 + processes[name].skew }

  private func run(_ name: Int, _ actions: [OAuth2Machine.Action]) {
    for action in actions {
      switch action {
      case .store(let id, let request):
        run(name, processes[name].record.perform(request, id: id, now: time + processes[name].offset))
      case .fetch(let id, let token, let before): post(.send(id, token, before: before), to: name, after: random.within(0...20))
      case .cancelFetch(let id):
        if let index = processes[name].fetches.removeValue(forKey: id) { server.isOver(index) }
      case .publish(let credential): published(name, credential)
      case .wakeAt(let at):
        processes[name].wake = at
        if let at { post(.timer(at), to: name, after: max(0, at - processes[name].offset - time)) }
      case .report(.needsOperator(let text)): needsOperator(name, text)
      case .report(let report):
        note("process \(name): \(report)")
        switch report {
        case .adopted: seen.insert(.adopted)
        case .notSaved: seen.insert(.unsaved)
        default: break
        }
      case .withdraw, .releaseRefused, .failWaiters: break
      }
    }
  }

  private func run(_ name: Int, _ actions: [SharedRecord.Action]) {
    for action in actions {
      let now = time + processes[name].offset
      switch action {
      case .perform(let id, let operation): ask(name, id, operation)
      case .answer(let id, let answer, let clock):
        let wall = plant == .ownClock ? wall(name) : clock ?? 0
        note("process \(name) is told \(answer.short)")
        if case .superseded = answer { seen.insert(.superseded) }
        run(name, processes[name].machine.storeAnswered(id: id, answer, now: now, wall: wall))
      case .seen(let answer, let clock):
        let wall = plant == .ownClock ? wall(name) : clock
        run(name, processes[name].machine.seen(answer, now: now, wall: wall))
      case .wakeAt(let at): post(.recordTimer, to: name, after: max(0, at - now))
      case .report(let report):
        note("process \(name): \(report)")
        switch report {
        case .claim(.lost): seen.insert(.claimLost)
        case .claim(.won), .claim(.takenOver): break
        case .takenOver: reach(.takenOver, name)
        case .putBack: reach(.putBack, name)
        }
      }
    }
  }

  // MARK: Store

  private func ask(_ name: Int, _ id: UInt64, _ operation: SharedOperation) {
    let epoch = processes[name].epoch
    guard processes[name].connectedSince != nil else {
      if plant == .spentWhileDown, let answer = pretend(operation, to: name) {
        return post(.storeAnswer(id, answer, epoch: epoch), to: name, after: 1)
      }
      return post(.storeAnswer(id, .failed("connection refused"), epoch: epoch), to: name, after: 1)
    }
    processes[name].pending.append(id)
    post(.store(id, planted(operation), epoch: epoch), to: name, after: random.within(1...20))
  }

  /// Answers as if a claim had been stored.
  private func pretend(_ operation: SharedOperation, to name: Int) -> SharedAnswer? {
    let clock = ModelStore.epoch + time
    switch operation {
    case .read:
      guard let claim = processes[name].pretended else { return .read(store.reading(at: time)) }
      return .read(SharedReading(.record(claim), version: RecordVersion([]), clock: clock))
    case .write(let record, _, .claim):
      processes[name].pretended = record
      return .stored(RecordVersion([]), isAcknowledged: true, clock: clock)
    case .write:
      processes[name].pretended = nil
      return nil
    }
  }

  private func planted(_ operation: SharedOperation) -> SharedOperation {
    guard plant == .shortClaim, case .write(var record, let version, .claim) = operation, let claim = record.claim else {
      return operation
    }
    record.claim = TokenClaim(
      holder: claim.holder, process: claim.process, number: claim.number, duration: 10, since: claim.since)
    return .write(record, replacing: version, .claim)
  }

  private func reachStore(_ name: Int, _ id: UInt64, _ operation: SharedOperation, _ epoch: Int) {
    // The connection has ended meanwhile: what it had sent may have come through or not.
    let isCut = epoch != processes[name].epoch || !isUp
    if isCut, !isUp || random.happens(in: 50) { return }
    guard !isCut || operation != .read else { return }
    if isCut { note("of process \(name), which was cut off:") }
    let answer = perform(operation, of: name)
    post(.storeAnswer(id, answer, epoch: epoch), to: name, after: random.within(1...20))
  }

  private func perform(_ operation: SharedOperation, of name: Int) -> SharedAnswer {
    var isBlind = false
    if case .read = operation {
      if plant == .refusalUnread, processes[name].refused != nil, let claim = store.claim(of: name) {
        processes[name].refused = nil
        return .read(ModelStore.reading(claim, at: time))
      }
      processes[name].lastRead = store.current.record?.generation ?? 0
    }
    if plant == .noClaim, let answer = pretend(operation, to: name) { return answer }
    if case .write(_, _, let purpose) = operation {
      switch (plant, purpose) {
      case (.noPutBack, .putBack):
        return .stored(RecordVersion([]), isAcknowledged: true, clock: ModelStore.epoch + time)
      case (.saveFencedByHolder, .save):
        if let current = store.current.record, let claim = current.claim, claim.process != UInt64(name + 1) {
          note("process \(name) may not save")
          var newer = current
          newer.generation += 1
          return .conflict(SharedReading(.record(newer), version: RecordVersion([]), clock: ModelStore.epoch + time))
        }
      case (.blindSave, .save): isBlind = true
      default: break
      }
    }
    let result = store.perform(operation, of: name, at: time, isBlind: isBlind)
    if store.wentBack { find(.wentBack) }
    if result.hasChanged {
      if case .write(let record, _, let purpose) = operation {
        note(
          "\(purpose.rawValue) of process \(name), generation \(record.generation), \(record.refreshToken.map { "r\(ModelServer.number($0))" } ?? "-")"
        )
      }
      for other in processes.indices where other != name && processes[other].connectedSince != nil {
        if schedule.losses > 0, random.happens(in: 20) { continue }
        post(.notification(epoch: processes[other].epoch), to: other, after: random.within(1...50))
      }
    }
    return result.answer
  }

  private func disconnect(_ name: Int) {
    guard processes[name].isAlive, processes[name].connectedSince != nil else { return }
    note("process \(name) has lost the store")
    processes[name].connectedSince = nil
    processes[name].epoch += 1
    processes[name].record.lost()
    let pending = processes[name].pending
    processes[name].pending = []
    for id in pending {
      post(.storeAnswer(id, .failed("connection lost"), epoch: processes[name].epoch), to: name, after: 0)
    }
  }

  // MARK: Token server

  private func send(_ name: Int, _ id: UInt64, _ token: Secret?, _ before: Int64?) {
    let now = time + processes[name].offset
    guard case .requesting = processes[name].machine.flight?.phase, processes[name].machine.flight?.id == id else { return }
    if let before, now >= before {
      note("process \(name) sends nothing: too late")
      seen.insert(.sentNothing)
      let late = TokenAnswer.failed(.store("the claim came too late to use it"))
      return run(name, processes[name].machine.tokenAnswer(id: id, late, now: now, wall: wall(name)))
    }
    let claim = store.claim(of: name)
    let presentation = ModelServer.Presentation(
      token: ModelServer.number(token), process: name, sent: time, claimed: claim?.time, claim: claim?.version)
    note("process \(name) presents r\(presentation.token)")
    judge(presentation)
    let index = server.sent(presentation)
    processes[name].fetches[id] = index
    let isSlow = random.happens(in: 10)
    if !(random.happens(in: schedule.losses)) {
      post(.request(id, index), to: name, after: isSlow ? random.within(100...700) : random.within(5...50))
    }
    post(.requestTimeout(id, index), to: name, after: Int64(SimulatedProcess.policy.timeout))
  }

  private func reachServer(_ name: Int, _ id: UInt64, _ index: Int) {
    let answer = server.answer(index, at: time)
    note("the server answers process \(name): \(answer.short)")
    if case .refused = answer { processes[name].refused = index }
    post(.tokenAnswer(id, index, answer), to: name, after: random.within(5...150))
  }

  // MARK: Faults

  private func strike(_ victim: Int) {
    // It must be over before the end.
    guard schedule.fault != .none, !hasStruck, time < Self.end - 50_000 else { return }
    hasStruck = true
    strike(victim, schedule.fault)
  }

  private func reach(_ moment: Schedule.Second.Moment, _ name: Int) {
    seen.insert(moment == .takenOver ? .takenOver : .putBack)
    guard let second = schedule.second, second.moment == moment, next == nil else { return }
    next = (name, steps + second.delay)
  }

  private func strikeAgain(_ victim: Int) {
    guard let second = schedule.second, !hasStruckTwice else { return }
    hasStruckTwice = true
    seen.insert(.struckTwice)
    strike(victim, second.fault)
  }

  private func strike(_ victim: Int, _ fault: Schedule.Fault) {
    note("\(fault.rawValue) of process \(victim)")
    let back = schedule.duration
    switch fault {
    case .none: break
    case .kill:
      processes[victim].isAlive = false
      newcomer(after: back)
    case .cut:
      disconnect(victim)
      post(.connect, to: victim, after: back)
    case .freeze:
      processes[victim].frozenUntil = time + back
      post(.thaw, to: victim, after: back)
    case .lostWrite, .lostWrites:
      store.failOver(losing: fault == .lostWrite ? 1 : 2)
      for name in processes.indices {
        disconnect(name)
        post(.connect, to: name, after: random.within(20...300))
      }
      newcomer(after: random.within(200...3_000))
    case .flush:
      store.flush(at: time)
      newcomer(after: random.within(0...60))
      for name in processes.indices { post(.refusal, to: name, after: random.within(0...60)) }
    case .down:
      isUp = false
      for name in processes.indices { disconnect(name) }
      post(.storeUp, to: victim, after: back)
    }
  }

  private func newcomer(after delay: Int64) {
    processes.append(SimulatedProcess(processes.count, random: &random))
    post(.start, to: processes.count - 1, after: delay)
  }

  // MARK: What must never happen

  private func judge(_ next: ModelServer.Presentation) {
    let isUsed = server.presentations.contains { $0.claim == next.claim && $0.process == next.process }
    if next.claimed == nil || isUsed { find(.presentedWithoutClaim) }
    if time > (next.claimed ?? time) + SimulatedProcess.policy.sendingTime { find(.sentTooLate) }
    for earlier in server.presentations where earlier.token == next.token {
      seen.insert(.secondUse)
      if !isExcused(next, after: earlier) { find(.presentedTwice) }
    }
    if let final = store.current.record?.lastError, final.isFinal, store.current.record?.refreshToken == token(next.token),
      !store.history.contains(where: { store.lost.contains($0.version) })
    {
      find(.deadTokenTried)
    }
  }

  private func token(_ number: Int) -> Secret { Secret("r\(number)") }

  /// The table of the design: when a refresh token may be used again.
  private func isExcused(_ next: ModelServer.Presentation, after earlier: ModelServer.Presentation) -> Bool {
    let (claimed, before) = (next.claimed ?? next.sent, earlier.claimed ?? earlier.sent)
    // Two requests at once, never: but for a claim that a fail-over has lost.
    let isLost = earlier.claim.map { store.lost.contains($0) } ?? false
    if isLost { return earlier.delivered == nil || !isKnownElsewhere(than: next) }
    guard next.sent >= earlier.sent + Int64(SimulatedProcess.policy.timeout) || earlier.isOver else { return false }
    // Who has got the new token, and could save it, has saved it.
    if let delivered = earlier.delivered {
      let holder = processes[earlier.process]
      if next.process == earlier.process { return false }
      if holder.isAlive, holder.frozenUntil.map({ time >= $0 }) ?? true, let connected = holder.connectedSince {
        let able = max(delivered, connected, holder.thawedSince)
        if claimed - able > 600 { return false }
      }
      let isKnown = processes.contains { other in
        other.isAlive && other.frozenUntil.map { time >= $0 } ?? true
          && other.generation > (store.claim(of: next.process)?.record?.generation ?? 0)
          && (other.connectedSince.map { time - max($0, other.thawedSince) > 600 } ?? false)
      }
      if isKnown { return false }
    }
    if next.process == earlier.process { return earlier.isOver }
    // Another one takes over what is old, or what its holder has given up without an answer.
    let hasGivenUp = earlier.isOver && earlier.delivered == nil
    let hasLostSave = earlier.delivered != nil && !store.lost.isEmpty
    return claimed >= before + SimulatedProcess.policy.claimTerms.duration || hasGivenUp || hasLostSave
  }

  /// A process had the time to put a newer record back than this one was claimed with.
  private func isKnownElsewhere(than next: ModelServer.Presentation) -> Bool {
    guard schedule.losses == 0, let claimed = store.claim(of: next.process)?.record?.generation else { return false }
    return processes.contains { other in
      guard other.isAlive, other.frozenUntil.map({ time >= $0 }) ?? true, let connected = other.connectedSince else {
        return false
      }
      return other.generation > claimed && time - max(connected, other.thawedSince, other.learned.since) > 600
    }
  }

  private func published(_ name: Int, _ credential: RenderedCredential) {
    processes[name].published = credential
    let token = Int(
      String(decoding: credential.line.split(separator: UInt8(ascii: " "))[2].dropLast(2).dropFirst(), as: UTF8.self))
    guard let issued = server.issued[token ?? 0] else { return find(.wrongExpiry) }
    note("process \(name) uses a\(token ?? 0)")
    let wrong = credential.expiry - processes[name].offset - issued - ModelServer.lifetime * 1_000
    if wrong > 1_000 || wrong < -5_000 { find(.wrongExpiry) }
  }

  private func needsOperator(_ name: Int, _ text: String) {
    note("process \(name) needs an operator: \(text)")
    seen.insert(.operatorNeeded)
    // It must have read the record since it was refused, and nothing newer may have stood there.
    guard text.contains("invalid_grant"), processes[name].connectedSince != nil else { return }
    let read = processes[name].lastRead
    if read == nil || read ?? 0 > processes[name].generation { find(.refusalBelieved) }
  }

  private func judge() {
    let alive = processes.filter(\.isAlive)
    guard let record = store.current.record else { return find(.newestLost) }
    let isDead = server.isRevoked
    if !isDead {
      let stored = ModelServer.number(record.refreshToken)
      // Who died with the answer took the newest with it.
      let hasArrived = server.presentations.contains {
        $0.token == stored && $0.delivered != nil && processes[$0.process].isAlive
      }
      if hasArrived, !server.isGood(stored) { find(.newestLost) }
    }
    for process in alive {
      switch process.machine.state(now: time + process.offset) {
      case .ready:
        // Who has missed a notification learns of the newer token when its own is refused or ends.
        if !isDead, schedule.losses == 0, process.generation != record.generation { find(.stuck) }
      case .needsOperator: if !isDead { find(.stuck) }
      case .empty, .refreshing, .failed: find(.stuck)
      }
    }
  }
}

extension TokenAnswer {
  fileprivate var short: String {
    switch self {
    case .token(let grant): "r\(ModelServer.number(grant.refreshToken))"
    case .refused(let error): error.text
    case .failed(let failure, _): "\(failure)"
    }
  }
}

extension TokenStoreAnswer {
  fileprivate var short: String {
    switch self {
    case .record(let record, _): "record \(record.map { "\($0.generation)" } ?? "-")"
    case .busy(let holder): "busy \(holder ?? "")"
    case .claimed: "claimed"
    case .saved: "saved"
    case .superseded(let record): "superseded by \(record.generation)"
    case .unreachable(let why): "unreachable: \(why)"
    case .released, .seen, .unchanged, .failed, .wrongKey, .damaged: "other"
    }
  }
}
