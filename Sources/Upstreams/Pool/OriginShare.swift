import EventIO
import Synchronization

/// What one client has of an origin's connections, counted over all loops: its exchanges under way, and its requests that stand
/// in a pool's line and so will get the next connections. Its requests beyond its share are held back and take no place in a
/// line, so that another client's request that comes later is served before them.
///
/// Owned by its limit's table; by whoever has a place of it, by pools that hold requests back, and by the client connection that
/// asked last.
final class OriginShare: Sendable {
  let origin: OriginIdentity
  let account: ClientAccount
  private let limitAddress: ObjectIdentifier
  /// Never read: while it is here no other limit can have the same address.
  private unowned let limit: OriginLimit
  private let taken = Atomic<Int>(0)
  private let waiting = WaitingLoops()

  init(of limit: OriginLimit, for account: ClientAccount) {
    self.limit = limit
    self.account = account
    limitAddress = ObjectIdentifier(limit)
    origin = limit.identity
  }

  @inline(__always)
  func belongs(to limit: OriginLimit) -> Bool { limitAddress == ObjectIdentifier(limit) }

  /// Takes a place, unless there would be more than `most`; how many that is says `OriginLimit.take(_:of:)`.
  @inline(__always)
  func take(upTo most: Int) -> Bool { taken.increment(upTo: most) }

  /// Does not tell who waits: see `wakeOne`.
  @inline(__always)
  func giveBack() { taken.subtract(1, ordering: .sequentiallyConsistent) }

  /// `executor`'s loop holds requests back. It must try to take a place once more after this.
  func wait(_ executor: LoopExecutor) { waiting.add(executor) }

  func isWaitedFor(byOtherThan executor: LoopExecutor) -> Bool { waiting.hasOther(than: executor) }

  /// A place was given back: tells one of the loops that hold requests of this client back.
  /// - Returns: whether there was one.
  @discardableResult
  func wakeOne(otherThan own: LoopExecutor? = nil) -> Bool {
    guard let next = waiting.next(otherThan: own) else { return false }
    next.call { loop in
      // They may have left meanwhile, and their pool with them.
      if let pool = Upstreams.of(loop).pool(holdingBackFor: self) { pool.shareFreed(self) } else { self.wakeOne() }
    }
    return true
  }
}
