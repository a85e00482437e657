import Testing

@testable import Credentials

/// A machine with a store. Performs store requests at once, unless the test holds them.
struct Process {
  var driver: Driver
  let store: any TokenStore
  var name = "api"
  /// The refresh tokens of the fetches.
  var sent: [String] = []
  var reports: [OAuth2Machine.Report] = []
  var published: [String] = []
  var failed: [CredentialUnavailable] = []
  var released: [RelayReason] = []
  var withdrawals = 0
  /// Collects requests instead of performing them.
  var stopBefore: ((TokenStoreRequest) -> Bool)?
  var dead = false

  init(_ policy: OAuth2Policy = makePolicy(grant: .refreshToken(Secret("first"))), store: any TokenStore) {
    driver = Driver(policy)
    self.store = store
  }

  mutating func run(_ actions: [OAuth2Machine.Action]) {
    var queue = actions
    while !queue.isEmpty, !dead {
      let action = queue.removeFirst()
      switch action {
      case .store(let id, let request):
        if stopBefore?(request) == true {
          dead = true
          return
        }
        let answer = store.perform(request, for: name)
        queue += driver.note(driver.machine.storeAnswered(id: id, answer, now: driver.now, wall: driver.wall))
      case .fetch(_, let token, _): sent.append(token.map { text($0.bytes) } ?? "-")
      case .publish(let credential): published.append(text(credential.line).split(separator: " ")[2].trimmed)
      case .failWaiters(let why): failed.append(why)
      case .releaseRefused(let reason): released.append(reason)
      case .withdraw: withdrawals += 1
      case .report(let report): reports.append(report)
      default: break
      }
    }
  }

  mutating func need() { run(driver.need().actions) }
  mutating func answer(_ answer: TokenAnswer) { run(driver.answer(answer)) }
  mutating func refused(_ version: UInt64) { run(driver.refused(version).actions) }
  mutating func wake() { run(driver.wake() ?? []) }
}

extension Substring {
  fileprivate var trimmed: String { String(self.prefix { $0 != "\r\n" && $0 != "\r" }) }
}

/// Answers as the test says, and records the requests.
// SAFETY: one test, one thread.
private final class ScriptedStore: TokenStore, @unchecked Sendable {
  var failing: Set<String> = []
  let isShared = true
  let inner = MemoryTokenStore()

  func perform(_ request: TokenStoreRequest, for credential: String) -> TokenStoreAnswer {
    switch request {
    case .read:
      if failing.contains("lock") { return .failed("disk gone") }
      if failing.contains("key") { return .wrongKey }
    case .claim: if failing.contains("mark") { return .failed("disk full") }
    case .save, .note: if failing.contains("save") { return .failed("disk full") }
    case .release, .look, .confirm, .putBack: break
    }
    return inner.perform(request, for: credential)
  }

  func record() -> TokenRecord? {
    guard case .record(let record, _) = inner.perform(.read, for: "api") else { return nil }
    _ = inner.perform(.release, for: "api")
    return record
  }
}

@Suite("Rotation is crash-safe, and processes take turns")
struct RotationTests {
  @Test("lock, mark, request, save, and only then is the token used")
  func order() {
    let store = ScriptedStore()
    var process = Process(store: store)
    process.need()
    #expect(process.sent == ["first"])
    #expect(store.inner.perform(.read, for: "api") == .busy(), "the lock is held while the request is on its way")
    let actions = process.driver.answer(grant("a1", refreshToken: "r1"))
    guard case .save(let record)? = actions.stored.first else {
      Issue.record("nothing was saved")
      return
    }
    #expect(actions.published.isEmpty, "not before it is on disk")
    #expect(record.refreshToken.map { text($0.bytes) } == "r1" && !record.inFlight && record.generation == 1)
    process.run(actions)
    #expect(process.published == ["a1"])
    #expect(store.record() == record, "and the lock is free again")
  }

  @Test("the next refresh uses the rotated token, or the same where the server rotates none")
  func rotation() {
    var process = Process(store: MemoryTokenStore())
    process.need()
    process.answer(grant("a1", refreshToken: "r1"))
    process.refused(1)
    process.answer(grant("a2"))
    process.refused(2)
    #expect(process.sent == ["first", "r1", "r1"])
  }

  @Test("a restart goes on with what was saved, without a request while the token is valid")
  func restart() {
    let store = MemoryTokenStore()
    var first = Process(store: store)
    first.need()
    first.answer(grant("a1", refreshToken: "r1"))
    var second = Process(store: store)
    second.driver.pass(60_000)
    second.need()
    #expect(second.published == ["a1"])
    #expect(second.sent.isEmpty)
    #expect(second.driver.machine.published?.expiry == second.driver.now + 3_540_000)
    second.refused(1)
    #expect(second.sent == ["r1"])
  }

