/// When the next attempt to connect is made. Times are nanoseconds of a monotonic clock, and chance comes from outside.
///
/// Members of a fleet lose their store at the same moment. If all came back at once, the store would be busy with their handshakes; so
/// each picks its moment from a window that grows with the fleet. A process that has a request waiting does not wait for that.
public struct RedisReconnection: Sendable {
  /// Of the window, per subscriber that the server counted.
  static let perSubscriber: Int64 = 2_000_000
  static let shortestWindow: Int64 = 200_000_000
  static let longestWindow: Int64 = 30_000_000_000
  /// Between two attempts, whoever waits.
  static let pause: Int64 = 1_000_000_000

  private var window = Self.shortestWindow
  private var lastAttempt: Int64?
  /// Earliest moment for an attempt that nobody waits for.
  private var planned = Int64.min

  /// The first attempt is due at once.
  public init() {}

  public mutating func began(now: Int64) { lastAttempt = now }

  /// The connection was ready.
  /// - Parameter subscribers: as the server counted them.
  public mutating func succeeded(subscribers: Int) {
    let wanted = Int64(clamping: subscribers).multipliedReportingOverflow(by: Self.perSubscriber)
    window = wanted.overflow ? Self.longestWindow : min(max(wanted.partialValue, Self.shortestWindow), Self.longestWindow)
  }

  /// A ready connection has ended.
  /// - Parameter chance: from 0 up to 1.
  public mutating func lost(now: Int64, chance: Double) { planned = now + Int64(Double(window) * chance) }

  /// An attempt has failed: half of the window is waited for surely, and the next window is twice as long.
  public mutating func failed(now: Int64, chance: Double) {
    planned = now + window / 2 + Int64(Double(window / 2) * chance)
    window = min(window * 2, Self.longestWindow)
  }

  /// When the next attempt is due.
  /// - Parameter isUrgent: a request waits, or a record is not saved.
  public func next(isUrgent: Bool) -> Int64 {
    guard isUrgent else { return planned }
    let earliest = lastAttempt.map { $0 + Self.pause } ?? Int64.min
    return min(planned, earliest)
  }
}
