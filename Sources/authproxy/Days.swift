import CSystem
import Trust

/// Dates, and their distance from today in days. All times are seconds since 1970.
enum Days {
  private static let day: Int64 = 86_400
  /// Long enough to roll out new pins.
  private static let near: Int64 = 30 * day

  private static var now: Int64 { csys_wall_clock() / 1_000_000_000 }

  /// Whether the time is in the near future.
  static func isNear(_ time: Int64) -> Bool { (0..<near).contains(time - now) }

  /// `2027-06-01`, UTC.
  static func date(_ time: Int64) -> String { String(UTCTime.text(time).prefix(10)) }

  /// `in 12 days`, `3 days ago`, `today`.
  static func distance(_ time: Int64) -> String {
    let days = (time - now) / day
    switch days {
    case 0: return "today"
    case 1: return "tomorrow"
    case -1: return "yesterday"
    default: return days > 0 ? "in \(days) days" : "\(-days) days ago"
    }
  }
}
