import HTTP2
import Synchronization

/// The memory for bodies that are kept, in the whole process (`limits.buffers`).
final class SharedBuffers: Sendable {
  private let used = Atomic<Int>(0)
  private let limit = Atomic<Int>(0)

  /// Bytes; the present configuration's.
  func bound(by limit: Int) { self.limit.store(limit, ordering: .relaxed) }

  var bound: Int { limit.load(ordering: .relaxed) }
  /// Bytes in the hands of loops.
  var inUse: Int { used.load(ordering: .relaxed) }

  /// False: nothing was taken.
  func take(_ count: Int) -> Bool {
    var before = used.load(ordering: .relaxed)
    while before + count <= limit.load(ordering: .relaxed) {
      let (exchanged, original) = used.weakCompareExchange(expected: before, desired: before + count, ordering: .relaxed)
      if exchanged { return true }
      before = original
    }
    return false
  }

  func giveBack(_ count: Int) { used.subtract(count, ordering: .relaxed) }
}

/// One loop's share of it. The loop takes portions, so that its requests seldom meet other loops here.
final class LoopBuffers {
  /// Bytes.
  private static let portion = 64 << 10

  fileprivate let shared: SharedBuffers
  private var free = 0
  /// In the hands of requests. 0 when nothing is kept.
  private(set) var lent = 0
  /// Bytes in bodies that were read whole before they were sent.
  private(set) var whole = 0

  init(_ shared: SharedBuffers) { self.shared = shared }

  deinit { shared.giveBack(free) }

  /// Bytes of whole bodies that one client may have kept: others need some, too.
  var clientShare: Int { shared.bound / 8 * 7 }

  /// False: nothing was taken.
  @inline(__always)
  func take(_ count: Int) -> Bool {
    guard count <= free || takePortion(for: count) else { return false }
    free -= count
    lent += count
    return true
  }

  /// Makes `free` at least so large.
  private func takePortion(for count: Int) -> Bool {
    let missing = count - free
    if missing < Self.portion, shared.take(Self.portion) {
      free += Self.portion
      return true
    }
    guard shared.take(missing) else { return false }
    free = count
    return true
  }

  func giveBack(_ count: Int) {
    assert(count <= lent, "more was given back than was taken")
    lent -= count
    free += count
    guard free > 2 * Self.portion else { return }
    // A loop that keeps nothing needs no portion.
    let kept = lent == 0 ? 0 : Self.portion
    shared.giveBack(free - kept)
    free = kept
  }

  func noteWhole(_ change: Int) { whole += change }
}

/// Windows of HTTP/2 grow while there is enough for bodies: apps that stop reading hold what is in them.
extension LoopBuffers: WindowBudget {
  func takeForWindow(_ bytes: Int) -> Bool { shared.inUse + bytes <= shared.bound / 2 && take(bytes) }
  func giveBackFromWindow(_ bytes: Int) { giveBack(bytes) }
}
