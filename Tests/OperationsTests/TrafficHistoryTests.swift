import Testing

@testable import Operations

@Suite struct TrafficHistoryTests {
  /// A history with one upstream, and its counter.
  private struct World {
    var counters = LoopCounters()
    var history: TrafficHistory
    let start: Int64

    init(start: Int64 = 1_000_000) {
      self.start = start
      history = TrafficHistory(now: start)
      counters.upstreams = [LoopCounters.Upstream(name: "a")]
    }

    mutating func add(_ count: UInt64, status: Int = 200, taking nanoseconds: Int64 = 3_000_000) {
      counters.upstreams[0].codes.add(status, count)
      for _ in 0..<count { counters.upstreams[0].duration.observe(nanoseconds) }
    }

    /// - Parameter seconds: since the start.
    mutating func sample(at seconds: Int64) { history.advance(to: TrafficCounts(counters), at: start + seconds) }
    func requests(_ span: TrafficHistory.Span = .minutes) -> [UInt64] { history.course(span).requests }
  }

  @Test func `what came in a slot stays in it, moves to the left, and leaves after five minutes`() {
    var world = World()
    world.add(7)
    world.sample(at: 10)
    world.add(2, status: 503)
    world.sample(at: 20)
    #expect(world.requests().suffix(3) == [7, 2, 0])
    #expect(world.history.course(.minutes).failures.suffix(3) == [0, 2, 0])
    for time in stride(from: 30, through: 290, by: 10) { world.sample(at: Int64(time)) }
    #expect(world.requests().first == 7)
    world.sample(at: 300)
    #expect(world.requests().reduce(0, +) == 2)
    world.sample(at: 310)
    #expect(world.requests().allSatisfy { $0 == 0 })
    #expect(world.requests(.hours).reduce(0, +) == 9)
  }

  @Test func `a history that begins later leaves out what was counted before`() {
    var world = World()
    world.add(1_000_000)
    world.history = TrafficHistory(from: TrafficCounts(world.counters), now: world.start + 5)
    world.add(3)
    world.sample(at: 8)
    #expect(world.requests().reduce(0, +) == 3 && world.requests().last == 3)
    #expect(world.history.windows(.hours).map(\.window.requests) == [3])
    #expect(world.history.windows(.minutes).map { $0.window.durations.reduce(0, +) } == [3])
  }

  @Test func `before the end of a slot its counts are there already, and count once`() {
    var world = World()
    for second in 1...9 {
      world.add(1)
      world.sample(at: Int64(second))
      #expect(world.requests().last == UInt64(second))
    }
    world.sample(at: 10)
    #expect(world.requests().suffix(2) == [9, 0])
  }

  @Test func `nothing is sampled in a pause: it is empty, and what was before it stays before it`() {
    var world = World()
    world.add(4)
    world.sample(at: 3)
    // The slot did not end before the pause.
    world.sample(at: 113)
    #expect(world.requests().reduce(0, +) == 4 && world.requests()[29 - 11] == 4)
    world.add(5)
    world.sample(at: 213)
    #expect(world.requests().last == 5 && world.requests().reduce(0, +) == 9)
    world.add(1)
    world.sample(at: 4 * 3_600)
    #expect(world.requests().reduce(0, +) == 1)
    #expect(world.requests(.hours).reduce(0, +) == 10)
    world.sample(at: 30 * 3_600)
    #expect(world.requests(.hours).allSatisfy { $0 == 0 })
  }

  @Test func `a machine that has just started has no time before it`() {
    var world = World(start: 0)
    world.add(3)
    world.sample(at: 12)
    #expect(world.requests().suffix(2) == [3, 0] && world.requests().count == 30)
  }

  @Test func `counters that wrap around go on`() {
    var world = World()
    for time in [5, 10] {
      world.counters.upstreams[0].codes.add(200, UInt64(UInt32.max) / 2)
      world.sample(at: Int64(time))
    }
    world.add(5)
    world.sample(at: 20)
    #expect(world.requests().suffix(2) == [5, 0])
  }

  @Test func `of two samples that overtake each other none counts twice`() {
    var world = World()
    world.add(3)
    let old = TrafficCounts(world.counters)
    world.add(2)
    world.sample(at: 4)
    world.history.advance(to: old, at: world.start + 5)
    #expect(world.requests().last == 5)
    world.sample(at: 10)
    #expect(world.requests().suffix(2) == [5, 0])
  }

