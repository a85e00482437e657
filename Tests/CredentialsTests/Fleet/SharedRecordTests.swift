import Testing

@testable import Credentials

/// A `SharedRecord` with a store that has one record, and nothing in between.
private struct Peer {
  var record: SharedRecord
  let name: Int
  var now: Int64 = 5_000_000
  var answers: [TokenStoreAnswer] = []
  var seen: [TokenStoreAnswer] = []
  var reports: [SharedRecord.Report] = []
  var wakeAt: Int64?
  /// Operations that have not been answered.
  var asked: [(id: UInt64, operation: SharedOperation)] = []

  static let terms = ClaimTerms(duration: 12_000, guardsRefreshToken: true)

  init(_ name: Int, connected: Bool = true) {
    self.name = name
    record = SharedRecord(holder: "proxy\(name)@host", process: UInt64(name), terms: Self.terms)
    guard connected else { return }
    _ = record.connected(now: now - 60_000)
    _ = record.answered(id: 1, .read(SharedReading(.absent, version: nil, clock: 0)), now: now - 60_000)
  }

  mutating func note(_ actions: [SharedRecord.Action]) {
    for action in actions {
      switch action {
      case .perform(let id, let operation): asked.append((id, operation))
      case .answer(_, let answer, _): answers.append(answer)
      case .seen(let answer, _): seen.append(answer)
      case .wakeAt(let at): wakeAt = at
      case .report(let report): reports.append(report)
      }
    }
  }

  mutating func ask(_ request: TokenStoreRequest) { note(record.perform(request, id: 7, now: now)) }

  /// Has the store answer what was asked, all of it.
  mutating func settle(_ store: inout ModelStore, acknowledging: Bool = true) {
    while !asked.isEmpty {
      let (id, operation) = asked.removeFirst()
      var answer = store.perform(operation, of: name, at: now).answer
      if !acknowledging, case .stored(let version, _, let clock) = answer {
        answer = .stored(version, isAcknowledged: false, clock: clock)
      }
      note(record.answered(id: id, answer, now: now))
    }
  }

  mutating func ask(_ request: TokenStoreRequest, _ store: inout ModelStore) -> TokenStoreAnswer? {
    ask(request)
    settle(&store)
    return answers.last
  }

  /// From reading to a claim that stands.
  mutating func claim(_ store: inout ModelStore) -> TokenStoreAnswer? {
    guard case .record(let record, _)? = ask(.read, &store) else { return answers.last }
    return ask(.claim(record ?? stored(0)), &store)
  }
}

private func stored(_ generation: UInt64, _ token: String? = nil) -> TokenRecord {
  TokenRecord(
    binding: [UInt8](repeating: 7, count: 32), generation: generation, refreshToken: Secret(token ?? "r\(generation)"),
    accessToken: Secret("a\(generation)"), expiresAt: 1_800_003_600, lifetime: 3_600)
}

private func isBusy(_ answer: TokenStoreAnswer?) -> Bool { if case .busy? = answer { true } else { false } }

@Suite("One process's part in a shared record")
struct SharedRecordTests {
  @Test("claim: only what was read is claimed, and the others wait")
  func claims() {
    var store = ModelStore(stored(1))
    var (first, second) = (Peer(1), Peer(2))
    #expect(first.claim(&store) == .claimed(since: first.now))
    #expect(store.current.record?.claim?.holder == "proxy1@host")
    #expect(second.ask(.read, &store) == .busy("proxy1@host"))
  }

  @Test("claim: of two that read the same, one is told of the other")
  func conflict() {
    var store = ModelStore(stored(1))
    var (first, second) = (Peer(1), Peer(2))
    #expect(first.ask(.read, &store) == .record(stored(1)))
    #expect(second.ask(.read, &store) == .record(stored(1)))
    #expect(first.ask(.claim(stored(1)), &store) == .claimed(since: first.now))
    #expect(second.ask(.claim(stored(1)), &store) == .busy("proxy1@host"))
    #expect(second.reports == [.claim(.lost)])
  }

