/// When a loop lets the other threads of its processor go first (sched_yield). Those that were about to make descriptors ready take
/// microseconds. One that computes takes its whole time slice, while a loop that sleeps would be woken before: then the loop does not yield
/// again for a hundred times as long, a hundred seconds at most.
struct YieldPolicy {
  /// Nanoseconds.
  static let short: Int64 = 1_000_000
  static let pause: Int64 = 100
  /// Nanoseconds. A process that was stopped meanwhile, or its machine, has not been held up by other threads.
  static let longest: Int64 = 1_000_000_000

  private var resumes = Int64.min

  /// - Parameter now: nanoseconds of the monotonic clock, as all times here.
  func mayYield(at now: Int64) -> Bool { now >= resumes }

  mutating func ended(at now: Int64, begun: Int64) {
    let taken = now - begun
    if taken > Self.short { resumes = now + min(taken, Self.longest) * Self.pause }
  }
}
