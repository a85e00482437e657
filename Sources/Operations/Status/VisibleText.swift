/// Texts of strangers, for a terminal.
enum VisibleText {
  /// Replaces by `?` what is not visible ASCII: controls could move the cursor, and marks of direction could turn a line around.
  static func of(_ text: String) -> String {
    var bytes: [UInt8] = []
    for scalar in text.unicodeScalars {
      bytes.append((0x20...0x7e).contains(scalar.value) ? UInt8(scalar.value) : UInt8(ascii: "?"))
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// - Parameter text: visible ASCII.
  static func cut(_ text: String, to width: Int) -> String {
    guard text.count > width else { return text }
    return width > 3 ? text.prefix(width - 3) + "..." : String(text.prefix(max(0, width)))
  }

  /// `45 s`, `12 m`, `3 h 5 m`, `12 d 4 h`.
  static func span(_ seconds: Int64) -> String {
    switch seconds {
    case ..<60: "\(max(0, seconds)) s"
    case ..<3600: "\(seconds / 60) m"
    case ..<86_400: "\(seconds / 3600) h \(seconds % 3600 / 60) m"
    default: "\(seconds / 86_400) d \(seconds % 86_400 / 3600) h"
    }
  }

  /// `in 12 m`, `3 h 5 m ago`.
  static func distance(_ time: Int64, from now: Int64) -> String {
    let (distance, overflows) = time.subtractingReportingOverflow(now)
    guard !overflows, distance.magnitude < 1 << 40 else { return "?" }
    return distance >= 0 ? "in \(span(distance))" : "\(span(-distance)) ago"
  }
}
