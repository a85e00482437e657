/// Decides whether a refused exchange may be the fault of an actor's token, which all users share. Any user can have an
/// exchange refused, so a refusal alone has no credential refreshed. A value; times are monotonic milliseconds.
public struct ActorEvidence: Sendable {
  /// For so long after a success the actor's token is thought to be good.
  static let trusted: Int64 = 5_000
  /// Between two refreshes that refusals cause.
  static let interval: Int64 = 30_000

  /// The newest version with which an exchange has succeeded.
  private var good: (version: UInt64, at: Int64)?
  /// The last one that was blamed.
  private var blamed: (version: UInt64, at: Int64)?

  public init() {}

  /// An exchange with this version has succeeded.
  public mutating func succeeded(_ version: UInt64, now: Int64) {
    if version >= good?.version ?? 0 { good = (version, now) }
  }

  /// Whether to ask the actor's credential for another token after a refusal.
  /// - Parameter began: when the refused exchange began.
  public mutating func blames(_ version: UInt64, began: Int64, now: Int64) -> Bool {
    // There is a newer one already: nothing is refreshed.
    if let good, version < good.version { return true }
    if let blamed {
      // Exchanges that ran beside the one that was blamed join its refresh.
      if version < blamed.version || version == blamed.version && began <= blamed.at { return true }
      if now - blamed.at < Self.interval { return false }
    }
    if let good, good.version == version, now - good.at < Self.trusted { return false }
    blamed = (version, now)
    return true
  }
}
