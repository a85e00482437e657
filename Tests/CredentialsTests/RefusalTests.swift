import Testing

@testable import Credentials

@Suite("A 401 is evidence, not proof")
struct RefusalTests {
  @Test("the current version refused: one refresh for all, then each is sent again")
  func currentVersion() {
    var driver = Driver()
    driver.makeReady()
    for number in 0..<100 { #expect(driver.refused(1, by: key("/\(number)")).decision.isWait) }
    #expect(driver.fetches.count == 2)
    #expect(driver.need().need.version == 1, "others go on with it meanwhile")
    let actions = driver.answer(grant("two"))
    #expect(actions.published.first?.version == 2)
    #expect(actions.released.isEmpty)
    #expect(actions.reports == [.refreshed(version: 2, expiry: driver.now + 3_600_000, byRefusal: true)])
  }

  @Test("an older version refused: sent again with the current one, no refresh")
  func olderVersion() {
    var driver = Driver()
    driver.makeReady()
    _ = driver.refused(1)
    _ = driver.answer(grant("two"))
    #expect(driver.refused(1).decision.resent == 2)
    #expect(driver.fetches.count == 2)
  }

  @Test("a refusal during an early refresh joins it")
  func joins() {
    var driver = Driver()
    driver.makeReady()
    _ = driver.wake()
    #expect(driver.refused(1).decision.isWait)
    #expect(driver.fetches.count == 2)
  }

  @Test("the second refusal is relayed as it came")
  func secondRefusal() {
    var driver = Driver()
    driver.makeReady()
    _ = driver.refused(1)
    _ = driver.answer(grant("two"))
    #expect(driver.refused(2, isRetry: true).decision.reason == .refusedAgain)
    #expect(driver.fetches.count == 2)
    #expect(driver.need().need.version == 2)
  }

  @Test("one bad path costs the others nothing: it is remembered, longer each time, and forgotten when it is accepted")
  func badPath() {
    var driver = Driver()
    driver.makeReady("t1")
    var version: UInt64 = 1
    for wait in [1_000, 2_000, 4_000, 8_000] as [Int64] {
      #expect(driver.refused(version, by: key("/bad")).decision.isWait)
      version += 1
      _ = driver.answer(grant("t\(version)"))
      #expect(driver.refused(version, by: key("/bad"), isRetry: true).decision.reason == .refusedAgain)
      #expect(!driver.machine.refusals.memory.isEmpty)
      driver.pass(wait - 1)
      #expect(driver.refused(version, by: key("/bad")).decision.reason == .remembered)
      #expect(driver.need().need.version == version)
      driver.pass(30_000)
    }
    driver.machine.accepted(key("/bad"))
    #expect(driver.machine.refusals.memory.isEmpty)
    _ = driver.refused(version, by: key("/bad"))
    _ = driver.answer(grant("last"))
    _ = driver.refused(version + 1, by: key("/bad"), isRetry: true)
    driver.pass(1_000)
    #expect(driver.refused(version + 1, by: key("/bad")).decision.isWait)
  }

  @Test("a path is not remembered for a token that was replaced while it was refused again")
  func replacedMeanwhile() {
    var driver = Driver()
    driver.makeReady()
    _ = driver.refused(1)
    _ = driver.answer(grant("two"))
    _ = driver.refused(2, by: key("/other"))
    _ = driver.answer(grant("three"))
    #expect(driver.refused(2, isRetry: true).decision.reason == .refusedAgain)
    #expect(driver.machine.refusals.memory.isEmpty)
    #expect(driver.refused(3).decision.isWait)
  }

  @Test("a remembered path does not affect other paths of the same client")
  func otherPath() {
    var driver = Driver()
    driver.makeReady()
    _ = driver.refused(1, by: key("/bad"))
    _ = driver.answer(grant("two"))
    _ = driver.refused(2, by: key("/bad"), isRetry: true)
    #expect(driver.refused(2, by: key("/good")).decision.isWait)
    #expect(driver.refused(2, by: key("/bad", client: "other")).decision.isWait)
    #expect(driver.refused(2, by: key("/bad")).decision.reason == .remembered)
  }

  @Test("refusals cause so many refreshes in an interval and no more; expiry is not counted")
  func refreshWindow() {
    var driver = Driver(makePolicy(window: .init(interval: 30_000, attempts: 3)))
    driver.makeReady("t1")
    for version in 1...3 as ClosedRange<UInt64> {
      #expect(driver.refused(version, by: key("/\(version)")).decision.isWait)
      _ = driver.answer(grant("t\(version + 1)"))
      driver.pass(1_000)
    }
    #expect(driver.refused(4, by: key("/4")).decision.reason == .windowUsedUp)
    #expect(driver.need().need.version == 4)
    _ = driver.wake()
    #expect(driver.machine.state(now: driver.now) == .refreshing(old: 4))
    _ = driver.answer(grant("t5"))
    #expect(driver.refused(5, by: key("/5")).decision.isWait, "the interval is over")
  }

  @Test("no attempts: refusals are always relayed")
  func closedWindow() {
    var driver = Driver(makePolicy(window: .init(interval: 30_000, attempts: 0)))
    driver.makeReady()
    #expect(driver.refused(1).decision.reason == .windowUsedUp)
  }

  @Test("a client whose refreshes were all useless leaves the last place of the window to others")
  func badClient() {
    var driver = Driver()
    driver.makeReady("t1")
    var version: UInt64 = 1
    for number in 0..<10 {
      guard driver.refused(version, by: key("/\(number)", client: "bad")).decision.isWait else { continue }
      version += 1
      _ = driver.answer(grant("t\(version)"))
      _ = driver.refused(version, by: key("/\(number)", client: "bad"), isRetry: true)
    }
    #expect(version == 5)
    #expect(driver.refused(version, by: key("/", client: "good")).decision.isWait)
  }

  @Test("the same token again: relayed, remembered, and the token stays in use with its new time")
  func sameToken() {
    var driver = Driver()
    driver.makeReady("one", lifetime: 600)
    driver.pass(60_000)
    #expect(driver.refused(1).decision.isWait)
    let actions = driver.answer(grant("one", lifetime: 600))
    #expect(actions.released == [.sameToken])
    #expect(actions.published.first?.version == 1)
    #expect(actions.published.first?.expiry == driver.now + 600_000)
    #expect(actions.reports == [.sameToken(byRefusal: true)])
    #expect(driver.refused(1).decision.reason == .remembered)
    #expect(driver.need().need.version == 1)
  }

  @Test("a refresh that fails: relayed, and the token stays in use")
  func failedRefresh() {
    var driver = Driver()
    driver.makeReady()
    _ = driver.refused(1)
    #expect(driver.answer(refusal(.invalidClient)).released == [.refreshFailed])
    #expect(driver.need().need.version == 1)
  }

  @Test("a version that has been replaced never comes back")
  func versionsGrow() {
    var driver = Driver()
    var seen: [UInt64] = []
    driver.makeReady("a")
    for token in ["b", "a", "b"] {
      _ = driver.refused(driver.machine.latestVersion, by: key(token + "\(seen.count)"))
      seen += driver.answer(grant(token)).published.map(\.version)
    }
    #expect(seen == [2, 3, 4])
    // The machine of another identity under the same name continues from there.
    var next = Driver(makePolicy(scope: "other"), after: driver.machine.lastVersion)
    _ = next.need()
    #expect(next.answer(grant("b")).published.map(\.version) == [5])
  }

  // MARK: the memory alone

  @Test("simultaneous refusals of one request count once")
  func simultaneous() {
    var memory = RefusalMemory()
    for _ in 0..<100 { memory.remember(key(), now: 0) }
    #expect(memory.remembered(key(), now: 999) == 1_000)
    #expect(memory.remembered(key(), now: 1_000) == nil)
  }

  @Test("the back-off stops growing at five minutes")
  func longest() {
    var memory = RefusalMemory()
    var now: Int64 = 0
    for _ in 0..<20 {
      memory.remember(key(), now: now)
      let until = memory.remembered(key(), now: now) ?? 0
      #expect(until - now <= 300_000)
      now = until
    }
    memory.remember(key(), now: now)
    #expect(memory.remembered(key(), now: now) == now + 300_000)
  }

  @Test("a client with many paths displaces only its own entries")
  func bounded() {
    var memory = RefusalMemory()
    memory.remember(key("/mine", client: "good"), now: 0)
    for number in 0..<10_000 { memory.remember(key("/\(number)", client: "bad"), now: 0) }
    #expect(memory.remembered(key("/mine", client: "good"), now: 1) != nil)
    let kept = (0..<10_000).count { memory.remembered(key("/\($0)", client: "bad"), now: 1) != nil }
    #expect(kept == RefusalMemory.entriesPerClient)
  }

  @Test("entry, client, method and path all tell requests apart")
  func keys() {
    var memory = RefusalMemory()
    memory.remember(key("/a"), now: 0)
    var others = [key("/a"), key("/a"), key("/b"), key("/a", client: "x")]
    others[0].entry = "other"
    others[1].method = "POST"
    for other in others { #expect(memory.remembered(other, now: 1) == nil) }
  }

  // MARK: static credentials

  private let fixed = CredentialPolicy(name: "fixed", kind: .bearer(token: Secret("old")))

  @Test("a refused static credential has its source read once; a change is sent again")
  func staticChanged() throws {
    var machine = try StaticCredentialMachine(fixed)
    let first = machine.refused(version: 1, by: key("/1"), isRetry: false, now: 0)
    let second = machine.refused(version: 1, by: key("/2"), isRetry: false, now: 0)
    #expect(first.decision.isWait && second.decision.isWait)
    guard case .readSource(let id)? = first.actions.first else {
      Issue.record("nothing was read")
      return
    }
    #expect(second.actions.isEmpty)
    #expect(machine.sourceRead(id: id + 1, .bearer(token: Secret("x")), now: 0).isEmpty)
    guard case .publish(let credential)? = machine.sourceRead(id: id, .bearer(token: Secret("new")), now: 0).first else {
      Issue.record("nothing was published")
      return
    }
    #expect(credential.version == 2)
    #expect(text(credential.line) == "Authorization: Bearer new\r\n")
    #expect(machine.refused(version: 1, by: key("/3"), isRetry: false, now: 0).decision.resent == 2)
    #expect(machine.refused(version: 2, by: key("/3"), isRetry: true, now: 0).decision.reason == .refusedAgain)
    #expect(machine.refused(version: 2, by: key("/3"), isRetry: false, now: 999).decision.reason == .remembered)
  }

  @Test(
    "a source that has not changed, or cannot be read or used: relayed",
    arguments: [.bearer(token: Secret("old")), nil, .bearer(token: Secret("a b"))] as [CredentialPolicy.Kind?])
  func staticUnchanged(kind: CredentialPolicy.Kind?) throws {
    var machine = try StaticCredentialMachine(fixed)
    _ = machine.refused(version: 1, by: key(), isRetry: false, now: 0)
    guard case .releaseRefused(.unchanged)? = machine.sourceRead(id: 1, kind, now: 0).first else {
      Issue.record("not released")
      return
    }
    #expect(machine.current.version == 1)
    #expect(machine.refused(version: 1, by: key(), isRetry: false, now: 500).decision.reason == .remembered)
  }

  @Test("a storm of refusals reads the source a few times only")
  func staticStorm() throws {
    var machine = try StaticCredentialMachine(fixed)
    var reads: [UInt64] = []
    for number in 0..<1000 {
      let result = machine.refused(version: 1, by: key("/\(number)"), isRetry: false, now: Int64(number))
      for case .readSource(let id) in result.actions {
        reads.append(id)
        _ = machine.sourceRead(id: id, .bearer(token: Secret("old")), now: Int64(number))
      }
    }
    #expect(reads.count == 4)
  }

  @Test("a reload that changes the value publishes it, one that does not is silent")
  func staticReload() throws {
    var machine = try StaticCredentialMachine(fixed)
    #expect(try machine.reconfigure(fixed).isEmpty)
    #expect(try machine.reconfigure(CredentialPolicy(name: "fixed", kind: .bearer(token: Secret("new")))).count == 1)
    #expect(machine.current.version == 2)
    #expect(throws: CredentialError.empty) {
      try machine.reconfigure(CredentialPolicy(name: "fixed", kind: .bearer(token: Secret([]))))
    }
  }
}
