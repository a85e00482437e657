import Testing
@testable import WayOut

/// Origins that take requests and do not answer: what one request says of them, and what several say.
struct WitnessTests {
  private static let second: Int64 = 1_000_000_000
  private let hop = Hop(scheme: .origin, host: "a", port: 443)
  private let next = Hop(scheme: .origin, host: "b", port: 443)
  private let one = WayHealth.Witness(1)
  private let two = WayHealth.Witness(2)
  private let three = WayHealth.Witness(3)

  /// Which of both origins a request goes to.
  private func index(_ health: inout WayHealth, _ witness: WayHealth.Witness, now: Int64 = 0) -> Int? {
    var attempt = WayAttempt([hop, next], until: now + Self.second, by: witness)
    guard case .tryWay(let index, _) = attempt.start(&health, now: now) else { return nil }
    attempt.cancel(&health)
    return index
  }

  @Test func `one witness says nothing to others, however often it asks`() {
    var health = WayHealth()
    for now in 0..<50 as Range<Int64> {
      let wasUp = health.broke(hop, by: one, now: now * Self.second, random: 0)
      #expect(!wasUp)
    }
    #expect(health.isUp(hop) && health.takeChanges().isEmpty)
    #expect(index(&health, one, now: 50 * Self.second) == 1 && index(&health, two, now: 50 * Self.second) == 0)
  }

  @Test func `another one that says the same makes it down for all at once`() {
    var health = WayHealth()
    health.broke(hop, by: one, now: 0, random: 0)
    let wasUp = health.broke(hop, by: two, now: 1, random: 0)
    #expect(wasUp && !health.isUp(hop) && health.takeChanges() == [.init(hop: hop, isUp: false)])
    for witness in [one, two, three] { #expect(index(&health, witness, now: 2) == 1) }
  }

  @Test func `an answer between shows that it works, but not for who had none`() {
    var health = WayHealth()
    for round in 0..<10 as Range<Int64> {
      health.broke(hop, by: round % 2 == 0 ? one : two, now: round, random: 0)
      #expect(health.isSuspected(hop))
      health.worked(hop, for: three, now: round)
      #expect(!health.isSuspected(hop))
    }
    #expect(health.isUp(hop))
    #expect(index(&health, one) == 1 && index(&health, two) == 1 && index(&health, three) == 0)
    health.worked(hop, for: two, now: 10)
    #expect(index(&health, one) == 1 && index(&health, two) == 0)
  }

  @Test func `one that cannot be connected is down for all at once`() {
    var health = WayHealth()
    let wasUp = health.broke(hop, now: 0, random: 0)
    #expect(wasUp && index(&health, one) == 1)
  }

  @Test func `for one witness the pause doubles, and one request tries, as for all`() {
    var health = WayHealth()
    health.broke(hop, by: one, now: 0, random: 0)
    let due = 5 * Self.second
    #expect(health.mayTry(hop, by: one, now: due - 1, until: .max) == nil)
    guard case .single(let claim)? = health.mayTry(hop, by: one, now: due, until: due + 10) else {
      Issue.record("it may not try")
      return
    }
    #expect(!claim.isOfAll && health.mayTry(hop, by: one, now: due + 1, until: .max) == nil)
    #expect(health.mayTry(hop, by: two, now: due + 1, until: .max) == .up)
    health.broke(hop, claim: claim, by: one, now: due + 2, random: 0)
    #expect(health.mayTry(hop, by: one, now: due + 2 + 10 * Self.second - 1, until: .max) == nil)
    guard case .single(let second)? = health.mayTry(hop, by: one, now: due + 2 + 10 * Self.second, until: .max) else {
      Issue.record("it may not try again")
      return
    }
    health.gaveUp(hop, claim: second)
    #expect(health.hopsThatAreTried(at: due + 2 + 10 * Self.second).isEmpty)
  }

  @Test func `a try without an answer keeps others from trying only when another one has none, too`() {
    var health = WayHealth()
    health.broke(hop, now: 0, random: 0)
    let due = 5 * Self.second
    for witness in [one, two] {
      guard case .single(let claim)? = health.mayTry(hop, by: witness, now: due, until: .max) else {
        Issue.record("it may not try")
        return
      }
      #expect(health.mayTry(hop, by: three, now: due, until: .max) == nil)
      health.broke(hop, claim: claim, by: witness, now: due, random: 0)
      #expect(health.mayTry(hop, by: witness, now: due, until: .max) == nil)
    }
    // One pause, whose end all wait for.
    #expect(health.mayTry(hop, by: three, now: due + 10 * Self.second - 1, until: .max) == nil)
    #expect(health.mayTry(hop, by: three, now: due + 10 * Self.second, until: .max) != nil)
  }

  @Test func `a failed connection ends the single try of a witness`() {
    var health = WayHealth()
    health.broke(hop, by: one, now: 0, random: 0)
    let due = 5 * Self.second
    guard case .single(let claim)? = health.mayTry(hop, by: one, now: due, until: .max) else {
      Issue.record("it may not try")
      return
    }
    health.broke(hop, claim: claim, now: due, random: 0)
    #expect(!health.isUp(hop) && health.hopsThatAreTried(at: due).isEmpty)
  }

  @Test func `what apps ask for does not fill the memory`() {
    var health = WayHealth()
    for number in 0..<5_000 {
      health.broke(hop, by: WayHealth.Witness(number), now: 0, random: 0)
      health.worked(hop, now: 0)
    }
    #expect(health.experiences <= 1024)
    health.keep(only: [])
    #expect(health.experiences == 0)
  }
}
