/// The replacement of one entry, judged by states of the object. No I/O.
struct CompareAndSet: Sendable, Hashable {
  enum Verdict: Sendable, Hashable {
    /// Patch this state.
    case patch
    /// The entry is as wanted: an earlier attempt did it whose answer was lost.
    case stored
    /// The entry is another's.
    case conflict([UInt8]?)
    case unreadable
  }

  let key: String
  /// nil: there is none.
  let expected: [UInt8]?
  let new: [UInt8]

  func verdict(on object: SecretObject) -> Verdict {
    switch object.entry(key) {
    case .unreadable: .unreadable
    case .absent: expected == nil ? .patch : .conflict(nil)
    // Each sealing has its own nonce: nobody else writes these bytes.
    case .value(new): .stored
    case .value(let value): value == expected ? .patch : .conflict(value)
    }
  }

  /// Milliseconds before the object is read again after its state was another `conflicts` times. At once, until it gets crowded.
  /// - Parameter chance: from 0 up to 1.
  static func pause(afterConflicts conflicts: Int, chance: Double) -> Int64 {
    conflicts <= 3 ? 0 : Int64(chance * Double(min(conflicts, 20) * 10))
  }
}
