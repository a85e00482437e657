import Testing

@testable import EventIO

@Suite struct YieldPolicyTests {
  @Test(arguments: [0, 20_000, 1_000_000] as [Int64])
  func `threads that are soon done go first again and again`(taken: Int64) {
    var policy = YieldPolicy()
    var now: Int64 = 5_000_000_000
    for _ in 0..<3 {
      #expect(policy.mayYield(at: now))
      policy.ended(at: now + taken, begun: now)
      now += taken
    }
    #expect(policy.mayYield(at: now))
  }

  @Test(arguments: [1_000_001, 4_000_000, 90_000_000] as [Int64])
  func `after one that took long, none goes first for a hundred times as long`(taken: Int64) {
    var policy = YieldPolicy()
    let end = 5_000_000_000 + taken
    policy.ended(at: end, begun: 5_000_000_000)
    #expect(!policy.mayYield(at: end))
    #expect(!policy.mayYield(at: end + taken * 100 - 1))
    #expect(policy.mayYield(at: end + taken * 100))
  }

  @Test func `a process that was stopped for an hour meanwhile yields again after a hundred seconds`() {
    var policy = YieldPolicy()
    let end: Int64 = 3_600_000_000_000
    policy.ended(at: end, begun: 0)
    #expect(!policy.mayYield(at: end + 99_999_999_999))
    #expect(policy.mayYield(at: end + 100_000_000_000))
  }
}
