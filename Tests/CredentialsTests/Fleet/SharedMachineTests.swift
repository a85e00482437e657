import Testing

@testable import Credentials

/// A machine with its part in a shared record, whose store and token server a test answers for.
private struct Replica {
  var machine: OAuth2Machine
  var record: SharedRecord
  var now: Int64
  var sent: [String] = []
  var deadlines: [Int64?] = []
  var flight: UInt64 = 0
  var published: [String] = []
  var failed: [CredentialUnavailable] = []
  var released: [RelayReason] = []
  var reports: [OAuth2Machine.Report] = []
  var withdrawals = 0
  /// Operations of the store.
  var asked = 0
  /// nil: it cannot be reached.
  var isConnected = true

  static let binding = [UInt8](repeating: 7, count: 32)

  init(_ name: Int, _ policy: OAuth2Policy = makePolicy(grant: .refreshToken(Secret("r1"))), at now: Int64 = 1_000_000) {
    machine = OAuth2Machine(name: "api", policy: policy, seed: UInt64(name), sharing: Self.binding)
    record = SharedRecord(holder: "proxy\(name)@host", process: UInt64(name), terms: policy.claimTerms)
    self.now = now
    // Long ago, so that no claim settles.
    _ = record.connected(now: now - 60_000)
    _ = record.answered(id: 1, .read(SharedReading(.absent, version: nil, clock: 0)), now: now - 60_000)
  }

  /// Unix milliseconds of the store at this process's time.
  private var clock: Int64 { ModelStore.epoch + now }

  mutating func run(_ actions: [OAuth2Machine.Action], _ store: inout ModelStore) {
    for action in actions {
      switch action {
      case .store(let id, let request): run(record.perform(request, id: id, now: now), &store)
      case .fetch(let id, let token, let before):
        flight = id
        sent.append(token.map { text($0.bytes) } ?? "-")
        deadlines.append(before)
      case .publish(let credential): published.append(text(Array(credential.line.dropLast(2).split(separator: 0x20)[2])))
      case .failWaiters(let why): failed.append(why)
      case .releaseRefused(let why): released.append(why)
      case .report(let report): reports.append(report)
      case .withdraw: withdrawals += 1
      case .cancelFetch, .wakeAt: break
      }
    }
  }

  mutating func run(_ actions: [SharedRecord.Action], _ store: inout ModelStore) {
    for action in actions {
      switch action {
      case .perform(let id, let operation):
        asked += 1
        let answer = isConnected ? store.perform(operation, of: 1, at: now).answer : .failed("connection refused")
        run(record.answered(id: id, answer, now: now), &store)
      case .answer(let id, let answer, let clock):
        run(machine.storeAnswered(id: id, answer, now: now, wall: clock ?? 0), &store)
      case .seen(let answer, let clock): run(machine.seen(answer, now: now, wall: clock), &store)
      case .wakeAt, .report: break
      }
    }
  }

  mutating func need(_ store: inout ModelStore) { run(machine.need(now: now).actions, &store) }
  mutating func timer(_ store: inout ModelStore) { run(machine.timer(now: now), &store) }
  mutating func refused(_ store: inout ModelStore, client: String = "billing") {
    let version = machine.lastVersion
    run(machine.refused(version: version, by: key("/\(now)", client: client), isRetry: false, now: now).actions, &store)
  }
  mutating func answer(_ answer: TokenAnswer, _ store: inout ModelStore) {
    run(machine.tokenAnswer(id: flight, answer, now: now, wall: 0), &store)
  }
  /// The second for which claims over a new connection stand.
  mutating func settle(_ store: inout ModelStore) {
    now += 1_000
    run(record.timer(now: now), &store)
  }
  mutating func look(_ store: inout ModelStore) { run(record.notified(now: now), &store) }
  mutating func returned(_ store: inout ModelStore) {
    isConnected = true
    run(record.connected(now: now), &store)
    run(machine.storeReturned(now: now), &store)
  }
}

private func stored(_ generation: UInt64, expiresAt: Int64 = 0) -> TokenRecord {
  TokenRecord(
    binding: Replica.binding, generation: generation, refreshToken: Secret("r\(generation)"),
    accessToken: Secret("a\(generation)"), expiresAt: ModelStore.epoch / 1_000 + expiresAt, lifetime: 3_600)
}

