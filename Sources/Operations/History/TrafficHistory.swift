/// Requests of each upstream over the last 5 minutes and 6 hours: a value, without clock and locks. With 1,000 upstreams it takes
/// less than 1 MiB.
struct TrafficHistory: Sendable {
  enum Span: String, Sendable, CaseIterable {
    case minutes = "5m"
    case hours = "6h"
    /// Seconds.
    var length: Int64 { self == .minutes ? 300 : 21_600 }
  }

  /// Seconds between two samples while there is traffic: the shortest slot.
  static let interval: Int64 = 10

  /// As of the last sample.
  private var totals: TrafficCounts
  private var statuses: [SlotRing]
  private var durations: [SlotRing]
  /// Monotonic seconds.
  private var sampled: Int64
  private let started: Int64

  /// - Parameters:
  ///   - counts: what they have counted up to now is no part of it.
  ///   - now: monotonic seconds.
  init(from counts: TrafficCounts = TrafficCounts(), now: Int64) {
    totals = counts
    let (classes, buckets) = (TrafficCounts.Class.allCases.count, TrafficCounts.buckets)
    statuses = [
      SlotRing(slots: 30, length: Self.interval, width: classes, base: counts.statuses, at: now),
      SlotRing(slots: 24, length: 900, width: classes, base: counts.statuses, at: now),
    ]
    // Percentiles are of the whole span, so that few slots are enough.
    durations = [
      SlotRing(slots: 5, length: 60, width: buckets, base: counts.durations, at: now),
      SlotRing(slots: 4, length: 5_400, width: buckets, base: counts.durations, at: now),
    ]
    (sampled, started) = (now, now)
  }

  /// Bytes.
  var size: Int { (statuses + durations).reduce(0) { $0 + $1.size } }

  /// Takes the counters as they are now. Is called within `interval` after each request.
  mutating func advance(to counts: TrafficCounts, at now: Int64) {
    if counts.series != totals.series { rearrange(counts.series) }
    var counts = counts
    counts.raise(to: totals)
    // What is new belongs to the slots that end now; after a pause, to those that begin.
    let ended = now - sampled > 2 * Self.interval ? totals : counts
    for index in statuses.indices {
      statuses[index].advance(after: ended.statuses, to: now)
      durations[index].advance(after: ended.durations, to: now)
    }
    totals = counts
    sampled = now
  }

  /// Follows a reload.
  private mutating func rearrange(_ next: [TrafficCounts.Series]) {
    let places = totals.places
    let former = next.map { places[$0] }
    for index in statuses.indices {
      statuses[index].rearrange(former)
      durations[index].rearrange(former)
    }
    totals = totals.rearranged(former, as: next)
  }

  // MARK: Reading

  /// One upstream over a span.
  struct Window: Sendable, Hashable {
    /// By `TrafficCounts.Class`.
    var statuses = [UInt64](repeating: 0, count: TrafficCounts.Class.allCases.count)
    /// By bucket of `Histogram`.
    var durations = [UInt64](repeating: 0, count: TrafficCounts.buckets)
    /// Requests a second in the last 10 to 20 seconds.
    var rate = 0.0

    var requests: UInt64 { statuses.reduce(0, +) }
    subscript(kind: TrafficCounts.Class) -> UInt64 { statuses[kind.rawValue] }

    /// Seconds within which this share of the requests ended, by linear interpolation in its bucket; nil: there were none.
    func percentile(_ share: Double) -> Double? {
      let count = durations.reduce(0, +)
      guard count > 0 else { return nil }
      let rank = share * Double(count)
      var below: UInt64 = 0
      for (index, bucket) in durations.enumerated() where bucket > 0 {
        defer { below += bucket }
        guard Double(below + bucket) >= rank else { continue }
        let low = index == 0 ? 0 : Double(Histogram.bounds[index - 1])
        // What took longer than the last bound has none.
        let high = index < Histogram.bounds.count ? Double(Histogram.bounds[index]) : low
        return (low + (high - low) * max(0, rank - Double(below)) / Double(bucket)) / 1e9
      }
      return nil
    }

    static func += (left: inout Window, right: Window) {
      for index in left.statuses.indices { left.statuses[index] += right.statuses[index] }
      for index in left.durations.indices { left.durations[index] += right.durations[index] }
      left.rate += right.rate
    }
  }

  /// Of each upstream, in the order of the counters.
  func windows(_ span: Span) -> [(name: String, window: Window)] {
    let ring = span == .minutes ? 0 : 1
    let (classes, buckets) = (TrafficCounts.Class.allCases.count, TrafficCounts.buckets)
    let statuses = statuses[ring].sums(totals: totals.statuses)
    let durations = durations[ring].sums(totals: totals.durations)
    let latest = self.statuses[0].latest(totals: totals.statuses)
    let seconds = Double(min(Self.interval + sampled % Self.interval, max(sampled - started, 1)))
    return totals.series.enumerated().map { index, series in
      var window = Window()
      window.statuses = Array(statuses[index * classes..<(index + 1) * classes])
      window.durations = Array(durations[index * buckets..<(index + 1) * buckets])
      window.rate = Double(latest[index * classes..<(index + 1) * classes].reduce(0, +)) / seconds
      return (series.name, window)
    }
  }

  /// Requests in each slot, and those of them that failed, from the oldest to the present one.
  struct Course: Sendable, Hashable {
    var requests: [UInt64] = []
    /// Status 5xx.
    var failures: [UInt64] = []
    /// Seconds of a slot.
    var slot: Int64
  }

  /// - Parameter upstream: nil: all together.
  func course(_ span: Span, of upstream: String? = nil) -> Course {
    let ring = statuses[span == .minutes ? 0 : 1]
    var course = Course(slot: ring.length)
    course.requests = [UInt64](repeating: 0, count: ring.slots)
    course.failures = course.requests
    var series = totals.series.indices
    if let upstream {
      guard let index = totals.series.firstIndex(where: { $0.name == upstream }) else { return course }
      series = index..<index + 1
    }
    ring.add(TrafficCounts.Class.allCases.map(\.rawValue), of: series, totals: totals.statuses, to: &course.requests)
    ring.add([TrafficCounts.Class.serverError.rawValue], of: series, totals: totals.statuses, to: &course.failures)
    return course
  }
}