  @Test("claim: what a notification shows between reading and claiming is not written over")
  func lookBetween() {
    var store = ModelStore(stored(1))
    var (first, second) = (Peer(1), Peer(2))
    _ = second.ask(.read, &store)
    _ = first.claim(&store)
    second.note(second.record.notified(now: second.now))
    second.settle(&store)
    #expect(second.ask(.claim(stored(1)), &store) == .busy("proxy1@host"))
    #expect(store.current.record?.claim?.process == 1)
  }

  @Test("claim: who has to wait is shown what the other one has claimed")
  func shownClaim() {
    var store = ModelStore(stored(3))
    var (first, second, third) = (Peer(1), Peer(2), Peer(3))
    _ = third.ask(.read, &store)
    _ = first.claim(&store)
    let claimed = TokenStoreAnswer.seen(store.current.record, TokenStoreMark(values: []))
    #expect(isBusy(second.ask(.read, &store)) && second.seen == [claimed])
    #expect(isBusy(third.ask(.claim(stored(3)), &store)) && third.seen == [claimed])
  }

  @Test("take-over: a claim is old after its whole time under the observer's eyes, and not before")
  func takeOver() {
    var store = ModelStore(stored(1))
    var (first, second) = (Peer(1), Peer(2))
    _ = first.claim(&store)
    // Its age by any clock does not count.
    second.now += 1_000_000
    #expect(isBusy(second.ask(.read, &store)))
    second.now += Peer.terms.duration - 1
    #expect(isBusy(second.ask(.read, &store)))
    second.now += 1
    let before = store.current.record
    #expect(second.ask(.read, &store) == .record(before))
    #expect(second.ask(.claim(stored(1)), &store) == .claimed(since: second.now))
    #expect(second.reports == [.claim(.takenOver), .takenOver(holder: "proxy1@host", generation: 1), .claim(.won)])
  }

  @Test("take-over: an interruption of the store, or another claim, begins the observation anew", arguments: [true, false])
  func observation(isInterrupted: Bool) {
    var store = ModelStore(stored(1))
    var (first, second) = (Peer(1), Peer(2))
    _ = first.claim(&store)
    _ = second.ask(.read, &store)
    second.now += Peer.terms.duration
    if isInterrupted {
      second.record.lost()
      second.note(second.record.connected(now: second.now))
      second.settle(&store)
    } else {
      _ = first.ask(.release, &store)
      _ = first.claim(&store)
    }
    #expect(isBusy(second.ask(.read, &store)))
    second.now += Peer.terms.duration
    #expect(!isBusy(second.ask(.read, &store)))
  }

  @Test("settling: a claim on a first token, or over a new connection, is read again after a second", arguments: [true, false])
  func settles(isFirst: Bool) {
    var store = ModelStore(isFirst ? nil : stored(1))
    var (first, other) = (Peer(1), Peer(2))
    if !isFirst {
      first.note(first.record.connected(now: first.now))
      first.settle(&store)
    }
    let began = first.now
    _ = first.ask(.read, &store)
    let count = first.answers.count
    _ = first.ask(.claim(stored(isFirst ? 0 : 1)), &store)
    #expect(first.answers.count == count && first.wakeAt == began + 1_000)
    // Somebody knows better.
    _ = other.ask(.putBack(stored(5)), &store)
    first.now += 1_000
    first.note(first.record.timer(now: first.now))
    first.settle(&store)
    #expect(first.answers.last == .record(stored(5)))
  }

  @Test("settling: a claim with a record that the store has lost", arguments: [nil, stored(2)] as [TokenRecord?])
  func settlesPutBack(lost: TokenRecord?) {
    var store = ModelStore(lost)
    var (first, other) = (Peer(1), Peer(2))
    _ = first.ask(.read, &store)
    let count = first.answers.count
    #expect(first.ask(.claim(stored(4)), &store) == first.answers.last && first.answers.count == count)
    #expect(first.wakeAt == first.now + 1_000 && first.reports == [.putBack(generation: 4)])
    _ = other.ask(.putBack(stored(5)), &store)
    first.now += 1_000
    first.note(first.record.timer(now: first.now))
    first.settle(&store)
    #expect(first.answers.last == .record(stored(5)))
  }