@Suite("Machines that share a record")
struct SharedMachineTests {
  @Test("the request goes out by the time after its claim, or not at all")
  func deadline() {
    var store = ModelStore(stored(1))
    var first = Replica(1)
    first.need(&store)
    #expect(first.sent == ["r1"] && first.deadlines == [first.now + 11_000])
    let late = Replica(2)
    var machine = late.machine
    _ = machine.need(now: late.now)
    _ = machine.storeAnswered(id: 1, .record(stored(1)), now: late.now, wall: 0)
    let actions = machine.storeAnswered(id: 1, .claimed(since: late.now - 11_000), now: late.now, wall: 0)
    #expect(actions.fetches.isEmpty && actions.stored.last == .release)
  }

  @Test("a token whose record a reload moves is used, and never written into the record's new place", arguments: [true, false])
  func movedWhileSaving(isSaved: Bool) {
    let there = [UInt8](repeating: 9, count: 32)
    var machine = OAuth2Machine(name: "api", policy: makePolicy(), seed: 1, sharing: Replica.binding)
    _ = machine.need(now: 1_000)
    _ = machine.storeAnswered(id: 1, .record(nil), now: 1_000, wall: 1)
    var actions = machine.storeAnswered(id: 1, .claimed(since: 1_000), now: 1_000, wall: 1)
    #expect(actions.fetches == [1])
    actions = machine.tokenAnswer(id: 1, grant("a1"), now: 1_000, wall: 1)
    guard case .save(let record)? = actions.stored.last else {
      Issue.record("not saved: \(actions)")
      return
    }
    #expect(record.binding == Replica.binding)
    let other = makePolicy(authentication: .basic(secret: Secret("another")))
    actions = machine.reconfigure(other, sharing: there, now: 1_000)
    actions += machine.storeAnswered(
      id: 1, isSaved ? .saved : .unreachable("a reload has changed the store"), now: 1_000, wall: 1)
    #expect(actions.published.count == 1)
    // The new place has no record yet.
    actions += machine.storeReturned(now: 1_000)
    actions += machine.seen(.seen(nil, TokenStoreMark(values: [])), now: 1_000, wall: 1)
    for second: Int64 in [10, 3_700] {
      actions += machine.timer(now: second * 1_000)
      actions += machine.need(now: second * 1_000).actions
    }
    for request in actions.stored {
      switch request {
      case .save(let record), .claim(let record), .note(let record), .putBack(let record): #expect(record.binding == there)
      case .read, .confirm, .release, .look: break
      }
    }
  }

  @Test(
    "one refresh for all: the others take the token from the record, without a request and without a place in refresh_window")
  func oneRefresh() {
    var store = ModelStore(stored(1, expiresAt: 4_600))
    var replicas = (1...5).map { Replica($0, makePolicy(grant: .refreshToken(Secret("r1")), window: .init(attempts: 1))) }
    for index in replicas.indices { replicas[index].need(&store) }
    #expect(replicas.allSatisfy { $0.published == ["a1"] && $0.sent.isEmpty })
    replicas[0].refused(&store)
    replicas[0].answer(grant("a2", refreshToken: "r2"), &store)
    for index in 1..<5 { replicas[index].refused(&store) }
    #expect(replicas.map(\.sent) == [["r1"], [], [], [], []])
    #expect(replicas.allSatisfy { $0.published.last == "a2" && $0.released.isEmpty })
    // The window is that of all of them.
    replicas[4].now += 1_000
    replicas[4].refused(&store)
    #expect(replicas[4].sent.isEmpty && replicas[4].released == [.windowUsedUp])
    replicas[4].now += 30_000
    replicas[4].refused(&store)
    #expect(replicas[4].sent == ["r2"])
  }

  @Test("a token in the record that is due itself is used at once; its own refresh has no place in refresh_window")
  func dueReplacement() {
    var store = ModelStore(stored(1, expiresAt: 4_600))
    let policy = makePolicy(grant: .refreshToken(Secret("r1")), refreshBeforeExpiry: 60_000, window: .init(attempts: 1))
    var (first, other) = (Replica(1, policy), Replica(2, policy))
    first.need(&store)
    other.need(&store)
    first.refused(&store)
    first.answer(grant("a2", lifetime: 100, refreshToken: "r2"), &store)
    // The other one looks when the new token's time is almost over.
    other.now += 70_000
    other.refused(&store)
    #expect(other.published == ["a1", "a2"] && other.sent == ["r2"])
    other.answer(grant("a3", refreshToken: "r3"), &store)
    #expect(other.reports.contains { if case .refreshed(_, _, byRefusal: false) = $0 { true } else { false } })
  }

