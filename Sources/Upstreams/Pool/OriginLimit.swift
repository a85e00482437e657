import EventIO
import Synchronization

/// How many connections an origin has in the whole process: one count for all loops. At the cap a request waits in line on its
/// loop; a freed place wakes another loop's line by message.
public final class OriginLimit: Sendable {
  let identity: OriginIdentity
  private let count = Atomic<Int>(0)
  private let waiting = WaitingLoops()

  /// By the address of the account, which its share owns.
  private let shares = SharedTable<ObjectIdentifier, OriginShare>()

  private let paused = Atomic<Int>(0)
  private let silence = Atomic<Int64>(0)

  init(_ identity: OriginIdentity) { self.identity = identity }

  /// Takes a place; false where all are taken.
  func take(of capacity: Int) -> Bool { count.increment(upTo: capacity) }

  /// Gives a place back and tells one of the loops that wait for it.
  func giveBack() {
    count.subtract(1, ordering: .sequentiallyConsistent)
    wakeOne()
  }

  /// `loop` has requests in line. Others with idle connections give one up.
  func wait(_ executor: LoopExecutor, in group: LoopGroup) {
    waiting.add(executor)
    let identity = identity
    for other in group.executors where other !== executor {
      other.call { Upstreams.of($0).existingPool(identity)?.surrenderIdle() }
    }
  }

  func wakeOne() {
    waiting.next()?.call { loop in
      // Its line may have dissolved meanwhile, and the pool with it.
      if let pool = Upstreams.of(loop).pool(wantingPlaceOf: self) { pool.placeFreed() } else { self.wakeOne() }
    }
  }

  /// The place of a connection that ends goes to another loop that waits, if there is one: given back, it would be taken by the
  /// own loop's line before the other one knew.
  func passOn(from own: LoopExecutor) -> Bool {
    guard let next = waiting.next(otherThan: own) else { return false }
    next.call { loop in
      if let pool = Upstreams.of(loop).pool(wantingPlaceOf: self) { pool.placePassedOn() } else { self.giveBack() }
    }
    return true
  }

  func isWaitedFor(byOtherThan executor: LoopExecutor) -> Bool { waiting.hasOther(than: executor) }
}

extension OriginLimit {
  func share(for account: ClientAccount) -> OriginShare {
    shares.value(of: ObjectIdentifier(account)) { OriginShare(of: self, for: account) }
  }

  /// Takes a place of a client's share; false where the client has all that it may have of `capacity` connections: seven eighths.
  /// The rest is never its own, whether another client waits now or not: slow uploads keep what they have for hours, so a place
  /// that is lent cannot be had back when another client comes. Of fewer than eight connections an eighth is less than one: a
  /// client that is alone has them all, and leaves one to the others while another has a connection open that asked this origin
  /// last. A single connection is had in turn.
  @inline(__always)
  func take(_ share: OriginShare, of capacity: Int) -> Bool {
    if capacity >= 8 { return share.take(upTo: capacity - (capacity + 7) / 8) }
    return takeOfFew(share, of: capacity)
  }

  private func takeOfFew(_ share: OriginShare, of capacity: Int) -> Bool {
    if capacity > 1, share.take(upTo: capacity - 1) { return true }
    return (capacity == 1 || !shares.isUsed(otherThan: share)) && share.take(upTo: capacity)
  }
}

extension OriginLimit {
  /// A refused answer that is too large to be copied keeps its connection while it is held: at most a tenth of them do.
  public func pause(of capacity: Int) -> Bool {
    guard paused.add(1, ordering: .relaxed).newValue <= max(capacity / 10, 1) else {
      resume()
      return false
    }
    return true
  }
  public func resume() { paused.subtract(1, ordering: .relaxed) }

  /// The origin did not answer `Expect: 100-continue`, or would not have it: it is not asked again before this time.
  public func noteSilence(until time: Int64) { silence.store(time, ordering: .relaxed) }
  public func isSilent(at now: Int64) -> Bool { now < silence.load(ordering: .relaxed) }
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
