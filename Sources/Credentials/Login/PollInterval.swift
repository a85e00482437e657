/// How long a device waits between polls (RFC 8628 sections 3.2 and 3.5), in milliseconds.
struct PollInterval: Hashable {
  static let standard: Int64 = 5_000
  /// An hour: further doubling changes nothing, as codes expire earlier.
  static let longest: Int64 = 3_600_000

  private(set) var milliseconds: Int64

  /// - Parameter seconds: as the server said; nil or below 1 = 5 s.
  init(seconds: Int64?) {
    guard let seconds, seconds >= 1 else {
      milliseconds = Self.standard
      return
    }
    milliseconds = min(seconds, Self.longest / 1000) * 1000
  }

  /// slow_down: this and all later polls.
  mutating func slowDown() { milliseconds = min(milliseconds + 5_000, Self.longest) }

  /// A time-out, or a server that fails.
  mutating func backOff() { milliseconds = min(milliseconds * 2, Self.longest) }
}