  @Test("a window that others have used up holds back refusals, and not a request whose token has expired meanwhile")
  func expiredMeanwhile() {
    var store = ModelStore(stored(1, expiresAt: 1_010))
    let policy = makePolicy(grant: .refreshToken(Secret("r1")), refreshBeforeExpiry: 1, window: .init(attempts: 1))
    var (first, other) = (Replica(1, policy), Replica(2, policy))
    first.need(&store)
    other.need(&store)
    #expect(first.published == ["a1"])
    // The other one refreshes, in vain, and the first waits for it while its token expires.
    other.refused(&store)
    first.refused(&store)
    first.now += 20_000
    other.now += 20_000
    first.need(&store)
    other.answer(.failed(.status(503), retryAfter: nil), &store)
    first.now += 2_000
    first.timer(&store)
    #expect(first.released == [.windowUsedUp] || first.released == [.backingOff])
    first.now += 2_000
    first.need(&store)
    #expect(first.sent == ["r1"])
  }

  @Test("invalid_grant is believed if the record is as it was, by all, once")
  func refusedToken() {
    var store = ModelStore(stored(1))
    var (first, second) = (Replica(1), Replica(2))
    first.need(&store)
    first.answer(refusal(.invalidGrant), &store)
    #expect(first.failed == [.needsOperator("the token server refused: invalid_grant")])
    second.need(&store)
    #expect(second.sent.isEmpty && second.failed == first.failed)
    var later = Replica(3, at: 90_000_000)
    later.look(&store)
    #expect(later.machine.need(now: later.now).need.unavailable == first.failed.first)
    // Another secret may help. The token is tried once more.
    let changed = makePolicy(grant: .refreshToken(Secret("r1")), authentication: .post(secret: Secret("new-5ecret")))
    later.run(later.machine.reconfigure(changed, now: later.now), &store)
    later.need(&store)
    #expect(later.sent == ["r1"])
    later.answer(grant("a2", refreshToken: "r2"), &store)
    #expect(store.current.record?.lastError == nil)
    first.look(&store)
    #expect(first.published == ["a2"])
  }

  @Test("an operator clears what the record says: all try again; a note that a fail-over loses does not")
  func cleared() throws {
    var store = ModelStore(stored(1))
    var (first, second) = (Replica(1), Replica(2))
    first.need(&store)
    first.answer(refusal(.invalidGrant), &store)
    second.need(&store)
    #expect(second.sent.isEmpty && second.failed.count == 1)
    func write(_ error: TokenRecord.RefreshError?) throws {
      var record = try #require(store.current.record)
      record.lastError = error
      record.backOff = nil
      _ = store.perform(.write(record, replacing: store.reading(at: 0).version, .note), of: 9, at: 0)
    }
    try write(nil)
    second.look(&store)
    #expect(second.machine.need(now: second.now).need.unavailable != nil)
    try write(.clearance(at: 1_800_000_000))
    for _ in 0..<2 { second.look(&store) }
    first.look(&store)
    second.need(&store)
    #expect(second.sent == ["r1"])
    second.answer(grant("a2", refreshToken: "r2"), &store)
    first.look(&store)
    #expect(first.published == ["a2"])
  }

  @Test("invalid_grant is not believed if another process has saved a token meanwhile")
  func refusedLate() {
    var store = ModelStore(stored(1))
    var (first, other) = (Replica(1), Replica(2))
    first.need(&store)
    other.run(other.record.perform(.putBack(stored(2, expiresAt: 4_600)), id: 1, now: other.now), &store)
    first.answer(refusal(.invalidGrant), &store)
    #expect(first.published == ["a2"] && first.failed.isEmpty)
    #expect(store.current.record?.lastError == nil)
  }

  @Test("invalid_grant while the store is away: not believed, and not tried again either")
  func refusedAlone() {
    var store = ModelStore(stored(1))
    var first = Replica(1)
    first.need(&store)
    first.isConnected = false
    first.answer(refusal(.invalidGrant), &store)
    #expect(first.failed.first?.retryAfterSeconds == 1)
    first.returned(&store)
    first.need(&store)
    #expect(first.sent == ["r1"])
    #expect(first.failed.last == .needsOperator("the token server refused: invalid_grant"))
    #expect(store.current.record?.lastError?.isFinal == true)
  }

