import Testing

@testable import Credentials

@Suite("A reload keeps what it does not change")
struct ReloadTests {
  @Test("an equal policy changes nothing, a fetch on its way goes on")
  func equal() {
    var driver = Driver()
    _ = driver.need()
    #expect(driver.note(driver.machine.reconfigure(makePolicy(), now: driver.now)).isEmpty)
    #expect(driver.answer(grant("one")).published.count == 1)
  }

  @Test(
    "other times, windows and secrets keep the token",
    arguments: [
      makePolicy(refreshBeforeExpiry: 1), makePolicy(window: .init(interval: 1, attempts: 1)),
      makePolicy(authentication: .post(secret: Secret("new"))),
    ])
  func kept(policy: OAuth2Policy) {
    var driver = Driver()
    driver.makeReady()
    #expect(!driver.machine.reconfigure(policy, now: driver.now).withdrawn)
    #expect(driver.need().need.version == 1)
  }

  @Test(
    "another client, endpoint, scope or parameter needs another token",
    arguments: [
      makePolicy(clientID: "other"), makePolicy(endpoint: .token(url: "https://other.example/token")),
      makePolicy(scope: "more"), makePolicy(parameters: ["audience": "x"]),
      makePolicy(grant: .password(username: "u", password: Secret("p"))),
    ])
  func dropped(policy: OAuth2Policy) {
    var driver = Driver()
    driver.makeReady()
    #expect(driver.note(driver.machine.reconfigure(policy, now: driver.now)).withdrawn)
    #expect(driver.need().need.isWait)
    #expect(driver.answer(grant("two")).published.first?.version == 2)
    #expect(driver.refused(1).decision.resent == 2)
  }

  @Test("a fetch for another client is cancelled, and those who wait get the new one's token")
  func cancelled() {
    var driver = Driver()
    _ = driver.need()
    let actions = driver.note(driver.machine.reconfigure(makePolicy(clientID: "other"), now: driver.now))
    #expect(actions.cancelled == [1])
    #expect(actions.fetches == [2])
    #expect(driver.machine.tokenAnswer(id: 1, grant("old"), now: driver.now, wall: 0).published.isEmpty)
    #expect(driver.answer(grant("new")).published.first?.version == 1)
  }

  @Test("a fetch that fails with the old secret says nothing about the new one")
  func outdatedFailure() {
    var driver = Driver(makePolicy(grant: .password(username: "u", password: Secret("old"))))
    _ = driver.need()
    _ = driver.note(
      driver.machine.reconfigure(makePolicy(grant: .password(username: "u", password: Secret("new"))), now: driver.now))
    let actions = driver.answer(refusal(.invalidGrant))
    #expect(actions.failedWaiters.isEmpty)
    #expect(actions.fetches == [2])
    #expect(driver.answer(grant("one")).published.count == 1)
  }

  @Test("a rotation on its way is saved also when its access token is of no use any more")
  func foreignRotation() {
    let old = makePolicy(grant: .refreshToken(Secret("first")))
    let new = makePolicy(grant: .refreshToken(Secret("first")), scope: "more")
    var driver = Driver(old)
    _ = driver.need()
    _ = driver.note(driver.machine.storeAnswered(id: 1, .locked(nil), now: driver.now, wall: driver.wall))
    _ = driver.note(driver.machine.storeAnswered(id: 1, .written, now: driver.now, wall: driver.wall))
    #expect(driver.note(driver.machine.reconfigure(new, now: driver.now)).cancelled.isEmpty)
    guard case .write(let record)? = driver.answer(grant("a1", refreshToken: "r1")).stored.first else {
      Issue.record("nothing was saved")
      return
    }
    #expect(text(record.refreshToken.bytes) == "r1" && record.accessToken == nil)
    let saved = driver.note(driver.machine.storeAnswered(id: 1, .written, now: driver.now, wall: driver.wall))
    #expect(saved.published.isEmpty)
    #expect(saved.stored == [.release, .lock])
    _ = driver.note(driver.machine.storeAnswered(id: 2, .locked(record), now: driver.now, wall: driver.wall))
    let marked = driver.note(driver.machine.storeAnswered(id: 2, .written, now: driver.now, wall: driver.wall))
    #expect(marked.fetchedWith == ["r1"])
  }

  @Test("a lock that comes when nobody waits for it any more is given back")
  func lateLock() {
    var driver = Driver(makePolicy(grant: .refreshToken(Secret("first"))))
    _ = driver.need()
    _ = driver.note(driver.machine.stop(now: driver.now))
    #expect(driver.machine.storeAnswered(id: 1, .locked(nil), now: driver.now, wall: 0).stored == [.release])
  }

  @Test("a retired credential serves those that began before, and fetches nothing ahead")
  func retired() {
    var driver = Driver()
    driver.makeReady()
    _ = driver.note(driver.machine.retire(now: driver.now))
    #expect(driver.wakeAt == nil)
    #expect(driver.need().need.version == 1)
    driver.pass(3_600_000)
    #expect(driver.need().need.isWait)
  }

  @Test("a refresh token on its way makes the end wait, other grants do not")
  func mustFinish() {
    var plain = Driver()
    _ = plain.need()
    #expect(!plain.machine.mustFinish)
    #expect(plain.machine.stop(now: plain.now).cancelled == [1])
    var rotating = Driver(makePolicy(grant: .refreshToken(Secret("first"))))
    _ = rotating.need()
    #expect(!rotating.machine.mustFinish)
    _ = rotating.machine.storeAnswered(id: 1, .locked(nil), now: rotating.now, wall: 0)
    #expect(rotating.machine.mustFinish)
  }
}
