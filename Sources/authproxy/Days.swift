import CSystem

/// Dates as far from today as people think of them. All times are seconds since 1970.
enum Days {
  /// Time enough to have a certificate made, or pins rolled out.
  private static let near: Int64 = 30 * day
  private static let day: Int64 = 86_400

  static var now: Int64 { csys_wall_clock() / 1_000_000_000 }
  static func isNear(_ time: Int64) -> Bool { time - now < near }

  /// `2027-06-01`, UTC.
  static func date(_ time: Int64) -> String {
    var clock = time_t(time)
    var parts = tm()
    gmtime_r(&clock, &parts)
    func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
  }

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
