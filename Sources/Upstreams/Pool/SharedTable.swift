import Synchronization

/// One object per key for the whole process. The table owns its objects: a weak reference would slow down every retain and
/// release of them. Whenever it has doubled, it drops the objects that only it owns. So keys that come and go without bound
/// (client addresses) do not accumulate.
final class SharedTable<Key: Hashable & Sendable, Value: AnyObject & Sendable>: Sendable {
  private struct State {
    var entries: [Key: Value] = [:]
    var tidiedAt = 64

    // While the table is locked, an object that only the table owns can get no other owner. No copy of the dictionary may exist
    // meanwhile: it would own all objects, too.

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

  /// Whether an object other than this one has an owner besides the table.
  func isUsed(otherThan own: Value) -> Bool {
    state.withLock { $0.isUsed(otherThan: own) }
  }

  /// Number of objects, those included that the next tidying drops.
  var count: Int { state.withLock { $0.entries.count } }
}