  @Test("a restart late in a token's life uses it and refreshes; after its end, it refreshes")
  func lateRestart() {
    for (later, published) in [(3_500_000, ["a1"]), (3_600_000, [])] as [(Int64, [String])] {
      let store = MemoryTokenStore()
      var first = Process(store: store)
      first.need()
      first.answer(grant("a1", refreshToken: "r1"))
      var second = Process(store: store)
      second.driver.pass(later)
      second.need()
      #expect(second.published == published)
      #expect(second.sent == ["r1"])
    }
  }

  @Test("a clock that was set back makes no token older than it is")
  func clockSetBack() {
    let store = MemoryTokenStore()
    var first = Process(store: store)
    first.need()
    first.answer(grant("a1", refreshToken: "r1"))
    var second = Process(store: store)
    second.driver.wall -= 86_400
    second.need()
    #expect(second.driver.machine.published?.expiry == second.driver.now + 3_600_000)
  }

  @Test("killed before the mark, after it, before the save, after it: the next process gets on")
  func kills() {
    let instants: [(String, @Sendable (TokenStoreRequest) -> Bool, String?, [String])] = [
      ("before the lock", { $0 == .read }, nil, ["first"]),
      ("before the mark", { if case .claim = $0 { true } else { false } }, nil, ["first"]),
      ("before the save", { if case .save = $0 { true } else { false } }, "r1", ["first"]),
      ("before the release", { $0 == .release }, "r1", []),
    ]
    for (name, stop, rotated, sent) in instants {
      let store = KillableStore()
      var first = Process(store: store)
      first.stopBefore = stop
      first.need()
      if !first.dead { first.answer(grant("a1", refreshToken: rotated)) }
      #expect(first.dead, "\(name)")
      store.locks.removeAll()
      var second = Process(store: store)
      second.need()
      #expect(second.sent == sent, "\(name)")
    }
  }

  @Test("a mark of a process that ended: the old token is tried once, and then an operator is needed")
  func interrupted() {
    let store = KillableStore()
    var first = Process(store: store)
    first.need()
    store.locks.removeAll()
    var second = Process(store: store)
    second.need()
    #expect(second.sent == ["first"])
    second.answer(refusal(.invalidGrant))
    guard case .needsOperator(let why)? = second.failed.first else {
      Issue.record("no operator is asked for")
      return
    }
    #expect(why.contains("an earlier process ended"))
    second.driver.pass(10_000_000)
    second.need()
    #expect(second.sent.count == 1)
  }

  @Test("a mark of a process that ended before the server saw anything costs nothing")
  func interruptedHarmlessly() {
    let store = KillableStore()
    var first = Process(store: store)
    first.need()
    store.locks.removeAll()
    var second = Process(store: store)
    second.need()
    second.answer(grant("a1", refreshToken: "r1"))
    #expect(second.published == ["a1"])
    #expect(store.records["api"]?.inFlight == false)
  }

  @Test("a clear answer takes the mark away, a time-out leaves it")
  func marks() {
    for (answer, marked) in [(refusal(.invalidClient), false), (.failed(.timedOut), true)] {
      let store = ScriptedStore()
      var process = Process(store: store)
      process.need()
      process.answer(answer)
      #expect(store.record()?.inFlight == marked)
    }
  }

  @Test("a mark left by this process's own time-out does not count as another process's")
  func ownMark() {
    var process = Process(store: MemoryTokenStore())
    process.need()
    process.answer(.failed(.timedOut))
    process.driver.pass(1_000)
    process.need()
    process.answer(refusal(.invalidGrant))
    #expect(process.failed.last == .needsOperator("the token server refused: invalid_grant"))
  }

  @Test("a record of another configuration is ignored and replaced")
  func otherBinding() {
    let store = ScriptedStore()
    var first = Process(store: store)
    first.need()
    first.answer(grant("a1", refreshToken: "r1"))
    var second = Process(makePolicy(grant: .refreshToken(Secret("new first"))), store: store)
    second.need()
    #expect(second.sent == ["new first"])
    second.answer(grant("b1", refreshToken: "s1"))
    #expect(store.record()?.refreshToken.map { text($0.bytes) } == "s1")
    // The process with the old configuration destroys nothing, and its token stays in use.
    first.refused(1)
    #expect(first.sent == ["first"] && first.released == [.needsOperator])
    #expect(first.driver.need().need.version == 1)
    #expect(store.record()?.refreshToken.map { text($0.bytes) } == "s1")
    #expect(first.driver.machine.failureReason.contains("another configuration"))
  }