  @Test func `a reload keeps the past of entries that stay, and gives none to those that come`() {
    var world = World()
    world.add(6)
    world.sample(at: 10)
    world.counters.upstreams = [
      LoopCounters.Upstream(name: "new", since: 2), world.counters.upstreams[0], LoopCounters.Upstream(name: "newer", since: 2),
    ]
    world.counters.upstreams[0].codes.add(404, 1)
    world.sample(at: 20)
    let windows = world.history.windows(.minutes)
    #expect(windows.map(\.name) == ["new", "a", "newer"])
    #expect(windows.map(\.window.requests) == [1, 6, 0])
    #expect(windows[0].window[.clientError] == 1)
    // It left and came back: another entry.
    world.counters.upstreams = [LoopCounters.Upstream(name: "a", since: 3)]
    world.sample(at: 30)
    #expect(world.history.windows(.minutes).map(\.window.requests) == [0])
  }

  @Test func `percentiles are of the span, and rates of the last seconds`() throws {
    var world = World()
    world.add(90, taking: 2_000_000)
    world.add(10, taking: 700_000_000)
    world.sample(at: 10)
    let window = try #require(world.history.windows(.minutes).first).window
    #expect(window.rate == 10)
    let median = try #require(window.percentile(0.5))
    #expect((0.001...0.0025).contains(median))
    #expect((0.5...1).contains(try #require(window.percentile(0.99))))
    for time in stride(from: 20, through: 400, by: 10) { world.sample(at: Int64(time)) }
    #expect(try #require(world.history.windows(.minutes).first).window.percentile(0.5) == nil)
    #expect(try #require(world.history.windows(.hours).first).window.percentile(0.5) == median)
    #expect(try #require(world.history.windows(.hours).first).window.rate == 0)
  }

  @Test func `loops that follow other configurations for a moment are summed by name`() {
    var (one, other) = (LoopCounters(), LoopCounters())
    one.upstreams = ["a", "b"].map { LoopCounters.Upstream(name: $0) }
    other.upstreams = ["b", "c", "d"].map { LoopCounters.Upstream(name: $0) }
    for index in 0..<2 { one.upstreams[index].codes.add(200, 1) }
    for index in 0..<3 { other.upstreams[index].codes.add(200, 10) }
    var sum = TrafficCounts()
    sum += TrafficCounts(one)
    sum += TrafficCounts(other)
    var history = TrafficHistory(now: 0)
    history.advance(to: sum, at: 1)
    #expect(history.windows(.minutes).map(\.name) == ["a", "b", "c", "d"])
    #expect(history.windows(.minutes).map(\.window.requests) == [1, 11, 10, 10])
  }

  @Test func `a thousand upstreams take less than a mebibyte`() {
    var counters = LoopCounters()
    counters.upstreams = (0..<1_000).map { LoopCounters.Upstream(name: "u\($0)") }
    var history = TrafficHistory(now: 0)
    for time in 1...10 { history.advance(to: TrafficCounts(counters), at: Int64(time) * 100) }
    #expect(history.size <= 1 << 20, "\(history.size)")
  }

  @Test(arguments: [0, 1, 2_047, 2_048, 4_097, 1_000_000, UInt32.max]) func `counts in two bytes lose at most a thousandth`(
    _ count: UInt32
  ) {
    let kept = Rough.decode(Rough.encode(count))
    #expect(kept <= count && Double(count - kept) <= Double(count) / 1_000)
    if count < 2_048 { #expect(kept == count) }
  }

  @Test func `a loop's load is that of the last seconds`() {
    var load = LoopLoad()
    let second: Int64 = 1_000_000_000
    #expect(load.shares([0, 0], at: 0) == [0, 0])
    #expect(load.shares([second, 0], at: 2 * second) == [0.5, 0])
    #expect(load.shares([second, 0], at: 3 * second)[0] < 0.4)
    #expect(load.shares([5 * second, second], at: 6 * second) == [1, 0.25])
    // Another number of loops cannot be compared.
    #expect(load.shares([0], at: 7 * second) == [0])
  }
}