  @Test("a claim that is given up leaves the newer record that it has put in the place of an older one")
  func releasedPutBack() {
    var store = ModelStore(stored(2))
    var first = Peer(1)
    _ = first.ask(.read, &store)
    _ = first.ask(.claim(stored(4)), &store)
    first.now += 1_000
    first.note(first.record.timer(now: first.now))
    first.settle(&store)
    #expect(first.answers.last == .claimed(since: first.now - 1_000))
    #expect(first.ask(.release, &store) == .saved)
    #expect(store.current.record == stored(4))
  }

  @Test("settling: a claim that still stands counts from when it was written")
  func settled() {
    var store = ModelStore(nil)
    var first = Peer(1)
    let began = first.now
    _ = first.claim(&store)
    first.now += 1_400
    first.note(first.record.timer(now: first.now))
    first.settle(&store)
    #expect(first.answers.last == .claimed(since: began))
  }

  @Test("save: a holder whose claim was taken over saves all the same, and the other adopts")
  func lateSave() {
    var store = ModelStore(stored(1))
    var (first, second) = (Peer(1), Peer(2))
    _ = first.claim(&store)
    _ = second.ask(.read, &store)
    second.now += Peer.terms.duration
    _ = second.claim(&store)
    #expect(first.ask(.save(stored(2, "of-first")), &store) == .saved)
    #expect(second.ask(.save(stored(2, "of-second")), &store) == .superseded(stored(2, "of-first")))
    #expect(store.current.record == stored(2, "of-first"))
  }

  @Test("save: a generation that stands is never replaced by the same or an older one, by a look neither")
  func fenced() {
    var store = ModelStore(stored(1))
    var (first, second) = (Peer(1), Peer(2))
    _ = first.claim(&store)
    _ = second.ask(.putBack(stored(4)), &store)
    first.note(first.record.notified(now: first.now))
    first.settle(&store)
    #expect(first.ask(.save(stored(2)), &store) == .superseded(stored(4)))
    #expect(first.ask(.putBack(stored(3)), &store) == .superseded(stored(4)))
    #expect(store.current.record == stored(4) && !store.wentBack)
  }

  @Test("save: whose answer was lost is found to be done")
  func lostAnswer() {
    var store = ModelStore(stored(1))
    var first = Peer(1)
    _ = first.claim(&store)
    first.ask(.save(stored(2)))
    let (id, operation) = first.asked.removeFirst()
    _ = store.perform(operation, of: 1, at: first.now)
    first.note(first.record.answered(id: id, .failed("connection lost"), now: first.now))
    #expect(first.answers.last == .unreachable("connection lost"))
    #expect(first.ask(.save(stored(2)), &store) == .saved)
    #expect(store.current.version == 2)
  }

  @Test("save: into a store that has lost the record")
  func saveAfterLoss() {
    var store = ModelStore(stored(1))
    var first = Peer(1)
    _ = first.claim(&store)
    store.failOver(losing: 1)
    #expect(first.ask(.save(stored(2)), &store) == .saved)
    var empty = ModelStore(nil)
    #expect(first.ask(.save(stored(3)), &empty) == .saved)
  }

  @Test("replicas: a claim that too few have is withdrawn, and nothing is done in its name")
  func unacknowledgedClaim() {
    var store = ModelStore(stored(1))
    var first = Peer(1)
    _ = first.ask(.read, &store)
    first.ask(.claim(stored(1)))
    first.settle(&store, acknowledging: false)
    #expect(first.answers.last == .failed("too few replicas have acknowledged the claim"))
    #expect(store.current.record == stored(1) && store.current.purpose == .withdraw)
  }

  @Test("replicas: a new token that too few have is used, and written again until they have it")
  func unacknowledgedSave() {
    var store = ModelStore(stored(1))
    var first = Peer(1)
    _ = first.claim(&store)
    for _ in 1...2 {
      first.ask(.save(stored(2)))
      first.settle(&store, acknowledging: false)
      #expect(first.answers.last == .failed("too few replicas have acknowledged the new token"))
    }
    #expect(first.ask(.save(stored(2)), &store) == .saved)
    #expect(store.current.version == 4)
    #expect(first.ask(.save(stored(2)), &store) == .saved)
    #expect(store.current.version == 4)
  }

