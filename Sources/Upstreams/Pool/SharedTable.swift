import Synchronization

/// One object per key for the whole process. The table owns its objects: a weak reference would make every retain and release of
/// them slow. When it has doubled it forgets those that nobody else owns, so that keys which come and go without bound (client
/// addresses) cost nothing in the end.
final class SharedTable<Key: Hashable & Sendable, Value: AnyObject & Sendable>: Sendable {
  private struct State {
    var entries: [Key: Value] = [:]
    var tidiedAt = 64

    // Whom nobody else owns nobody else finds while the table is locked. No copy of the dictionary may exist meanwhile: it would
    // own them all, too.

    mutating func tidy() {
      var kept: [Key: Value] = [:]
      var index = entries.startIndex
      while index != entries.endIndex {
        if !isKnownUniquelyReferenced(&entries.values[index]) { kept[entries[index].key] = entries[index].value }
        entries.formIndex(after: &index)
      }
      entries = kept
      tidiedAt = max(64, kept.count * 2)
    }

    mutating func isUsed(otherThan own: Value) -> Bool {
      var index = entries.startIndex
      while index != entries.endIndex {
        if entries[index].value !== own, !isKnownUniquelyReferenced(&entries.values[index]) { return true }
        entries.formIndex(after: &index)
      }
      return false
    }
  }
  private let state = Mutex(State())

  func value(of key: Key, make: () -> Value) -> Value {
    state.withLock {
      if let value = $0.entries[key] { return value }
      let value = make()
      $0.entries[key] = value
      if $0.entries.count > $0.tidiedAt { $0.tidy() }
      return value
    }
  }

  /// Whether anybody owns an object other than this one.
  func isUsed(otherThan own: Value) -> Bool {
    state.withLock { $0.isUsed(otherThan: own) }
  }

  /// Of objects in use, and of some that were.
  var count: Int { state.withLock { $0.entries.count } }
}
