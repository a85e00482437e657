/// The answer of a source's server, before anything in it is believed.
public struct SourceReply: Sendable {
  public var status: Int
  /// Seconds of the Retry-After field.
  public var retryAfter: Int64?
  /// The Date field in Unix seconds; nil if there is none, or if an Age field shows that a cache answered.
  public var date: Int64?
  /// The Metadata-Flavor field.
  public var metadataFlavor: String?
  public var body: [UInt8]

  public init(
    status: Int, retryAfter: Int64? = nil, date: Int64? = nil, metadataFlavor: String? = nil, body: [UInt8]
  ) {
    self.status = status
    self.retryAfter = retryAfter
    self.date = date
    self.metadataFlavor = metadataFlavor
    self.body = body
  }

  /// 2020-01-01. A machine without a battery answers with 1970.
  private static let earliest: Int64 = 1_577_836_800
  private static let farthest: Int64 = 86_400

  /// Seconds that the server's clock is ahead of ours, as far as its Date can be believed.
  func clockOffset(at wall: Int64) -> Int64? {
    guard let date, date >= Self.earliest, abs(date - wall) < Self.farthest else { return nil }
    return date - wall
  }

  /// Unix seconds by the server's clock, which also named the time at which a token expires; otherwise by ours.
  func time(at wall: Int64) -> Int64 { wall + (clockOffset(at: wall) ?? 0) }

  /// Milliseconds: a day.
  static let longestWait: Int64 = 86_400_000

  /// Milliseconds.
  var wait: Int64? { retryAfter.map { max(0, min($0, Self.longestWait / 1000)) * 1000 } }
}
