/// How the dashboard writes figures.
enum Figure {
  /// `0`, `0.3`, `12`, `3.4k`.
  static func rate(_ value: Double) -> String {
    switch value {
    case ..<0.05: value > 0 ? "<0.1" : "0"
    case ..<9.95: tenths(value)
    default: count(UInt64(min(value, 1e15).rounded()))
    }
  }

  /// `950`, `12.3k`, `4.1M`, `2.0G`.
  static func count(_ value: UInt64) -> String {
    switch value {
    case ..<10_000: "\(value)"
    case ..<1_000_000: tenths(Double(value) / 1e3) + "k"
    case ..<1_000_000_000: tenths(Double(value) / 1e6) + "M"
    default: tenths(Double(value) / 1e9) + "G"
    }
  }

  /// `0.8 ms`, `12 ms`, `1.3 s`; nil: `–`.
  static func duration(_ seconds: Double?) -> String {
    guard let seconds else { return "–" }
    switch seconds {
    case ..<0.00995: return tenths(seconds * 1e3) + " ms"
    case ..<0.9995: return "\(Int((seconds * 1e3).rounded())) ms"
    default: return tenths(seconds) + " s"
    }
  }

  /// `12 %`, `<1 %`.
  static func percent(_ share: Double) -> String {
    let percent = Int((share * 100).rounded())
    return percent == 0 && share > 0 ? "<1 %" : "\(percent) %"
  }

  static func bytes(_ count: Int) -> String {
    count < 1 << 20
      ? "\(count >> 10) KiB" : count < 10 << 20 ? tenths(Double(count) / 1_048_576) + " MiB" : "\(count >> 20) MiB"
  }

  /// `21:04:09`, in UTC.
  static func clock(_ seconds: Int64) -> String {
    let second = ((seconds % 86_400) + 86_400) % 86_400
    func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
    return "\(two(second / 3600)):\(two(second / 60 % 60)):\(two(second % 60))"
  }

  private static func tenths(_ value: Double) -> String {
    let tenths = Int64((value * 10).rounded())
    return "\(tenths / 10).\(tenths % 10)"
  }
}