  @Test("a back-off is that of all, with its number, and ends by the store's clock")
  func backOff() {
    var store = ModelStore(stored(1))
    var (first, second) = (Replica(1), Replica(2, at: 1_030_000))
    first.need(&store)
    first.answer(.failed(.status(429), retryAfter: 60_000), &store)
    guard let until = store.current.record?.backOff?.until else {
      Issue.record("no back-off")
      return
    }
    #expect(store.current.record?.claim == nil)
    // The store's clock is what both count by.
    second.now = until - ModelStore.epoch - 30_000
    second.need(&store)
    #expect(second.sent.isEmpty && second.failed.first?.retryAfterSeconds == 30)
    second.now += 31_000
    second.need(&store)
    #expect(second.sent == ["r1"])
    second.answer(.failed(.status(503), retryAfter: nil), &store)
    #expect(store.current.record?.backOff?.count == 2)
  }

  @Test("store away: a refresh token is not spent, a valid token is used, and the store's return ends the wait")
  func storeAway() {
    var store = ModelStore(stored(1))
    var first = Replica(1)
    first.isConnected = false
    first.need(&store)
    #expect(first.sent.isEmpty)
    #expect(first.failed.first?.retryAfterSeconds == 1)
    #expect(first.failed.first.map { "\($0)" } == "connection refused")
    first.returned(&store)
    first.need(&store)
    first.settle(&store)
    #expect(first.sent == ["r1"])
    first.answer(grant("a2", refreshToken: "r2"), &store)
    first.isConnected = false
    first.refused(&store)
    #expect(first.sent == ["r1"] && first.released == [.refreshFailed])
    #expect(first.machine.need(now: first.now).need.version == 1)
  }

  @Test("store away for long: who needs a token has it asked each second, and nobody must say that it is back")
  func storeAwayForLong() {
    var store = ModelStore(stored(1))
    var first = Replica(1)
    first.isConnected = false
    for _ in 0..<20 {
      first.need(&store)
      first.now += 1_000
    }
    #expect(first.failed.map(\.retryAfterSeconds) == Array(repeating: 1, count: 20))
    #expect(first.reports.count == 1, "once for each reason")
    first.isConnected = true
    first.need(&store)
    first.settle(&store)
    #expect(first.sent == ["r1"])
    // Its failures are no failures of the token server.
    first.answer(.failed(.timedOut, retryAfter: nil), &store)
    #expect(first.failed.last?.retryAfterSeconds == 1)
  }

  @Test("store away for long: for a refresh that nobody waits for, it is asked more and more rarely, up to 30 s")
  func storeAwayForIdleProcesses() {
    var store = ModelStore(stored(1))
    var first = Replica(1, makePolicy(grant: .refreshToken(Secret("r1")), refreshBeforeExpiry: 1_000_000))
    first.need(&store)
    first.answer(grant("a2", refreshToken: "r2"), &store)
    first.isConnected = false
    var attempts: [Int64] = []
    let end = first.now + 3_000_000
    while first.now < end {
      let before = first.asked
      first.timer(&store)
      if first.asked > before { attempts.append(first.now) }
      first.now += 250
    }
    let pauses = zip(attempts.dropFirst(), attempts).map { $0 - $1 }
    #expect(pauses.first ?? 0 <= 1_250 && pauses.max() ?? 0 > 20_000 && pauses.max() ?? 0 <= 30_250)
    #expect(pauses.suffix(5).allSatisfy { $0 >= 14_750 })
    // And at once when the store is back.
    first.returned(&store)
    first.timer(&store)
    first.settle(&store)
    #expect(first.sent.count == 2)
  }

  @Test("no claim from a store in reach: the next attempt comes after at most 8 s")
  func claimRefusedForLong() {
    var machine = OAuth2Machine(name: "api", policy: makePolicy(), seed: 1, sharing: Replica.binding)
    var now: Int64 = 1_000
    for _ in 0..<12 {
      let (need, actions) = machine.need(now: now)
      guard case .wait = need, let id = actions.storeIDs.first else {
        Issue.record("\(need)")
        return
      }
      let failed = machine.storeAnswered(id: id, .failed("too few replicas"), now: now, wall: 1).failed
      let pause = failed.first?.retryAfterSeconds ?? 0
      #expect((1...8).contains(pause))
      now += Int64(pause) * 1_000
    }
  }

