import Glibc

/// Formats times for people.
public enum UTCTime {
  /// `2027-06-01T00:00:00Z` for seconds since 1970.
  public static func text(_ seconds: Int64) -> String {
    var clock = time_t(seconds)
    var parts = tm()
    guard gmtime_r(&clock, &parts) != nil else { return "\(seconds)" }
    func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
      + "T\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))Z"
  }
}