  @Test("a claim with which nothing was done leaves the record as it was", arguments: [true, false])
  func release(wasMarked: Bool) {
    var before = stored(1)
    before.inFlight = wasMarked
    var store = ModelStore(before)
    var first = Peer(1)
    _ = first.claim(&store)
    #expect(first.ask(.release, &store) == .saved)
    #expect(store.current.record == before)
    #expect(first.ask(.release, &store) == .released)
  }

  @Test("what a failed refresh leaves is written while the claim stands, and not over another's")
  func notes() {
    var store = ModelStore(stored(1))
    var (first, second) = (Peer(1), Peer(2))
    var failed = stored(1)
    failed.lastError = TokenRecord.RefreshError("status 500", at: 1, isFinal: false)
    _ = first.claim(&store)
    _ = second.ask(.read, &store)
    second.now += Peer.terms.duration
    _ = second.claim(&store)
    _ = first.ask(.note(failed), &store)
    #expect(store.current.record?.claim?.process == 2 && store.current.record?.lastError == nil)
    #expect(second.ask(.note(failed), &store) == .saved)
    #expect(store.current.record == failed)
  }

  @Test("a record that cannot be read is left as it is", arguments: [SharedReading.Content.unknownKey, .damaged])
  func unreadable(content: SharedReading.Content) {
    var first = Peer(1)
    let reading = SharedReading(content, version: RecordVersion([1]), clock: 0)
    for request in [.read, .save(stored(9)), .putBack(stored(9))] as [TokenStoreRequest] {
      first.ask(request)
      while !first.asked.isEmpty {
        let (id, operation) = first.asked.removeFirst()
        first.note(first.record.answered(id: id, operation == .read ? .read(reading) : .conflict(reading), now: first.now))
      }
      #expect(first.answers.last == (content == .damaged ? .damaged : .wrongKey))
    }
  }

  @Test("the store's clock is never thought to be earlier than it is, however late its answer is read")
  func clock() {
    var first = Peer(1)
    first.ask(.read)
    let id = first.asked.removeFirst().id
    first.now += 15_000
    let actions = first.record.answered(
      id: id, .read(SharedReading(.absent, version: nil, clock: 1_800_000_000_000)), now: first.now)
    #expect(actions == [.answer(id: 7, .record(nil), clock: 1_800_000_015)])
  }

  @Test("an answer from what was read before has the store's clock of now")
  func rememberedClock() {
    var store = ModelStore(stored(3))
    var first = Peer(1, connected: false)
    first.note(first.record.connected(now: first.now))
    first.settle(&store)
    first.now += 20_000
    let actions = first.record.perform(.save(stored(2, "late")), id: 9, now: first.now)
    #expect(actions == [.answer(id: 9, .superseded(stored(3)), clock: (ModelStore.epoch + first.now) / 1_000)])
  }

  @Test("a connection reads the record, as notifications may have been lost")
  func connection() {
    var store = ModelStore(stored(3))
    var first = Peer(1, connected: false)
    first.note(first.record.connected(now: first.now))
    first.settle(&store)
    #expect(first.seen == [.seen(stored(3), TokenStoreMark(values: []))])
  }

  @Test("a store that keeps nothing is given up")
  func forgetful() {
    var first = Peer(1)
    first.ask(.save(stored(2)))
    var rounds: UInt8 = 0
    while !first.asked.isEmpty, rounds < 100 {
      rounds += 1
      let reading = SharedReading(.record(stored(1)), version: RecordVersion([rounds]), clock: 0)
      let (id, operation) = first.asked.removeFirst()
      first.note(first.record.answered(id: id, operation == .read ? .read(reading) : .conflict(reading), now: first.now))
    }
    #expect(first.answers.last == .unreachable("the record changes whenever it is written"))
  }
}
