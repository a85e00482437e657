import EventIO
import Synchronization

/// Counts an origin's connections in the whole process, for all loops. At the limit, a request waits in the line of its loop. A
/// freed place wakes the line of another loop by message.
public final class OriginLimit: Sendable {
  let identity: OriginIdentity
  private let count = Atomic<Int>(0)
  private let waiting = WaitingLoops()

  /// Keyed by the address of the account, which its share owns.
  private let shares = SharedTable<ObjectIdentifier, OriginShare>()

  private let streams = Atomic<Bool>(false)
  private let paused = Atomic<Int>(0)
  private let silence = Atomic<Int64>(0)
  private let calm = Mutex(Calm())

  init(_ identity: OriginIdentity) { self.identity = identity }

  /// HTTP/2 has been offered to the origin: it may have several pools on a loop.
  var hasStreams: Bool { streams.load(ordering: .relaxed) }
  func noteStreams() { streams.store(true, ordering: .relaxed) }

  /// Takes a place; false if none is free.
  func take(of capacity: Int) -> Bool { count.increment(upTo: capacity) }

  /// Whether the next one who asks gets a place.
  func hasPlace(of capacity: Int) -> Bool { count.load(ordering: .relaxed) < capacity }

  /// Gives a place back and wakes one of the loops that wait for it.
  func giveBack() {
    count.subtract(1, ordering: .sequentiallyConsistent)
    wakeOne()
  }

  /// The loop of `executor` has requests in line. The other loops each close an idle connection to this origin.
  func wait(_ executor: LoopExecutor, in group: LoopGroup) {
    waiting.add(executor)
    for other in group.executors where other !== executor {
      other.call { Upstreams.of($0).surrenderIdle(of: self) }
    }
  }

  func wakeOne() {
    waiting.next()?.call { Upstreams.of($0).placeFreed(of: self) }
  }

  /// Passes the place of a connection that ends to another waiting loop. If the place were given back, this loop's own line
  /// would take it before the other loop knew.
  /// - Returns: false if no other loop waits.
  func passOn(from own: LoopExecutor) -> Bool {
    guard let next = waiting.next(otherThan: own) else { return false }
    next.call { Upstreams.of($0).placePassedOn(of: self) }
    return true
  }

  /// A loop waits. Each pool that wants a place has listed its loop.
  var isWaitedFor: Bool { !waiting.isEmpty }
  func isWaitedFor(byOtherThan executor: LoopExecutor) -> Bool { waiting.hasOther(than: executor) }
}

extension OriginLimit {
  func share(for account: ClientAccount) -> OriginShare {
    shares.value(of: ObjectIdentifier(account)) { OriginShare(of: self, for: account) }
  }

  /// Takes a place of a client's share, which is seven eighths of `capacity`; false if the client has used it up. The other
  /// eighth stays reserved even while no other client waits: slow uploads keep a connection for hours, so a place that was lent
  /// cannot be taken back for the next client. Below eight connections an eighth is less than one. Then a client may use all of
  /// them while it is alone. It leaves one free while another client has an open connection whose last request went to this
  /// origin. Clients take turns on a single connection.
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
  /// Counts a refused response that is too large to copy, and so keeps its connection while it is held. At most a tenth of the
  /// connections (but at least one) may be kept this way; false if they already are.
  public func pause(of capacity: Int) -> Bool {
    guard paused.add(1, ordering: .relaxed).newValue <= max(capacity / 10, 1) else {
      resume()
      return false
    }
    return true
  }
  public func resume() { paused.subtract(1, ordering: .relaxed) }

  /// The origin has asked for less (ENHANCE_YOUR_CALM): new connections wait.
  func backOff(at now: Int64) { calm.withLock { $0.begin(at: now) } }
  /// Until when, in nanoseconds of the loop's clock.
  var calmUntil: Int64 { hasStreams ? calm.withLock { $0.until } : 0 }

  /// The origin ignored or refused `Expect: 100-continue`. The proxy does not ask it again before `time`, in nanoseconds of the
  /// loop's clock.
  public func noteSilence(until time: Int64) { silence.store(time, ordering: .relaxed) }
  public func isSilent(at now: Int64) -> Bool { now < silence.load(ordering: .relaxed) }
}

/// The limits by origin. They outlive snapshots, as connections do.
final class OriginLimits: Sendable {
  private struct Table {
    var limits: [OriginIdentity: Weak] = [:]
    var tidiedAt = 64
  }
  /// Weak, because pools own the limits, and unlisted hosts come and go without bound.
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
