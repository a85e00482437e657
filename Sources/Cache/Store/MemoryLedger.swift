import Synchronization

/// Counts every byte that the store holds: bodies, heads, index, fetches in flight, and what is evicted but still being sent. Memory is
/// taken before it is allocated and given back when its last user is gone, so the sum is never over the limit.
public final class MemoryLedger: Sendable {
  private let total = Atomic<Int>(0)
  private let bound: Atomic<Int>

  init(limit: Int) { bound = Atomic(limit) }

  public var bytes: Int { total.load(ordering: .relaxed) }
  public var limit: Int { bound.load(ordering: .relaxed) }
  func set(limit: Int) { bound.store(limit, ordering: .relaxed) }

  /// - Returns: false: no room, and nothing was taken.
  func take(_ count: Int) -> Bool {
    var now = total.load(ordering: .relaxed)
    while now + count <= limit {
      let (isDone, found) = total.weakCompareExchange(expected: now, desired: now + count, ordering: .relaxed)
      if isDone { return true }
      now = found
    }
    return false
  }

  func give(_ count: Int) { total.subtract(count, ordering: .relaxed) }
}
