/// Bounds how many unfinished answers an app may reset, or make us reset (CVE-2023-44487, CVE-2025-8671).
struct ResetBucket {
  static let capacity: Int64 = 200
  /// A second.
  static let rate: Int64 = 20

  /// In billionths of a reset: a reset is one second's worth of ns times the rate.
  private var level = capacity * second
  private var last: Int64
  private static let second: Int64 = 1_000_000_000

  init(now: Int64) { last = now }

  /// Whether one more is within the bounds.
  mutating func take(now: Int64) -> Bool {
    let passed = min(max(now - last, 0), Self.capacity * Self.second)
    last = now
    level = min(level + passed * Self.rate, Self.capacity * Self.second)
    guard level >= Self.second else { return false }
    level -= Self.second
    return true
  }
}
