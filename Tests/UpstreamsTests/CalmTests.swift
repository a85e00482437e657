import Testing

@testable import Upstreams

@Suite struct CalmTests {
  private static let millisecond: Int64 = 1_000_000

  @Test func `the pause doubles from 100 ms to 10 s`() {
    var calm = Calm()
    var lengths: [Int64] = []
    var now: Int64 = 1_000_000_000_000
    for _ in 0..<9 {
      calm.begin(at: now)
      lengths.append((calm.until - now) / Self.millisecond)
      now = calm.until
    }
    #expect(lengths == [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000])
  }

  @Test func `connections that end with one cause count once`() {
    var calm = Calm()
    calm.begin(at: 1_000_000_000_000)
    let until = calm.until
    for step in 1..<100 { calm.begin(at: 1_000_000_000_000 + Int64(step) * Self.millisecond) }
    #expect(calm.until == until)
  }

  @Test func `it is short again when the last one is long past`() {
    var calm = Calm()
    var now: Int64 = 1_000_000_000_000
    for _ in 0..<5 {
      calm.begin(at: now)
      now = calm.until
    }
    now += 21_000_000_000
    calm.begin(at: now)
    #expect(calm.until - now == 100 * Self.millisecond)
  }
}
