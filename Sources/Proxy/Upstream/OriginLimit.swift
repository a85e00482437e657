import EventIO
import Synchronization

/// How many connections an origin has in the whole process: one count for all loops. At the cap a request waits in line on its
/// loop; a freed place wakes another loop's line by message.
final class OriginLimit: Sendable {
  let identity: OriginIdentity
  private let count = Atomic<Int>(0)
  private let waiting = Mutex<[LoopExecutor]>([])
  /// How many they are: looked at before the lock is taken.
  private let waiters = Atomic<Int>(0)

  private let paused = Atomic<Int>(0)
  private let silence = Atomic<Int64>(0)

  init(_ identity: OriginIdentity) { self.identity = identity }

  /// Takes a place; false where all are taken.
  func take(of capacity: Int) -> Bool {
    guard count.add(1, ordering: .relaxed).newValue <= capacity else {
      count.subtract(1, ordering: .relaxed)
      return false
    }
    return true
  }

  /// Gives a place back and tells one of the loops that wait for it.
  func giveBack() {
    count.subtract(1, ordering: .relaxed)
    wakeOne()
  }

  /// `loop` has requests in line. Others with idle connections give one up.
  func wait(_ executor: LoopExecutor, in group: LoopGroup) {
    waiting.withLock {
      guard !$0.contains(where: { $0 === executor }) else { return }
      $0.append(executor)
      waiters.store($0.count, ordering: .sequentiallyConsistent)
    }
    let identity = identity
    for other in group.executors where other !== executor {
      other.call { Worker.of($0).existingPool(identity)?.surrenderIdle() }
    }
  }

  func wakeOne() {
    let next: LoopExecutor? = waiting.withLock {
      guard !$0.isEmpty else { return nil }
      waiters.store($0.count - 1, ordering: .sequentiallyConsistent)
      return $0.removeFirst()
    }
    next?.call { loop in
      // Its line may have dissolved meanwhile, and the pool with it.
      if let pool = Worker.of(loop).pool(wantingPlaceOf: self) { pool.placeFreed() } else { self.wakeOne() }
    }
  }

  /// A loop that was served otherwise may still be on the list, so the own one says nothing.
  func isWaitedFor(byOtherThan executor: LoopExecutor) -> Bool {
    guard waiters.load(ordering: .sequentiallyConsistent) > 0 else { return false }
    return waiting.withLock { $0.contains { $0 !== executor } }
  }
}

extension OriginLimit {
  /// A refused answer that is too large to be copied keeps its connection while it is held: at most a tenth of them do.
  func pause(of capacity: Int) -> Bool {
    guard paused.add(1, ordering: .relaxed).newValue <= max(capacity / 10, 1) else {
      resume()
      return false
    }
    return true
  }
  func resume() { paused.subtract(1, ordering: .relaxed) }

  /// The origin did not answer `Expect: 100-continue`, or would not have it: it is not asked again before this time.
  func noteSilence(until time: Int64) { silence.store(time, ordering: .relaxed) }
  func isSilent(at now: Int64) -> Bool { now < silence.load(ordering: .relaxed) }
}

/// The limits by origin; they outlive snapshots, as connections do.
final class OriginLimits: Sendable {
  private struct Table {
    var limits: [OriginIdentity: Weak] = [:]
    var tidiedAt = 64
  }
  /// The pools own it: unlisted hosts come and go without bound.
  private struct Weak { weak var limit: OriginLimit? }
  private let table = Mutex(Table())

  func limit(for identity: OriginIdentity) -> OriginLimit {
    table.withLock {
      if let limit = $0.limits[identity]?.limit { return limit }
      let limit = OriginLimit(identity)
      $0.limits[identity] = Weak(limit: limit)
      if $0.limits.count > $0.tidiedAt {
        $0.limits = $0.limits.filter { $0.value.limit != nil }
        $0.tidiedAt = max(64, $0.limits.count * 2)
      }
      return limit
    }
  }
}
