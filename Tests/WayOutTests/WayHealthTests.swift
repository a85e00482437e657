import Testing
@testable import WayOut

struct WayHealthTests {
  private static let second: Int64 = 1_000_000_000
  private let hop = Hop(scheme: .http, host: "proxy.example", port: 8080)
  private let other = Hop(scheme: .https, host: "proxy.example", port: 8080)

  @Test func `a hop that broke is down for 5 s, then one connection tries it`() {
    var health = WayHealth()
    #expect(health.mayTry(hop, now: 0, until: 10) == .up)
    let wasUp = health.broke(hop, now: 0, random: 0)
    let again = health.broke(hop, now: 1, random: 0)
    #expect(wasUp && !again)
    #expect(!health.isUp(hop) && health.isUp(other) && health.hopsThatAreDown == [hop])
    let due = 5 * Self.second
    #expect(health.mayTry(hop, now: due - 1, until: due) == nil)
    guard case .single = health.mayTry(hop, now: due, until: due + 10) else {
      Issue.record("nobody may try")
      return
    }
    #expect(health.mayTry(hop, now: due + 9, until: due + 20) == nil)
    let wasDown = health.worked(hop)
    let isNews = health.worked(hop)
    #expect(wasDown && !isNews)
    #expect(health.mayTry(hop, now: due + 9, until: due + 20) == .up)
    #expect(health.takeChanges() == [.init(hop: hop, isUp: false), .init(hop: hop, isUp: true)])
    #expect(health.takeChanges().isEmpty)
  }

  @Test(
    arguments: [
      (1, 5), (2, 10), (3, 20), (4, 40), (5, 80), (6, 160), (7, 300), (8, 300), (200, 300),
    ] as [(Int, Int64)])
  func `the pause doubles up to 5 minutes, and jitter adds up to a quarter`(failures: Int, seconds: Int64) {
    for (random, most) in [(0, seconds * Self.second), (UInt64.max, seconds * Self.second * 5 / 4)] as [(UInt64, Int64)] {
      var health = WayHealth()
      var now: Int64 = 0
      for _ in 0..<(failures - 1) {
        health.broke(hop, now: now, random: 0)
        now += 300 * Self.second
      }
      health.broke(hop, now: now, random: random)
      #expect(health.mayTry(hop, now: now + seconds * Self.second - 1, until: .max) == nil)
      #expect(health.mayTry(hop, now: now + most, until: .max) != nil)
    }
  }

  @Test func `a crowd of failures counts as one`() {
    var health = WayHealth()
    for now in 0..<200 as Range<Int64> { health.broke(hop, now: now, random: 0) }
    #expect(health.mayTry(hop, now: 5 * Self.second, until: 6 * Self.second) != nil)
  }

  @Test func `a try that ends without a verdict, or not in time, leaves the hop to the next connection`() {
    var health = WayHealth()
    health.broke(hop, now: 0, random: 0)
    let due = 5 * Self.second
    guard case .single(let first) = health.mayTry(hop, now: due, until: due + 10) else {
      Issue.record("nobody may try")
      return
    }
    health.gaveUp(hop, claim: first)
    guard case .single(let second) = health.mayTry(hop, now: due + 1, until: due + 11) else {
      Issue.record("the try was not given back")
      return
    }
    // The first one's word counts no more.
    health.gaveUp(hop, claim: first)
    #expect(health.mayTry(hop, now: due + 2, until: .max) == nil)
    guard case .single = health.mayTry(hop, now: due + 11, until: due + 100) else {
      Issue.record("the try has no end")
      return
    }
    health.gaveUp(hop, claim: second)
    #expect(health.mayTry(hop, now: due + 12, until: .max) == nil)
  }

  @Test func `a failure without a claim does not free the claim of another connection`() {
    var health = WayHealth()
    health.broke(hop, now: 0, random: 0)
    let due = 5 * Self.second
    #expect(health.mayTry(hop, now: due, until: due + 100 * Self.second) != nil)
    health.broke(hop, now: due + 1, random: 0)
    #expect(health.mayTry(hop, now: due + 11 * Self.second, until: .max) == nil)
  }

  @Test func `what a reload drops is forgotten`() {
    var health = WayHealth()
    health.broke(hop, now: 0, random: 0)
    health.broke(other, now: 0, random: 0)
    health.keep(only: [other])
    #expect(health.hopsThatAreDown == [other])
    #expect(health.takeChanges() == [.init(hop: other, isUp: false)])
  }
}
