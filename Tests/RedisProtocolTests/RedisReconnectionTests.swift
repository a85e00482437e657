import RedisProtocol
import Testing

struct RedisReconnectionTests {
  private static let second: Int64 = 1_000_000_000

  @Test func `the first attempt is due at once`() {
    let plan = RedisReconnection()
    #expect(plan.next(isUrgent: false) <= 0)
    #expect(plan.next(isUrgent: true) <= 0)
  }

  /// 2 ms for each subscriber, between 0.2 s and 30 s.
  @Test(
    arguments: [
      (0, 0.2), (1, 0.2), (100, 0.2), (101, 0.202), (1_000, 2), (10_000, 20), (15_000, 30), (1_000_000, 30), (Int.max, 30),
    ] as [(Int, Double)])
  func `after a loss the fleet spreads over a window that grows with it`(subscribers: Int, seconds: Double) {
    var plan = RedisReconnection()
    plan.began(now: 0)
    plan.succeeded(subscribers: subscribers)
    let lost = 100 * Self.second
    for chance in [0, 0.25, 0.5, 0.999] {
      plan.lost(now: lost, chance: chance)
      #expect(abs(Double(plan.next(isUrgent: false) - lost) / 1e9 - seconds * chance) < 1e-6)
    }
  }

  @Test func `failures double the window up to 30 s, half of which is waited for surely`() {
    var plan = RedisReconnection()
    plan.succeeded(subscribers: 1)
    var windows: [Int64] = []
    for _ in 0..<10 {
      plan.failed(now: 0, chance: 0)
      windows.append(plan.next(isUrgent: false) * 2)
    }
    #expect(windows.map { $0 / 1_000_000 } == [200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000])
    plan.failed(now: 0, chance: 0.5)
    #expect(plan.next(isUrgent: false) == 22_500_000_000)
    // A connection makes it short again.
    plan.succeeded(subscribers: 1)
    plan.failed(now: 0, chance: 0)
    #expect(plan.next(isUrgent: false) == 100_000_000)
  }

  @Test func `who waits is served at once, but not twice a second`() {
    var plan = RedisReconnection()
    plan.began(now: 0)
    plan.succeeded(subscribers: 10_000)
    plan.lost(now: 100 * Self.second, chance: 0.9)
    #expect(plan.next(isUrgent: true) <= 100 * Self.second)
    plan.began(now: 100 * Self.second)
    plan.failed(now: 100 * Self.second + 5, chance: 0.9)
    #expect(plan.next(isUrgent: true) == 101 * Self.second)
    #expect(plan.next(isUrgent: false) == 119 * Self.second + 5)
  }

  @Test func `waiting is never later than not waiting`() {
    var plan = RedisReconnection()
    plan.began(now: 0)
    plan.succeeded(subscribers: 1)
    plan.lost(now: 10, chance: 0.1)
    #expect(plan.next(isUrgent: true) == plan.next(isUrgent: false))
  }
}

struct SentinelRoundTests {
  private let addresses = (1...3).map { RedisAddress.tcp(host: "s\($0).test", port: 26_379) }

  private func asked(_ round: inout SentinelRound, _ count: Int = 3) -> [RedisAddress] {
    (0..<count).compactMap { _ in round.ask() }
  }

  @Test func `each is asked once a round, in the order of the configuration`() {
    var round = SentinelRound(addresses)
    for _ in 0..<2 {
      round.begin()
      #expect(asked(&round) == addresses)
      #expect(round.ask() == nil)
    }
  }

  @Test func `the one that was right is asked first the next time`() {
    var round = SentinelRound(addresses)
    round.begin()
    _ = asked(&round, 2)
    round.wasRight()
    round.begin()
    #expect(asked(&round) == [addresses[1], addresses[0], addresses[2]])
  }

  @Test func `without Sentinels there is nothing to ask`() {
    var round = SentinelRound([])
    round.begin()
    #expect(round.ask() == nil)
    round.wasRight()
    #expect(round.ask() == nil)
  }
}
