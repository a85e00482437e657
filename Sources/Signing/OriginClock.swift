import HTTPWire

/// How far the clocks of origins are from ours, as far as they matter: an origin that refuses a request and whose Date differs much sets
/// the clock for what is signed for it, and for nobody else.
public struct OriginClocks<Origin: Hashable & Sendable>: Sendable {
  /// Below a wildcard each host is an origin of its own.
  private static var maximumOrigins: Int { 1_024 }
  /// 2020-01-01: a clock before it was never set.
  private static var earliest: Int64 { 1_577_836_800 }
  private static var largest: Int64 { 86_400 }

  /// Seconds from which a difference matters.
  private let tolerance: Int64
  /// Seconds to add to our clock.
  private var offsets: [Origin: Int64] = [:]

  public init(tolerance: Int64) { self.tolerance = tolerance }

  /// - Parameter now: seconds since 1970, by our clock.
  public func time(for origin: Origin, at now: Int64) -> Int64 { offsets.isEmpty ? now : now + (offsets[origin] ?? 0) }

  /// Seconds that were added; nil: none.
  public func offset(of origin: Origin) -> Int64? { offsets[origin] }

  /// Takes an answer's Date as the origin's clock, if it is one and differs enough from what was assumed.
  /// - Parameter now: seconds since 1970, by our clock, in the middle of the exchange.
  /// - Returns: whether another attempt would have another time.
  public mutating func correct(
    by head: borrowing ResponseHead, in bytes: UnsafeRawBufferPointer, from origin: Origin, at now: Int64
  )
    -> Bool
  {
    // With Age it is not the origin's clock, or not of now.
    guard head.contains(.date), !head.contains(.age), head.fields.count(of: .date) == 1, let field = head.fields.first(.date),
      let date = parseHTTPDate(field.value.bytes(in: bytes), now: now)
    else { return false }
    return correct(to: date, from: origin, at: now)
  }

  /// - Parameter date: seconds since 1970, by the origin's clock.
  public mutating func correct(to date: Int64, from origin: Origin, at now: Int64) -> Bool {
    let offset = date - now
    guard date >= Self.earliest, abs(offset) < Self.largest, abs(date - time(for: origin, at: now)) > tolerance else {
      return false
    }
    if offsets[origin] == nil, offsets.count >= Self.maximumOrigins { offsets.remove(at: offsets.startIndex) }
    offsets[origin] = offset
    return true
  }
}
