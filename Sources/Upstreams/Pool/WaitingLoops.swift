import EventIO
import Synchronization

/// Loops whose requests wait for something that all loops share: first come, first served. Each is listed at most once.
struct WaitingLoops: ~Copyable, Sendable {
  private let loops = Mutex<[LoopExecutor]>([])
  /// The number of loops, read before the lock is taken. A loop gives something back before it reads this. A loop that waits
  /// tries once more after it is listed. Both are sequentially consistent, so at least one of the two sees the other.
  private let count = Atomic<Int>(0)

  func add(_ executor: LoopExecutor) {
    loops.withLock {
      guard !$0.contains(where: { $0 === executor }) else { return }
      $0.append(executor)
      count.store($0.count, ordering: .sequentiallyConsistent)
    }
  }

  /// Removes the first loop and returns it; nil: no loop waits.
  /// - Parameter own: is skipped.
  func next(otherThan own: LoopExecutor? = nil) -> LoopExecutor? {
    guard count.load(ordering: .sequentiallyConsistent) > 0 else { return nil }
    return loops.withLock {
      guard let index = $0.firstIndex(where: { $0 !== own }) else { return nil }
      count.store($0.count - 1, ordering: .sequentiallyConsistent)
      return $0.remove(at: index)
    }
  }

  var isEmpty: Bool { count.load(ordering: .sequentiallyConsistent) == 0 }

  /// Whether another loop waits. The own loop does not count: it may be listed although it got what it waited for.
  func hasOther(than own: LoopExecutor) -> Bool {
    guard count.load(ordering: .sequentiallyConsistent) > 0 else { return false }
    return loops.withLock { $0.contains { $0 !== own } }
  }
}

/// How long a loop has served its own requests while another loop waited for the same thing. Its own requests come first,
/// because a connection that moves to another loop costs a handshake; but not for more than `longest` nanoseconds.
struct OwnTurn {
  private static let longest: Int64 = 100_000_000
  private var since: Int64?

  /// - Parameter now: nanoseconds of the loop's clock.
  mutating func isOver(at now: Int64, othersWait: Bool) -> Bool {
    guard othersWait else {
      since = nil
      return false
    }
    guard let start = since else {
      since = now
      return false
    }
    guard now - start >= Self.longest else { return false }
    since = nil
    return true
  }
}

extension Atomic where Value == Int {
  /// Adds one, unless that would exceed `limit`; false if it would. The value never exceeds the limit, even for a moment:
  /// otherwise another loop would be refused a place that is free.
  func increment(upTo limit: Int) -> Bool {
    var seen = load(ordering: .sequentiallyConsistent)
    while seen < limit {
      let (done, original) = compareExchange(expected: seen, desired: seen + 1, ordering: .sequentiallyConsistent)
      if done { return true }
      seen = original
    }
    return false
  }
}