  @Test("the store's return does not end a back-off of the token server that another process has met meanwhile")
  func returnWithinBackOff() {
    var machine = OAuth2Machine(name: "api", policy: makePolicy(), seed: 1, sharing: Replica.binding)
    let id = machine.need(now: 1_000).actions.storeIDs.first ?? 0
    _ = machine.storeAnswered(id: id, .failed("too few replicas"), now: 1_000, wall: 1)
    var record = TokenRecord(binding: Replica.binding, generation: 0, refreshToken: nil)
    record.backOff = SharedBackOff(until: 301_000, count: 1, text: "429")
    _ = machine.seen(.seen(record, TokenStoreMark(values: [])), now: 1_000, wall: 1)
    _ = machine.storeReturned(now: 2_000)
    guard case .unavailable(let why) = machine.need(now: 3_000).need else {
      Issue.record("it asks")
      return
    }
    #expect(why.retryAfterSeconds ?? 0 > 290)
  }

  @Test("store away: a held refusal is relayed when the refresh that it waits for is put off")
  func refusalDuringRefresh() {
    var machine = OAuth2Machine(name: "api", policy: makePolicy(), seed: 1, sharing: Replica.binding)
    var id = machine.need(now: 1_000).actions.storeIDs.first ?? 0
    var actions = machine.storeAnswered(id: id, .unreachable("refused"), now: 1_000, wall: 1)
    #expect(actions.fetches == [id])
    _ = machine.tokenAnswer(id: id, grant("a1"), now: 1_000, wall: 1)
    let due: Int64 = 1_000 + 3_600_000 - 200_000
    id = machine.need(now: due).actions.storeIDs.first ?? 0
    guard case .waitForRefresh = machine.refused(version: 1, by: key("/"), isRetry: false, now: due).decision else {
      Issue.record("not held")
      return
    }
    actions = machine.storeAnswered(id: id, .unreachable("refused"), now: due, wall: 3_401)
    #expect(actions.fetches.isEmpty && actions.released == [.backingOff])
  }

  @Test("store away: a token that is fetched ahead is fetched when the store is back")
  func aheadAfterReturn() {
    var machine = OAuth2Machine(
      name: "api", policy: makePolicy(grant: .refreshToken(Secret("r1"))), seed: 1, sharing: Replica.binding)
    let id = machine.ahead(now: 1_000).storeIDs.first ?? 0
    _ = machine.storeAnswered(id: id, .unreachable("refused"), now: 1_000, wall: 1)
    _ = machine.storeReturned(now: 1_500)
    #expect(machine.timer(now: 1_500).storeIDs.count == 1)
  }

  @Test("store away before the save: the token is used, and saved before anything else when the store is back")
  func unsaved() {
    var store = ModelStore(stored(1))
    var first = Replica(1)
    first.need(&store)
    first.isConnected = false
    first.answer(grant("a2", refreshToken: "r2"), &store)
    #expect(first.published == ["a2"] && first.machine.mustFinish)
    first.returned(&store)
    #expect(store.current.record?.generation == 2 && !first.machine.mustFinish)
  }

  @Test("store away: client credentials go on, each process for itself; a password does not", arguments: [true, false])
  func otherGrants(isPassword: Bool) {
    var store = ModelStore(nil)
    let grantKind: OAuth2Policy.Grant =
      isPassword ? .password(username: "u", password: Secret("p-5ecret")) : .clientCredentials
    var first = Replica(1, makePolicy(grant: grantKind))
    first.isConnected = false
    first.need(&store)
    #expect(first.sent == (isPassword ? [] : ["-"]))
    if isPassword {
      #expect(first.failed.first?.retryAfterSeconds == 1)
      return
    }
    first.answer(grant("a1"), &store)
    #expect(first.published == ["a1"])
    // Not all processes at once while they have a token.
    var starts: Set<Int64> = []
    for name in 2...9 {
      var other = Replica(name, makePolicy(grant: grantKind))
      other.isConnected = false
      other.need(&store)
      other.answer(grant("a1"), &store)
      let end = other.now + 3_600_000
      while other.sent.count == 1, other.now < end {
        other.now += 1_000
        other.timer(&store)
        other.need(&store)
      }
      starts.insert(other.now / 10_000)
    }
    #expect(starts.count > 4)
  }

