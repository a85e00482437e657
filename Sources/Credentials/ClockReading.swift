/// Another clock, as an answer has told it: how far it is from ours.
public struct ClockReading: Sendable, Hashable {
  /// Seconds that it is ahead of ours, as of the middle of the exchange.
  public let offset: Int64
  /// Seconds. Nobody knows when in the exchange the clock was read, so that a slow answer tells less.
  public let uncertainty: Int64

  public init(offset: Int64, uncertainty: Int64 = 0) {
    self.offset = offset
    self.uncertainty = uncertainty
  }

  /// - Parameters:
  ///   - told: seconds since 1970, by the other clock.
  ///   - sent: when the request went out, by ours.
  ///   - received: when the answer came.
  public init(_ told: Int64, between sent: Int64, and received: Int64) {
    let sent = min(sent, received)
    self.init(offset: told - (sent + received) / 2, uncertainty: (received - sent + 1) / 2)
  }

  /// - Parameters:
  ///   - assumed: seconds that the other clock was thought to be ahead.
  ///   - tolerance: seconds of difference that do not matter.
  public func differs(from assumed: Int64, by tolerance: Int64) -> Bool { abs(offset - assumed) > tolerance + uncertainty }
}
