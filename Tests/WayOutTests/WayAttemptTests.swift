import Testing
@testable import WayOut

struct WayAttemptTests {
  private static func hop(_ name: String) -> Hop { Hop(scheme: .http, host: name, port: 8080) }
  private let a = hop("a")
  private let b = hop("b")
  private let c = hop("c")

  /// Runs an attempt with these outcomes, one per try, at time 0.
  private func run(_ hops: [Hop?], _ outcomes: [WayAttempt.Outcome], _ health: inout WayHealth) -> (tried: [Int], failed: Int?)
  {
    var attempt = WayAttempt(hops, until: 1_000)
    var tried: [Int] = []
    var step: WayAttempt.Step? = attempt.start(&health, now: 0)
    for outcome in outcomes {
      guard case .tryWay(let index, _)? = step else { break }
      tried.append(index)
      step = attempt.ended(outcome, &health, now: 0, random: 0)
    }
    guard case .stop(let failed)? = step else { return (tried, nil) }
    return (tried, failed)
  }

  @Test func `the first way that is up is taken, and the next after a failure`() {
    var health = WayHealth()
    var (tried, failed) = run([a, b], [.connected], &health)
    #expect(tried == [0] && failed == nil)
    (tried, failed) = run([a, b], [.broken, .connected], &health)
    #expect(tried == [0, 1] && failed == nil)
    #expect(health.hopsThatAreDown == [a])
    (tried, failed) = run([a, b], [.connected], &health)
    #expect(tried == [1] && failed == nil)
  }

  @Test(arguments: [WayAttempt.Outcome.refused, .unusable])
  func `a refusal is final and blames nobody`(outcome: WayAttempt.Outcome) {
    var health = WayHealth()
    let (tried, failed) = run([a, b, nil], [outcome], &health)
    #expect(tried == [0] && failed == 0)
    #expect(health.hopsThatAreDown.isEmpty)
  }

  @Test func `a parent that did not reach the origin is not to blame, and the next way is tried`() {
    var health = WayHealth()
    let (tried, failed) = run([a, b], [.unreachable, .unreachable], &health)
    #expect(tried == [0, 1] && failed == 1)
    #expect(health.hopsThatAreDown.isEmpty)
  }

  @Test func `if all are down, all are tried in order`() {
    var health = WayHealth()
    for hop in [a, b, c] { health.broke(hop, now: 0, random: 0) }
    let (tried, failed) = run([b, a, c], [.broken, .broken, .broken], &health)
    #expect(tried == [0, 1, 2] && failed == 2)
  }

  @Test func `a way that is down comes after those that are up, each at most once`() {
    var health = WayHealth()
    health.broke(a, now: 0, random: 0)
    let (tried, failed) = run([a, b, c], [.broken, .broken, .broken], &health)
    #expect(tried == [1, 2, 0] && failed == 0)
  }

  @Test func `direct is tried where it is written, and is never down`() {
    var health = WayHealth()
    var (tried, failed) = run([a, nil], [.broken, .broken], &health)
    #expect(tried == [0, 1] && failed == 1)
    (tried, failed) = run([a, nil], [.connected], &health)
    #expect(tried == [1] && failed == nil)
    (tried, failed) = run([nil], [.broken], &health)
    #expect(tried == [0] && failed == 0)
  }

  @Test func `a preferred way is tried first while it is up, then the others in order`() {
    var health = WayHealth()
    var attempt = WayAttempt([a, b, c], until: 900)
    #expect(attempt.start(&health, now: 0, preferred: 1) == .tryWay(index: 1, until: 300))
    #expect(!attempt.isTrial && !attempt.isInDoubt)
    #expect(attempt.ended(.broken, &health, now: 100, random: 0) == .tryWay(index: 0, until: 500))
    attempt = WayAttempt([a, b, c], until: 900)
    #expect(attempt.start(&health, now: 0, preferred: 1) == .tryWay(index: 0, until: 300))
    attempt = WayAttempt([nil, b], until: 900)
    #expect(attempt.start(&health, now: 0, preferred: 0) == .tryWay(index: 0, until: 450))
  }

  @Test func `a try of a way that is down is in doubt, and a trial if it is the only one`() {
    var health = WayHealth()
    health.broke(a, now: 0, random: 0)
    health.broke(b, now: 0, random: 0)
    var attempt = WayAttempt([a, b], until: 900)
    _ = attempt.start(&health, now: 0)
    #expect(attempt.isInDoubt && !attempt.isTrial)
    let later = WayHealth.firstPause
    attempt = WayAttempt([a, b], until: later + 900)
    #expect(attempt.start(&health, now: later) == .tryWay(index: 0, until: later + 450))
    #expect(attempt.isInDoubt && attempt.isTrial)
    #expect(attempt.ended(.connected, &health, now: later, random: 0) == nil)
    #expect(health.isUp(a) && !attempt.isTrial)
  }