  @Test("two processes: the second waits for the lock, reads again, and uses what the first has got")
  func turns() {
    let store = MemoryTokenStore()
    var first = Process(store: store)
    var second = Process(store: store)
    first.need()
    second.need()
    #expect(second.sent.isEmpty)
    second.wake()
    #expect(second.sent.isEmpty)
    first.answer(grant("a1", refreshToken: "r1"))
    second.wake()
    #expect(second.published == ["a1"] && second.sent.isEmpty)
    // Both meet a 401.
    first.refused(1)
    first.answer(grant("a2", refreshToken: "r2"))
    second.refused(1)
    #expect(second.published == ["a1", "a2"] && second.sent.isEmpty)
    second.refused(2)
    #expect(second.sent == ["r2"])
  }

  @Test("a lock that is never released is a temporary failure")
  func lockedForever() {
    let store = MemoryTokenStore()
    _ = store.perform(.read, for: "api")
    var process = Process(store: store)
    process.need()
    for _ in 0..<600 where process.failed.isEmpty { process.wake() }
    #expect(process.failed.first?.retryAfterSeconds == 1)
    #expect(process.sent.isEmpty)
  }

  @Test("a store that cannot take the mark: no request is made, nothing is lost")
  func cannotMark() {
    for place in ["lock", "mark"] {
      let store = ScriptedStore()
      store.failing = [place]
      var process = Process(store: store)
      process.need()
      #expect(process.sent.isEmpty)
      #expect(process.failed.first?.retryAfterSeconds == 1)
      store.failing = []
      process.driver.pass(1_000)
      process.need()
      #expect(process.sent == ["first"])
    }
  }

  @Test("a disk that fills up before the save: the token is used, the lock kept, the save tried until it is done")
  func cannotSave() {
    let store = ScriptedStore()
    var process = Process(store: store)
    process.need()
    store.failing = ["save"]
    process.answer(grant("a1", refreshToken: "r1"))
    #expect(process.published == ["a1"])
    #expect(process.reports.contains(.notSaved("disk full")))
    #expect(process.driver.machine.mustFinish)
    #expect(store.inner.perform(.read, for: "api") == .busy())
    process.wake()
    #expect(process.driver.machine.mustFinish)
    store.failing = []
    process.wake()
    #expect(!process.driver.machine.mustFinish)
    #expect(store.record()?.refreshToken.map { text($0.bytes) } == "r1")
  }

  @Test("what could not be saved is saved by the next refresh's mark")
  func savedByMark() {
    let store = ScriptedStore()
    var process = Process(store: store)
    process.need()
    store.failing = ["save", "mark"]
    process.answer(grant("a1", refreshToken: "r1"))
    process.refused(1)
    #expect(process.sent == ["first"])
    #expect(process.driver.machine.mustFinish)
    store.failing = []
    process.driver.pass(2_000)
    process.refused(1)
    #expect(process.sent == ["first", "r1"])
    process.answer(grant("a2", refreshToken: "r2"))
    #expect(store.record()?.refreshToken.map { text($0.bytes) } == "r2")
  }

  @Test("a record sealed with another key: nothing is tried, an operator is needed")
  func wrongKey() {
    let store = ScriptedStore()
    store.failing = ["key"]
    var process = Process(store: store)
    process.need()
    guard case .needsOperator? = process.failed.first else {
      Issue.record("no operator is asked for")
      return
    }
    #expect(process.sent.isEmpty)
  }

  @Test("an older record, as from a restored backup, does not bring an old token back")
  func olderRecord() {
    let store = KillableStore()
    var process = Process(store: store)
    process.need()
    process.answer(grant("a1", refreshToken: "r1"))
    let backup = store.records["api"]
    process.refused(1)
    process.answer(grant("a2", refreshToken: "r2"))
    store.records["api"] = backup
    process.refused(2)
    #expect(process.sent == ["first", "r1", "r2"])
    #expect(process.published == ["a1", "a2"])
  }
}

/// Locks that a test can break, as the kernel does when a process dies.
// SAFETY: one test, one thread.
final class KillableStore: TokenStore, @unchecked Sendable {
  var records: [String: TokenRecord] = [:]
  var locks: Set<String> = []
  let isShared = true

  func perform(_ request: TokenStoreRequest, for credential: String) -> TokenStoreAnswer {
    switch request {
    case .read: return locks.insert(credential).inserted ? .record(records[credential]) : .busy()
    case .confirm: return .record(records[credential])
    case .claim(let record):
      records[credential] = record
      return .claimed()
    case .save(let record), .note(let record):
      records[credential] = record
      return .saved
    case .putBack: return .released
    case .release:
      locks.remove(credential)
      return .released
    case .look: return .seen(records[credential], TokenStoreMark(values: []))
    }
  }
}
