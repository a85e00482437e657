/// Bounds frames that carry no byte of a message: SETTINGS, PING, PRIORITY, empty DATA, unknown ones, those of ended streams, and
/// WINDOW_UPDATE beyond what our own messages explain. Every frame is charged; what it turns out to carry is given back.
struct FrameBudget {
  /// Frames in `period`.
  static let capacity = 1000
  /// In ns.
  static let period: Int64 = 10_000_000_000
  /// What a stream or a frame with a byte of a message gives back, in either direction: the peer may answer it with WINDOW_UPDATE, and
  /// measure with PING.
  static let perMessage = 10

  private var left = capacity
  private var refilled: Int64

  /// - Parameter now: of any monotonic clock, in ns.
  init(now: Int64) { refilled = now }

  /// Charges frames before it is known what they carry, so that `left` may be below zero for a while.
  mutating func charge(_ frames: Int, now: Int64) {
    if now - refilled >= Self.period {
      refilled = now
      left = Self.capacity
    }
    left -= frames
  }

  /// A frame that belongs to a message, but has no byte of a body.
  mutating func excuse() { give(1) }

  /// A frame with bytes of a message, or a stream that begins.
  mutating func earn() { give(1 + Self.perMessage) }

  private mutating func give(_ frames: Int) { left = min(left + frames, Self.capacity) }

  /// Read it when all that was charged has been looked at.
  var isExhausted: Bool { left < 0 }
}
