import Credentials

/// How far the clocks of origins are from ours, as far as they matter: an origin that refuses a request and whose Date differs much sets
/// the clock for what is signed for it, and for nobody else.
public struct OriginClocks<Origin: Hashable & Sendable>: Sendable {
  /// Below a wildcard each host is an origin of its own.
  private static var maximumOrigins: Int { 1_024 }

  /// Seconds from which a difference matters.
  private let tolerance: Int64
  /// Seconds to add to our clock.
  private var offsets: [Origin: Int64] = [:]

  public init(tolerance: Int64) { self.tolerance = tolerance }

  /// Seconds to add to our clock.
  public func offset(of origin: Origin) -> Int64 { offsets.isEmpty ? 0 : offsets[origin] ?? 0 }

  /// Takes an answer's Date as the origin's clock, if it differs enough from what the refused request was signed with.
  /// - Parameter used: the offset that it was signed with.
  /// - Returns: whether another attempt would have a time that fits. Others may have corrected the clock since it was signed.
  public mutating func correct(_ reading: ClockReading, from origin: Origin, used: Int64) -> Bool {
    guard reading.differs(from: used, by: tolerance) else { return false }
    guard reading.differs(from: offset(of: origin), by: tolerance) else { return true }
    if offsets[origin] == nil, offsets.count >= Self.maximumOrigins { offsets.remove(at: offsets.startIndex) }
    offsets[origin] = reading.offset
    return true
  }
}
