/// A Prometheus histogram of durations: counts by upper bound, and the sum.
struct Histogram: Sendable {
  /// Nanoseconds. From a cached response on loopback to the longest usual deadline.
  static let bounds: [Int64] = [
    1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000, 100_000_000, 250_000_000, 500_000_000, 1_000_000_000,
    2_500_000_000, 5_000_000_000, 10_000_000_000, 30_000_000_000, 60_000_000_000,
  ]
  /// The bounds in seconds, as text.
  static let labels = [
    "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "30", "60", "+Inf",
  ]

  /// One count per bound, and one for larger values; not cumulative. Empty before the first observation.
  private(set) var counts: [UInt64] = []
  /// Nanoseconds.
  private(set) var sum: Int64 = 0

  mutating func observe(_ nanoseconds: Int64) {
    if counts.isEmpty { counts = [UInt64](repeating: 0, count: Self.bounds.count + 1) }
    var index = 0
    while index < Self.bounds.count, nanoseconds > Self.bounds[index] { index += 1 }
    counts[index] += 1
    sum += max(nanoseconds, 0)
  }

  static func += (left: inout Histogram, right: Histogram) {
    left.sum += right.sum
    if left.counts.isEmpty {
      left.counts = right.counts
    } else {
      for index in right.counts.indices { left.counts[index] += right.counts[index] }
    }
  }
}

/// Counters by a label with few values. A linear search is enough: common labels are usually first.
struct Tally<Label: Sendable & Equatable>: Sendable {
  private(set) var entries: [(label: Label, count: UInt64)] = []

  mutating func add(_ label: Label, _ count: UInt64 = 1) {
    for index in entries.indices where entries[index].label == label {
      entries[index].count += count
      return
    }
    entries.append((label, count))
  }

  static func += (left: inout Tally, right: Tally) {
    for (label, count) in right.entries { left.add(label, count) }
  }
}
