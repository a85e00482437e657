import Testing

@testable import Credentials

@Suite("A credential's machine, state by state")
struct MachineTests {
  // MARK: empty

  @Test("empty: the first need starts the one fetch, all others wait for it, and all go on with what it brings")
  func singleFlight() {
    var driver = Driver()
    #expect(driver.machine.state(now: driver.now) == .empty)
    for _ in 0..<1000 { #expect(driver.need().need.isWait) }
    #expect(driver.fetches.count == 1)
    #expect(driver.machine.state(now: driver.now) == .refreshing(old: nil))
    let actions = driver.answer(grant("one"))
    #expect(actions.published.map { text($0.line) } == ["Authorization: Bearer one\r\n"])
    #expect(actions.published.first?.expiry == driver.now + 3_600_000)
    #expect(actions.failedWaiters.isEmpty && actions.released.isEmpty)
    #expect(driver.machine.state(now: driver.now) == .ready(version: 1))
    #expect(driver.need().need.version == 1)
    #expect(driver.fetches.count == 1)
  }

  @Test("empty: a timer and a stray answer change nothing")
  func emptyInputs() {
    var driver = Driver()
    #expect(driver.timer().isEmpty)
    #expect(driver.note(driver.machine.tokenAnswer(id: 1, grant("x"), now: driver.now, wall: 0)).published.isEmpty)
    #expect(driver.note(driver.machine.storeAnswered(id: 1, .saved, now: driver.now, wall: 0)).isEmpty)
    #expect(driver.machine.state(now: driver.now) == .empty)
  }

  @Test("empty: a refusal of a version from before starts a fetch, as there is nothing to send again")
  func emptyRefused() {
    var driver = Driver()
    #expect(driver.refused(0).decision.isWait)
    #expect(driver.fetches.count == 1)
    #expect(driver.answer(grant("one")).published.first?.version == 1)
  }

  // MARK: refreshing

  @Test("refreshing: a failure answers all waiters at once, with the time after which to try again")
  func failureAnswersAll() {
    var driver = Driver()
    for _ in 0..<10 { _ = driver.need() }
    let actions = driver.answer(.failed(.status(503)))
    #expect(actions.failedWaiters.count == 1)
    guard case .temporarily(let why, let wait)? = actions.failedWaiters.first else {
      Issue.record("not temporary")
      return
    }
    #expect(why == "the token server answered with status 503")
    #expect((500...1000).contains(wait))
    #expect(actions.failedWaiters.first?.retryAfterSeconds == 1)
    #expect(driver.machine.state(now: driver.now) == .failed(until: driver.now + wait))
  }

  @Test("refreshing: an answer to another fetch is ignored")
  func strangeAnswer() {
    var driver = Driver()
    _ = driver.need()
    let actions = driver.machine.tokenAnswer(id: 99, grant("x"), now: driver.now, wall: 0)
    #expect(actions.published.isEmpty)
    #expect(driver.machine.state(now: driver.now) == .refreshing(old: nil))
  }

  @Test("refreshing: a fetch that is never answered is cancelled, and its late answer is ignored")
  func lostFetch() {
    var driver = Driver()
    _ = driver.need()
    let id = driver.fetches[0]
    let actions = driver.wake() ?? []
    #expect(actions.cancelled == [id])
    #expect(actions.failedWaiters.count == 1)
    #expect(driver.machine.tokenAnswer(id: id, grant("late"), now: driver.now, wall: 0).published.isEmpty)
    guard case .failed = driver.machine.state(now: driver.now) else {
      Issue.record("not failed")
      return
    }
  }

  @Test("refreshing with an old token: requests go on with it, and a failure changes nothing for them")
  func oldTokenStaysInUse() {
    var driver = Driver()
    driver.makeReady()
    _ = driver.wake()
    #expect(driver.fetches.count == 2)
    #expect(driver.machine.state(now: driver.now) == .refreshing(old: 1))
    #expect(driver.need().need.version == 1)
    let actions = driver.answer(.failed(.timedOut))
    #expect(actions.failedWaiters.isEmpty && actions.published.isEmpty && actions.released.isEmpty)
    #expect(driver.machine.state(now: driver.now) == .ready(version: 1))
    #expect(driver.need().need.version == 1)
    #expect(driver.fetches.count == 2, "not before its back-off is over")
    _ = driver.wake()
    #expect(driver.fetches.count == 3)
    #expect(driver.answer(grant("two")).published.first?.version == 2)
  }

  @Test("refreshing: requests whose token ends meanwhile wait, and are answered by the failure")
  func expiresDuringRefresh() {
    var driver = Driver(makePolicy(refreshBeforeExpiry: 3_000))
    driver.makeReady(lifetime: 60)
    _ = driver.wake()
    driver.pass(3_000)
    #expect(driver.need().need.isWait)
    #expect(driver.answer(.failed(.timedOut)).failedWaiters.count == 1)
  }

  // MARK: ready

  @Test(
    "ready: the next token is fetched ahead, by the configured time or half the lifetime, with jitter",
    arguments: [(3600, 300_000, 300_000), (60, 300_000, 30_000), (5, 300_000, 2_500), (3600, 0, 0)] as [(Int64, Int, Int64)])
  func earlyRefresh(lifetime: Int64, before: Int, margin: Int64) throws {
    var times: Set<Int64> = []
    for seed in 0..<20 as Range<UInt64> {
      var driver = Driver(makePolicy(refreshBeforeExpiry: before), seed: seed)
      driver.makeReady(lifetime: lifetime)
      let credential = try #require(driver.machine.published)
      let ahead = credential.expiry - credential.refreshAt
      #expect(ahead <= margin && ahead >= margin * 4 / 5)
      if margin > 0 { #expect(driver.wakeAt == credential.refreshAt) }
      times.insert(ahead)
    }
    #expect(margin == 0 || times.count > 10)
  }

  @Test("ready: a need for a token that is due starts the refresh and goes on")
  func needWhenDue() {
    var driver = Driver()
    driver.makeReady()
    driver.now = driver.machine.published?.refreshAt ?? 0
    #expect(driver.need().need.version == 1)
    #expect(driver.fetches.count == 2)
  }

  @Test("ready: an expired token is never given out, also when the token server is down")
  func expiredIsNeverSent() {
    var driver = Driver()
    driver.makeReady(lifetime: 60)
    driver.pass(59_999)
    #expect(driver.need().need.version == 1)
    driver.pass(1)
    #expect(driver.need().need.isWait)
    #expect(driver.answer(.failed(.unreachable("connection refused"))).failedWaiters.count == 1)
    #expect(driver.need().need.unavailable != nil)
    #expect(driver.refused(1).decision.reason == .backingOff)
  }

  @Test("ready: the token's end alone makes it empty, or failed in a back-off; nothing is fetched for it")
  func tokenEnds() {
    var driver = Driver()
    driver.makeReady(lifetime: 60)
    let end = driver.now + 60_000
    #expect(driver.machine.state(now: end - 1) == .ready(version: 1))
    #expect(driver.machine.state(now: end) == .empty)
    #expect(driver.fetches.count == 1)
    driver.now = end - 10
    #expect(driver.refused(1).decision.isWait)
    _ = driver.answer(.failed(.status(500)))
    #expect(driver.machine.state(now: driver.now) == .ready(version: 1), "a back-off while the token is valid changes nothing")
    guard case .failed(let until) = driver.machine.state(now: end) else {
      Issue.record("not failed")
      return
    }
    #expect(until > end)
  }

  @Test("a missing lifetime is the configured one, counted from when the request went out")
  func defaultLifetime() {
    var driver = Driver()
    _ = driver.need()
    driver.pass(2_000)
    #expect(driver.answer(grant("one", lifetime: nil)).published.first?.expiry == driver.now - 2_000 + 3_600_000)
  }

  @Test("a token that is wanted ahead is fetched without a request, again after each failure, until there is one")
  func ahead() {
    var driver = Driver()
    let first = driver.note(driver.machine.ahead(now: driver.now))
    #expect(first.fetches.count == 1)
    for number in 2...4 {
      _ = driver.answer(.failed(.timedOut))
      let woken = driver.wake()
      #expect(woken?.fetches.count == 1)
      #expect(driver.fetches.count == number)
    }
    let last = driver.answer(grant("one"))
    #expect(last.published.count == 1)
  }

  @Test("a token that was dead before it arrived is a failure with a back-off")
  func expiredOnArrival() {
    var driver = Driver()
    _ = driver.need()
    driver.pass(1_000)
    let actions = driver.answer(grant("one", lifetime: 1))
    #expect(actions.published.isEmpty)
    #expect(actions.failedWaiters.count == 1)
  }

  @Test("tiny lifetimes never busy-loop: not without requests, and at most once a lifetime with them")
  func tinyLifetimes() {
    for lifetime in [1, 2, 3] as [Int64] {
      var driver = Driver()
      driver.makeReady("t0", lifetime: lifetime)
      let end = driver.now + 60_000
      while driver.now < end {
        driver.pass(10)
        if let wakeAt = driver.wakeAt, wakeAt <= driver.now { _ = driver.timer() }
        let before = driver.fetches.count
        _ = driver.need()
        if driver.fetches.count > before || driver.machine.flight != nil {
          _ = driver.answer(grant("t\(driver.fetches.count)", lifetime: lifetime))
        }
      }
      #expect(driver.fetches.count <= 62)
    }
    var idle = Driver()
    idle.makeReady(lifetime: 1)
    #expect(idle.wakeAt == nil)
  }

  // MARK: failed

  @Test("failed: the back-off doubles from a second to five minutes, with jitter, and ends with a success")
  func backOff() {
    var driver = Driver()
    for attempt in 0..<14 {
      #expect(driver.need().need.isWait)
      _ = driver.answer(.failed(.empty))
      guard case .failed(let until) = driver.machine.state(now: driver.now) else {
        Issue.record("not failed")
        return
      }
      let full: Int64 = min(300_000, 1_000 << Int64(attempt))
      #expect((full / 2...full).contains(until - driver.now))
      driver.now = until - 1
      let count = driver.fetches.count
      #expect(driver.need().need.unavailable?.retryAfterSeconds == 1)
      #expect(driver.fetches.count == count)
      driver.now = until
    }
    _ = driver.need()
    _ = driver.answer(grant("one", lifetime: 60))
    driver.pass(60_000)
    _ = driver.need()
    _ = driver.answer(.failed(.empty))
    guard case .failed(let until) = driver.machine.state(now: driver.now) else {
      Issue.record("not failed")
      return
    }
    #expect(until - driver.now <= 1_000)
  }

  @Test("failed: a refusal after the back-off starts a fetch, one before is relayed")
  func refusedAfterBackOff() {
    var driver = Driver()
    _ = driver.need()
    _ = driver.answer(.failed(.empty))
    guard case .failed(let until) = driver.machine.state(now: driver.now) else {
      Issue.record("not failed")
      return
    }
    driver.now = until - 1
    #expect(driver.refused(0).decision.reason == .backingOff)
    #expect(driver.fetches.count == 1)
    driver.now = until
    #expect(driver.refused(0).decision.isWait)
    #expect(driver.fetches.count == 2)
    #expect(driver.machine.state(now: driver.now) == .refreshing(old: nil))
  }

  @Test("failed: what the token server asks for is waited for, up to five minutes")
  func retryAfter() {
    for (asked, waited) in [(20_000, 20_000), (3_600_000, 300_000)] as [(Int64, Int64)] {
      var driver = Driver()
      _ = driver.need()
      _ = driver.answer(.failed(.status(429), retryAfter: asked))
      #expect(driver.machine.state(now: driver.now) == .failed(until: driver.now + waited))
    }
  }

  @Test("failed: without requests nothing is fetched")
  func failedIsQuiet() {
    var driver = Driver()
    _ = driver.need()
    _ = driver.answer(.failed(.timedOut))
    #expect(driver.wakeAt == nil)
  }

  @Test("failed: refusals in a back-off are relayed, and the token stays in use")
  func refusedInBackOff() {
    var driver = Driver()
    driver.makeReady()
    #expect(driver.refused(1).decision.isWait)
    #expect(driver.answer(.failed(.status(500))).released == [.refreshFailed])
    #expect(driver.refused(1, by: key("/other")).decision.reason == .backingOff)
    #expect(driver.need().need.version == 1)
  }

  // MARK: needsOperator

  static let lockedOut: [(OAuth2Policy.Grant, OAuthError.Code, Bool)] = [
    (.password(username: "u", password: Secret("p")), .invalidGrant, true),
    (.password(username: "u", password: Secret("p")), .invalidClient, false),
    (.clientCredentials, .invalidGrant, false),
    (.jwtBearer(.ready(Secret("j"))), .invalidGrant, false),
    (.clientCredentials, .invalidClient, false),
    (.clientCredentials, .invalidScope, false),
  ]

  @Test("needsOperator: only a refused password or refresh token stops the attempts, all else backs off", arguments: lockedOut)
  func stops(grant: OAuth2Policy.Grant, code: OAuthError.Code, stops: Bool) {
    var driver = Driver(makePolicy(grant: grant))
    _ = driver.need()
    let actions = driver.answer(refusal(code))
    if stops {
      #expect(actions.failedWaiters == [.needsOperator("the token server refused: \(code.rawValue)")])
      driver.pass(3_600_000)
      #expect(driver.need().need.unavailable == .needsOperator("the token server refused: \(code.rawValue)"))
      #expect(driver.refused(0).decision.reason == .needsOperator)
      #expect(driver.wakeAt == nil)
      #expect(driver.fetches.count == 1)
    } else {
      #expect(actions.failedWaiters.first?.retryAfterSeconds == 1)
      driver.pass(1_000)
      #expect(driver.need().need.isWait)
      #expect(driver.fetches.count == 2)
    }
  }

  @Test("needsOperator: a token that is still valid stays in use until it ends")
  func validTokenStays() {
    var driver = Driver(makePolicy(grant: .password(username: "u", password: Secret("p"))))
    driver.makeReady()
    _ = driver.wake()
    _ = driver.answer(refusal(.invalidGrant))
    #expect(driver.need().need.version == 1)
    #expect(driver.refused(1).decision.reason == .needsOperator)
    guard case .needsOperator(_, old: 1) = driver.machine.state(now: driver.now) else {
      Issue.record("not needsOperator with version 1")
      return
    }
    driver.pass(3_600_000)
    #expect(driver.need().need.unavailable != nil)
    #expect(driver.fetches.count == 2)
  }

  @Test("needsOperator: a changed secret ends it, the same configuration does not")
  func changedSecret() {
    let policy = makePolicy(grant: .password(username: "u", password: Secret("old")))
    var driver = Driver(policy)
    _ = driver.need()
    _ = driver.answer(refusal(.invalidGrant))
    _ = driver.note(driver.machine.reconfigure(policy, now: driver.now))
    #expect(driver.need().need.unavailable != nil)
    _ = driver.note(
      driver.machine.reconfigure(makePolicy(grant: .password(username: "u", password: Secret("new"))), now: driver.now))
    #expect(driver.machine.state(now: driver.now) == .empty)
    #expect(driver.need().need.isWait)
    #expect(driver.answer(grant("one")).published.first?.version == 1)
  }
}
