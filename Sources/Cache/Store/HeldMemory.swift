/// Memory beside answers and fetches that counts as the store's, for as long as this lives.
public final class HeldMemory: Sendable {
  private let store: CacheStore
  private let count: Int

  /// - Parameter count: bytes.
  /// - Returns: nil: no room.
  public init?(_ store: CacheStore, _ count: Int) {
    guard store.reserve(count) else { return nil }
    store.flying(count)
    self.store = store
    self.count = count
  }

  deinit {
    store.ledger.give(count)
    store.flying(-count)
  }
}