  @Test func `the same origin, reached or judged otherwise, has a health of its own`() {
    var health = WayHealth()
    func origin(_ manner: [UInt8]) -> Hop { Hop(scheme: .origin, host: "o", port: 443, manner: manner) }
    health.broke(origin([1]), now: 0, random: 0)
    #expect(!health.isUp(origin([1])) && health.isUp(origin([2])))
  }

  @Test func `each try gets an equal share of what is left`() {
    var health = WayHealth()
    var attempt = WayAttempt([a, b, c], until: 900)
    #expect(attempt.start(&health, now: 0) == .tryWay(index: 0, until: 300))
    // The first one ends early: the others have more.
    #expect(attempt.ended(.broken, &health, now: 100, random: 0) == .tryWay(index: 1, until: 500))
    #expect(attempt.ended(.broken, &health, now: 500, random: 0) == .tryWay(index: 2, until: 900))
    #expect(attempt.ended(.broken, &health, now: 900, random: 0) == .stop(failedIndex: 2))
  }

  private static let second: Int64 = 1_000_000_000

  /// The whole time, when the first of two ends, and what a time-up then means for the second.
  @Test(
    arguments: [
      // Half of an equal share is 0.25 s.
      (second, second / 2, WayAttempt.Outcome.broken), (second, second * 3 / 4, .broken),
      (second, second * 3 / 4 + 1, .unasked),
      // A second is enough for any.
      (10 * second, 9 * second, .broken), (10 * second, 9 * second + 1, .unasked), (4, 3, .broken), (4, 4, .unasked),
    ])
  func `a way that had little time is not to blame for its silence`(
    _ whole: Int64, _ first: Int64, _ expected: WayAttempt.Outcome
  ) {
    var health = WayHealth()
    var attempt = WayAttempt([a, b], until: whole)
    _ = attempt.start(&health, now: 0)
    #expect(attempt.timedOut(.broken) == .broken)
    guard case .tryWay(1, whole)? = attempt.ended(.broken, &health, now: first, random: 0) else {
      // No time is left at all: nothing was begun that could be blamed.
      return #expect(first == whole)
    }
    #expect(attempt.timedOut(.broken) == expected && attempt.timedOut(.unusable) == .unusable)
    _ = attempt.ended(attempt.timedOut(.broken), &health, now: whole, random: 0)
    #expect(health.isUp(b) == (expected == .unasked))
  }

  @Test func `a try whose share was large enough is to blame, however many there are`() {
    var health = WayHealth()
    for count in 1...8 {
      let hops = (0..<count).map { Self.hop("x\($0)") }
      var attempt = WayAttempt(hops, until: 2 * Self.second)
      var step: WayAttempt.Step? = attempt.start(&health, now: 0)
      while case .tryWay(_, let until)? = step {
        #expect(attempt.timedOut(.broken) == .broken)
        step = attempt.ended(.unreachable, &health, now: until, random: 0)
      }
      #expect(step == .stop(failedIndex: count - 1))
    }
  }

  @Test func `no try begins after the end`() {
    var health = WayHealth()
    var attempt = WayAttempt([a, b], until: 900)
    #expect(attempt.start(&health, now: 0) == .tryWay(index: 0, until: 450))
    #expect(attempt.ended(.broken, &health, now: 900, random: 0) == .stop(failedIndex: 0))
  }

  @Test func `a cancelled single try may be made by another connection`() {
    var health = WayHealth()
    health.broke(a, now: 0, random: 0)
    let due = WayHealth.firstPause
    var attempt = WayAttempt([a, b], until: due + 100)
    #expect(attempt.start(&health, now: due) == .tryWay(index: 0, until: due + 50))
    var second = WayAttempt([a, b], until: due + 100)
    #expect(second.start(&health, now: due) == .tryWay(index: 1, until: due + 50))
    attempt.cancel(&health)
    attempt.cancel(&health)
    var third = WayAttempt([a, b], until: due + 100)
    #expect(third.start(&health, now: due) == .tryWay(index: 0, until: due + 50))
  }

