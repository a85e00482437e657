/// When the API server is asked next, after a failure or the end of a watch. Nanoseconds of a monotonic clock; chance comes from outside.
///
/// All processes of a fleet lose a watch at the same moment, so each picks its own from a window: 1 s, which is 2 ms for each of 500
/// processes, doubling to 30 s with each failure.
struct WatchPlan: Sendable, Hashable {
  static let second: Int64 = 1_000_000_000
  static let shortest = second
  static let longest = 30 * second
  /// Of a watch that is worth its connection.
  static let life = 5 * second
  /// A server may ask to wait; it does not stop a fleet for longer.
  static let longestWait = 60 * second

  private var window = Self.shortest
  private var planned = Int64.min
  private var lastAttempt: Int64?
  /// The server asked for quiet until then.
  private(set) var quietUntil = Int64.min

  mutating func began(now: Int64) { lastAttempt = now }

  /// A watch has ended, as each does in the end. One that did not live long counts as a failure.
  /// - Parameter lived: nanoseconds.
  mutating func ended(after lived: Int64, now: Int64, chance: Double) {
    guard lived >= Self.life else { return failed(now: now, chance: chance) }
    window = Self.shortest
    planned = now + Int64(Double(Self.shortest) * chance)
  }

  mutating func failed(now: Int64, chance: Double) {
    planned = now + window / 2 + Int64(Double(window / 2) * chance)
    window = min(window * 2, Self.longest)
  }

  /// - Parameter seconds: of Retry-After.
  mutating func quiet(_ seconds: Int64, now: Int64) {
    quietUntil = max(quietUntil, now + min(max(seconds, 0), Self.longestWait / Self.second) * Self.second)
  }

  /// When the next attempt is due.
  /// - Parameter isUrgent: a command waits, or a record is not saved: at most one attempt a second.
  func next(isUrgent: Bool) -> Int64 {
    let due = isUrgent ? min(planned, lastAttempt.map { $0 + Self.second } ?? Int64.min) : planned
    return max(due, quietUntil)
  }
}
