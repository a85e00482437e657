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
    #expect(driver.note(driver.machine.reconfigure(policy, now: driver.now)).published.isEmpty)
    #expect(driver.machine.published?.version == 1)
    #expect(driver.need().need.version == 1)
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

  @Test("a stop cancels the fetch, releases the lock and leaves nothing in use")
  func stopped() {
    var ready = Driver()
    ready.makeReady()
    let quiet = ready.machine.stop(now: ready.now)
    #expect(quiet.cancelled.isEmpty && quiet.stored.isEmpty && quiet.fetches.isEmpty)
    #expect(ready.machine.state(now: ready.now) == .empty)
    var rotating = Driver(makePolicy(grant: .refreshToken(Secret("first"))))
    _ = rotating.need()
    _ = rotating.note(rotating.machine.storeAnswered(id: 1, .record(nil), now: rotating.now, wall: rotating.wall))
    _ = rotating.note(rotating.machine.storeAnswered(id: 1, .saved, now: rotating.now, wall: rotating.wall))
    let actions = rotating.machine.stop(now: rotating.now)
    #expect(actions.cancelled == [1])
    #expect(actions.stored == [.release])
    #expect(rotating.machine.state(now: rotating.now) == .empty)
    #expect(rotating.machine.tokenAnswer(id: 1, grant("late"), now: rotating.now, wall: 0).published.isEmpty)
  }

  @Test("a lock that arrives after its request is gone is released")
  func lateLock() {
    var driver = Driver(makePolicy(grant: .refreshToken(Secret("first"))))
    _ = driver.need()
    _ = driver.note(driver.machine.stop(now: driver.now))
    #expect(driver.machine.storeAnswered(id: 1, .record(nil), now: driver.now, wall: 0).stored == [.release])
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

  @Test("a refresh token in exchange delays the exit, other grants do not")
  func mustFinish() {
    var plain = Driver()
    _ = plain.need()
    #expect(!plain.machine.mustFinish)
    #expect(plain.machine.stop(now: plain.now).cancelled == [1])
    var rotating = Driver(makePolicy(grant: .refreshToken(Secret("first"))))
    _ = rotating.need()
    #expect(!rotating.machine.mustFinish)
    _ = rotating.machine.storeAnswered(id: 1, .record(nil), now: rotating.now, wall: 0)
    #expect(rotating.machine.mustFinish)
  }
}
