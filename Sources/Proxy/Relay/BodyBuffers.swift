import Synchronization

/// The memory for bodies that are kept, in the whole process (`limits.buffers`).
final class SharedBuffers: Sendable {
  private let used = Atomic<Int>(0)
  private let limit = Atomic<Int>(0)

  /// Bytes; the present configuration's.
  func bound(by limit: Int) { self.limit.store(limit, ordering: .relaxed) }

  /// False: nothing was taken.
  func take(_ count: Int) -> Bool {
    guard used.add(count, ordering: .relaxed).newValue <= limit.load(ordering: .relaxed) else {
      giveBack(count)
      return false
    }
    return true
  }

  func giveBack(_ count: Int) { used.subtract(count, ordering: .relaxed) }
}

/// One loop's share of it. The loop takes portions, so that its requests seldom meet other loops here.
final class LoopBuffers {
  /// Bytes.
  private static let portion = 64 << 10

  private let shared: SharedBuffers
  private var free = 0
  /// Bytes in bodies that were read whole before they were sent.
  private(set) var whole = 0

  init(_ shared: SharedBuffers) { self.shared = shared }

  deinit { shared.giveBack(free) }

  /// False: nothing was taken.
  func take(_ count: Int) -> Bool {
    if count <= free {
      free -= count
      return true
    }
    let missing = count - free
    if missing < Self.portion, shared.take(Self.portion) {
      free += Self.portion - count
      return true
    }
    guard shared.take(missing) else { return false }
    free = 0
    return true
  }

  func giveBack(_ count: Int) {
    free += count
    guard free > 2 * Self.portion else { return }
    shared.giveBack(free - Self.portion)
    free = Self.portion
  }

  func noteWhole(_ change: Int) { whole += change }
}
