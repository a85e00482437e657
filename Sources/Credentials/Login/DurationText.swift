/// Times for people.
enum DurationText {
  /// Rounded down to the largest unit of which there are at least two.
  static func of(_ seconds: Int64) -> String {
    for (unit, name) in [(86_400, "days"), (3_600, "hours"), (60, "minutes")] as [(Int64, String)] where seconds >= 2 * unit {
      return "\(seconds / unit) \(name)"
    }
    return seconds == 1 ? "1 second" : "\(max(0, seconds)) seconds"
  }
}
