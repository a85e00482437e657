import Testing

@testable import Credentials

@Suite("How long a fleet reads")
struct RecordSpreadTests {
  @Test(
    "half a millisecond for each process, at once if they are few, and half a second at most",
    arguments: [(nil, 500), (-1, 0), (0, 0), (3, 0), (31, 0), (32, 16), (100, 50), (1_000, 500), (10_000, 500), (.max, 500)]
      as [(Int?, Int64)])
  func spread(readers: Int?, milliseconds: Int64) {
    #expect(RecordSpread.milliseconds(readers: readers) == milliseconds)
  }
}
