/// How long the processes of a fleet take at most to read a record that has changed and that no request waits for. Until then they send a
/// token that its server may have revoked with the refresh.
public enum RecordSpread {
  /// Reading costs a store 0.03 ms (docs/fleet.md), so that a fleet that reads occupies one in sixteen of its milliseconds.
  static let readersPerMillisecond = 2
  /// A loop's timers tick in 16 ms: fewer would all read at the same tick.
  static let shortest: Int64 = 16
  static let longest: Int64 = 500

  /// - Parameter readers: nil: nobody counts them, so that they may be many.
  /// - Returns: 0: at once.
  public static func milliseconds(readers: Int?) -> Int64 {
    guard let readers else { return longest }
    let spread = Int64(max(readers, 0) / readersPerMillisecond)
    return spread < shortest ? 0 : min(spread, longest)
  }
}
