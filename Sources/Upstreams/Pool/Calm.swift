/// The pause before new connections to an origin that has asked for less. Times are nanoseconds of the loop's clock.
struct Calm {
  static let shortest: Int64 = 100_000_000
  static let longest: Int64 = 10_000_000_000

  private(set) var until: Int64 = 0
  private var length: Int64 = 0

  /// Doubles the pause, unless the last one is long past.
  mutating func begin(at now: Int64) {
    // Many connections end with the same cause.
    guard now >= until else { return }
    length = now - until > 2 * Self.longest ? Self.shortest : min(max(length * 2, Self.shortest), Self.longest)
    until = now + length
  }
}