  @Test("client credentials: one request for all, and a claim that is short")
  func clientCredentials() {
    var store = ModelStore(nil)
    var (first, second) = (Replica(1, makePolicy()), Replica(2, makePolicy()))
    first.need(&store)
    #expect(store.current.record?.claim?.duration == 11_000)
    second.need(&store)
    #expect(first.sent == ["-"] && second.sent.isEmpty)
    first.answer(grant("a1"), &store)
    second.look(&store)
    #expect(second.published == ["a1"])
    #expect(TokenRecord(store.current.record?.json ?? .null) == store.current.record)
  }

  @Test("a token that was asked for with another scope is not adopted, and its refresh token is")
  func otherScope() {
    var store = ModelStore(stored(1))
    var first = Replica(1, makePolicy(grant: .refreshToken(Secret("r1")), scope: "read"))
    var second = Replica(2, makePolicy(grant: .refreshToken(Secret("r1")), scope: "write"))
    first.need(&store)
    first.answer(grant("a2", refreshToken: "r2"), &store)
    second.need(&store)
    #expect(second.published.isEmpty && second.sent == ["r2"])
  }

  @Test("a store that lost the record has it put back, also a logout's", arguments: [true, false])
  func putBack(isLogout: Bool) {
    var known = stored(4, expiresAt: 4_600)
    if isLogout {
      known = TokenRecord(binding: Replica.binding, generation: 4, refreshToken: nil)
      known.tombstone = TokenRecord.Tombstone(loggedOutAt: 1)
    }
    for lost in [nil, stored(2)] as [TokenRecord?] {
      var store = ModelStore(known)
      var first = Replica(1)
      first.look(&store)
      var other = ModelStore(lost)
      first.look(&other)
      #expect(other.current.record == known && other.current.purpose == .putBack)
    }
  }

  @Test("a store that lost the record: one that knows it puts it back while it waits for who has claimed the first token")
  func putBackBeforeUse() {
    var store = ModelStore(stored(3, expiresAt: 4_600))
    var (first, next) = (Replica(1), Replica(2))
    first.need(&store)
    store.flush(at: 0)
    next.need(&store)
    #expect(store.current.record?.generation == 0 && store.current.record?.claim != nil)
    // No notification has come yet.
    first.refused(&store)
    #expect(store.current.record?.generation == 3 && store.current.record?.claim == nil)
    next.settle(&store)
    #expect(next.sent.isEmpty && next.published == ["a3"])
    first.now += 1_000
    first.timer(&store)
    #expect(first.sent == ["r3"])
  }

  @Test("a store that lost the record: another token under the number of one's own is the one that counts")
  func sameNumber() {
    var store = ModelStore(stored(1, expiresAt: 4_600))
    var (first, other) = (Replica(1), Replica(2))
    first.need(&store)
    other.need(&store)
    var fork = TokenRecord(
      binding: Replica.binding, generation: 1, refreshToken: Secret("r7"), accessToken: Secret("a7"),
      expiresAt: ModelStore.epoch / 1_000 + 4_600, lifetime: 3_600)
    fork.note(request: TokenBinding.request(of: first.machine.policy))
    store.flush(at: 0)
    _ = store.perform(.write(fork, replacing: nil, .save), of: 9, at: 0)
    first.refused(&store)
    #expect(first.published == ["a1", "a7"] && first.sent.isEmpty)
    other.look(&store)
    other.refused(&store)
    #expect(other.sent == ["r7"] && !store.wentBack)
  }

  @Test("a new token that could not be saved is saved when another process claims the spent one")
  func unsavedMeanwhile() {
    var store = ModelStore(stored(1))
    var (first, other) = (Replica(1), Replica(2))
    first.need(&store)
    first.isConnected = false
    first.answer(grant("a2", refreshToken: "r2"), &store)
    // The connection is back, but the answer of the save was lost after that.
    first.isConnected = true
    store.failOver(losing: 1)
    other.need(&store)
    #expect(store.current.record?.claim?.process == 2)
    first.look(&store)
    #expect(store.current.record?.generation == 2 && store.current.record?.claim == nil && !first.machine.hasUnsaved)
  }