  @Test func `a single try that goes on keeps others away beyond its share, and no longer than it lasts`() {
    var health = WayHealth()
    health.broke(a, now: 0, random: 0)
    let due = WayHealth.firstPause
    var attempt = WayAttempt([a, b], until: due + 100)
    #expect(attempt.start(&health, now: due) == .tryWay(index: 0, until: due + 50))
    attempt.renew(&health, now: due, until: due + 300)
    // A share is not cut short.
    attempt.renew(&health, now: due, until: due + 200)
    #expect(!health.isWorthTrying(a, now: due + 299) && health.isWorthTrying(a, now: due + 300))
    guard case .single(let other)? = health.mayTry(a, now: due + 300, until: due + 400) else {
      Issue.record("nobody may try")
      return
    }
    // It is another one's now.
    attempt.renew(&health, now: due, until: due + 900)
    attempt.share(&health)
    #expect(!attempt.isTrial && health.hopsThatAreTried(at: due + 399) == [a] && health.isWorthTrying(a, now: due + 400))
    health.gaveUp(a, claim: other)
    #expect(attempt.ended(.connected, isLast: true, &health, now: due + 301, random: 0) == nil && health.isUp(a))
  }

  @Test func `a single try that was shared is single again, unless another one is`() {
    var health = WayHealth()
    health.broke(a, now: 0, random: 0)
    let due = WayHealth.firstPause
    var (first, second) = (WayAttempt([a, b], until: due + 100), WayAttempt([a, b], until: due + 100))
    _ = first.start(&health, now: due)
    first.share(&health)
    #expect(second.start(&health, now: due) == .tryWay(index: 0, until: due + 50))
    first.renew(&health, now: due, until: due + 50)
    #expect(!first.isTrial && second.isTrial)
    second.share(&health)
    first.renew(&health, now: due, until: due + 50)
    second.renew(&health, now: due, until: due + 50)
    #expect(first.isTrial && !second.isTrial)
    first.cancel(&health)
    second.cancel(&health)
    #expect(health.hopsThatAreTried(at: due).isEmpty && health.isWorthTrying(a, now: due))
  }

  @Test(arguments: [WayAttempt.Outcome.connected, .silent, .broken, .refused, .unreachable, .unasked, .unusable])
  func `the last try takes no other way from those who would try it`(outcome: WayAttempt.Outcome) {
    var health = WayHealth()
    health.broke(b, now: 0, random: 0)
    let due = WayHealth.firstPause
    var attempt = WayAttempt([a, b], until: due + 100)
    #expect(attempt.start(&health, now: due) == .tryWay(index: 0, until: due + 50))
    #expect(attempt.ended(outcome, isLast: true, &health, now: due, random: 0) == nil)
    #expect(health.hopsThatAreTried(at: due).isEmpty && health.isWorthTrying(b, now: due))
  }

  @Test func `a single try that is refused, or reaches no origin, shows that the hop is up`() {
    for outcome in [WayAttempt.Outcome.refused, .unreachable, .connected] {
      var health = WayHealth()
      health.broke(a, now: 0, random: 0)
      var attempt = WayAttempt([a], until: .max)
      _ = attempt.start(&health, now: WayHealth.firstPause)
      _ = attempt.ended(outcome, &health, now: WayHealth.firstPause, random: 0)
      #expect(health.isUp(a))
    }
  }

  @Test func `a parent that has served others does not go on doing so by keeping them waiting`() {
    var health = WayHealth()
    health.worked(a, now: 0)
    for now in stride(from: 0, to: 120, by: 10) as StrideTo<Int64> {
      var attempt = WayAttempt([a], until: .max)
      _ = attempt.start(&health, now: now * Self.second)
      _ = attempt.ended(.overdue, &health, now: now * Self.second, random: 0)
    }
    #expect(health.isUp(a) && health.hasWorkedLately(a, now: 59 * Self.second))
    #expect(!health.hasWorkedLately(a, now: 60 * Self.second))
  }

  @Test func `a connection whose hop is silent shows nothing, and keeps its claim until somebody reports`() throws {
    var health = WayHealth()
    health.broke(a, now: 0, random: 0)
    let due = WayHealth.firstPause
    var attempt = WayAttempt([a, b], until: due + 100)
    _ = attempt.start(&health, now: due)
    #expect(attempt.ended(.silent, &health, now: due, random: 0) == nil)
    #expect(!health.isUp(a) && !health.hasWorkedLately(a, now: due))
    attempt.cancel(&health)
    var other = WayAttempt([a, b], until: due + 100)
    #expect(other.start(&health, now: due) == .tryWay(index: 1, until: due + 50))
    health.gaveUp(a, claim: try #require(attempt.claim))
    var third = WayAttempt([a, b], until: due + 100)
    #expect(third.start(&health, now: due) == .tryWay(index: 0, until: due + 50))
  }
}
