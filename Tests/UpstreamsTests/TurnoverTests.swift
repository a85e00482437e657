import Testing

@testable import Upstreams

@Suite struct TurnoverTests {
  /// - Parameters:
  ///   - freed: the turns in which a connection became free.
  ///   - now: the turn that asks.
  @Test(
    arguments: [
      (freed: [], now: 5, count: 0),
      (freed: [5], now: 5, count: 1),
      (freed: [5, 5, 5], now: 5, count: 3),
      (freed: [4, 4, 5], now: 5, count: 3),
      (freed: [4, 4], now: 5, count: 2),
      (freed: [3, 3], now: 5, count: 0),
      (freed: [3, 3, 5], now: 5, count: 1),
      (freed: [3, 4, 5], now: 5, count: 2),
      (freed: [3, 4, 5], now: 6, count: 1),
      (freed: [3, 4, 5], now: 7, count: 0),
      (freed: [1], now: 1_000_000, count: 0),
    ] as [(freed: [UInt64], now: UInt64, count: Int)])
  func `this turn and the one before count`(freed: [UInt64], now: UInt64, count: Int) {
    var turnover = Turnover()
    for turn in freed { turnover.note(in: turn) }
    #expect(turnover.freed(in: now) == count)
  }
}