  @Test("a reload that moves the record gives the claim in its former place up")
  func movedClaim() {
    var store = ModelStore(nil)
    var first = Replica(1, makePolicy())
    first.need(&store)
    #expect(store.current.record?.claim != nil)
    let other = makePolicy(authentication: .basic(secret: Secret("another")))
    first.run(first.machine.reconfigure(other, sharing: [UInt8](repeating: 9, count: 32), now: first.now), &store)
    #expect(store.current.record?.claim == nil)
    first.answer(grant("a1"), &store)
    #expect(first.published == ["a1"])
  }

  @Test("a retired machine whose store is gone gives up what is not saved, and no other does", arguments: [true, false])
  func storeRemoved(isRetired: Bool) {
    var store = ModelStore(stored(1))
    var first = Replica(1)
    first.need(&store)
    first.isConnected = false
    first.answer(grant("a2", refreshToken: "r2"), &store)
    if isRetired { first.run(first.machine.retire(now: first.now), &store) }
    first.run(first.machine.storeRemoved(now: first.now), &store)
    #expect(first.machine.hasUnsaved == !isRetired && first.machine.mustFinish == !isRetired)
    #expect(first.reports.contains(.lost) == isRetired)
  }

  @Test(
    "a record that could not be read: all go on once it can",
    arguments: [nil, stored(0), stored(5, expiresAt: 4_600)] as [TokenRecord?])
  func readableAgain(repaired: TokenRecord?) {
    var store = ModelStore(repaired)
    var first = Replica(1)
    _ = first.machine.need(now: first.now)
    _ = first.machine.storeAnswered(id: 1, .damaged, now: first.now, wall: 0)
    guard case .unavailable(.needsOperator(let why)) = first.machine.need(now: first.now).need else {
      Issue.record("it does not need an operator")
      return
    }
    #expect(why.contains("run \"authproxy tokens --clear api\""))
    first.look(&store)
    #expect(first.machine.need(now: first.now).need.unavailable == nil)
  }

  @Test(
    "what stands for a record that could not be read: who knows a token puts it back, others begin with the configured one",
    arguments: [true, false])
  func replaced(isKnown: Bool) {
    var store = ModelStore(stored(3, expiresAt: 4_600))
    var first = Replica(1)
    if isKnown { first.need(&store) }
    var empty = TokenRecord(binding: Replica.binding, generation: 0, refreshToken: nil)
    empty.lastError = .clearance(at: 1_800_000_000)
    store.flush(at: 0)
    _ = store.perform(.write(empty, replacing: nil, .note), of: 9, at: 0)
    first.look(&store)
    #expect(store.current.record?.generation == (isKnown ? 3 : 0))
    first.now += 1_000
    first.refused(&store)
    first.need(&store)
    first.settle(&store)
    #expect(first.sent == [isKnown ? "r3" : "r1"])
  }

  @Test("a logout during a refresh: the tokens that it did not know of are left for the next one to revoke")
  func logoutMeanwhile() {
    var store = ModelStore(stored(1))
    var (first, other) = (Replica(1), Replica(2))
    first.need(&store)
    var tombstone = TokenRecord(binding: Replica.binding, generation: 1_800_000_000, refreshToken: nil)
    tombstone.tombstone = TokenRecord.Tombstone(loggedOutAt: 1_800_000_000)
    other.run(other.record.perform(.putBack(tombstone), id: 1, now: other.now), &store)
    first.answer(grant("a2", refreshToken: "r2"), &store)
    #expect(first.published.isEmpty && first.machine.published == nil)
    let left = store.current.record?.tombstone?.unrevoked.map { text($0.token.bytes) }
    #expect(left == ["r2", "a2"])
  }

  @Test("an unreadable record: an operator, and no first token is tried", arguments: [TokenStoreAnswer.wrongKey, .damaged])
  func unreadable(answer: TokenStoreAnswer) {
    var first = Replica(1)
    _ = first.machine.need(now: first.now)
    let actions = first.machine.storeAnswered(id: 1, answer, now: first.now, wall: 0)
    guard case .needsOperator? = actions.failedWaiters.first else {
      Issue.record("no operator is asked for")
      return
    }
    #expect(actions.fetches.isEmpty)
  }

  @Test("an answer that came while the process was frozen is read before its time-out counts")
  func overslept() {
    var store = ModelStore(stored(1))
    var first = Replica(1)
    first.need(&store)
    first.now += 3_600_000
    first.timer(&store)
    first.answer(grant("a2", lifetime: 36_000, refreshToken: "r2"), &store)
    #expect(store.current.record?.generation == 2)
  }
}
