import Testing
import WayOut

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
