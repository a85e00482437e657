/// Memory beside answers and fetches that counts as the store's, for as long as this lives.
public final class HeldMemory: Sendable {
  private let store: CacheStore
  private let count: Int

  /// - Parameter count: bytes.
  /// - Returns: nil: no room.
  public init?(_ store: CacheStore, _ count: Int) {
    guard store.hold(count) else { return nil }
    self.store = store
    self.count = count
  }

  deinit { store.letGo(count) }
}

extension CacheStore {
  /// Memory that counts as the store's until `letGo`.
  /// - Returns: false: no room.
  public func hold(_ count: Int) -> Bool {
    guard reserve(count) else { return false }
    flying(count)
    return true
  }

  public func letGo(_ count: Int) {
    ledger.give(count)
    flying(-count)
  }
}
