import EventIO
import Synchronization

/// What one client uses of an origin's connections, counted over all loops: its exchanges in progress, and its requests in a
/// pool's line, which get the next connections. Requests beyond the share are held back. They take no place in a line, so a
/// later request of another client goes first.
///
/// Owned by its limit's table, by the holders of its places, by pools that hold requests back, and by the app connection that
/// asked last.
final class OriginShare: Sendable {
  let account: ClientAccount
  let limitAddress: ObjectIdentifier
  /// Never read. While this reference exists, no other limit can have the same address.
  private unowned let limit: OriginLimit
  private let taken = Atomic<Int>(0)
  private let waiting = WaitingLoops()

  init(of limit: OriginLimit, for account: ClientAccount) {
    self.limit = limit
    self.account = account
    limitAddress = ObjectIdentifier(limit)
  }

  @inline(__always)
  func belongs(to limit: OriginLimit) -> Bool { limitAddress == ObjectIdentifier(limit) }

  /// Takes a place, unless `most` are taken. `OriginLimit.take(_:of:)` says how many that is.
  @inline(__always)
  func take(upTo most: Int) -> Bool { taken.increment(upTo: most) }

  /// Wakes no loop: see `wakeOne`.
  @inline(__always)
  func giveBack() { taken.subtract(1, ordering: .sequentiallyConsistent) }

  /// Notes that the loop of `executor` holds requests back. That loop must try once more to take a place after this.
  func wait(_ executor: LoopExecutor) { waiting.add(executor) }

  func isWaitedFor(byOtherThan executor: LoopExecutor) -> Bool { waiting.hasOther(than: executor) }

  /// A place was given back: wakes one of the loops that hold back requests of this client.
  /// - Returns: false if no loop does.
  @discardableResult
  func wakeOne(otherThan own: LoopExecutor? = nil) -> Bool {
    guard let next = waiting.next(otherThan: own) else { return false }
    next.call { Upstreams.of($0).shareFreed(self) }
    return true
  }
}
