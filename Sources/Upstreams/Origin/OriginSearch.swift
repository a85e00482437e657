import EventIO
import WayOut

/// Which of an entry's several origins one request goes to: the next when one cannot be reached (`WayAttempt`).
///
/// An origin is reached when a connection to it is lent. That it works is known when it answers, as a process that hangs or crashes
/// still has a kernel that takes connections.
public final class OriginSearch {
  public let list: OriginList
  /// Lives as long as its loop, which never ends.
  unowned(unsafe) private let upstreams: Upstreams
  /// nil: none has begun, or its outcome is known.
  private var attempt: WayAttempt?
  /// Of the present attempt's origin.
  public private(set) var index = 0
  private var hasChosen = false
  /// The next origin is chosen already.
  private var hasNext = false
  /// When the present try began, its share of the time ends, and all tries end, in nanoseconds of the loop's clock.
  private var began: Int64 = 0
  public private(set) var until: Int64 = 0
  public private(set) var end: Int64 = 0

  public init(_ list: OriginList, on upstreams: Upstreams) {
    self.list = list
    self.upstreams = upstreams
  }

  /// From here on, this origin is tried first if it is up. Before the first choice.
  public func prefer(_ index: Int) {
    self.index = index
    hasChosen = true
  }

  private var loop: EventLoop { upstreams.loop }
  /// Nanoseconds that the present try may take.
  public var share: Int64 { max(until - loop.now, 0) }
  /// The present try is the only one of an origin that is down: an old connection would prove nothing.
  public var isTrial: Bool { attempt?.isTrial ?? false }

  /// Chooses the origin of the next attempt. A request that was sent before stays with its origin while that is up: a challenge is
  /// answered where it came from.
  /// - Parameter limit: nanoseconds that all tries may take.
  public func choose(within limit: Int64) {
    if hasNext {
      hasNext = false
      return
    }
    cancel()
    let now = loop.now
    end = now + limit
    var attempt = WayAttempt(list.hops, until: end)
    let step = upstreams.shared.health.withLock { health in
      attempt.start(&health, now: now, preferred: hasChosen ? index : nil)
    }
    self.attempt = attempt
    hasChosen = true
    follow(step)
  }

  /// The origin could not be reached, and no byte of the request was sent.
  /// - Returns: whether another one is to be tried; then `choose` gives it.
  public func failed(_ error: UpstreamError) -> Bool {
    guard let step = conclude(ParentFailure.outcome(ofOriginBehind: error)), case .tryWay = step else {
      attempt = nil
      return false
    }
    follow(step)
    hasNext = true
    return true
  }

  /// The share of the present try is over.
  /// - Parameter pool: where the request waits for a connection.
  /// - Returns: whether the origin is to blame. It is not if its limit of connections is used up: a request in line stays there.
  public func isUnreachable(_ pool: OriginPool) -> Bool { pool.hasHung(since: began) }

  /// The request was sent over a new connection, which ended without an answer. Others try the next origin first.
  public func broke() {
    _ = conclude(.broken)
    attempt = nil
  }

  /// The origin answers.
  public func answered() {
    guard let attempt else { return }
    // Most answers say nothing new.
    if attempt.isInDoubt { _ = conclude(.connected) }
    self.attempt = nil
  }

  /// No more attempt is made.
  public func cancel() {
    if isTrial { upstreams.shared.health.withLock { attempt?.cancel(&$0) } }
    attempt = nil
    hasNext = false
  }

  private func follow(_ step: WayAttempt.Step) {
    guard case .tryWay(let index, let until) = step else { return }
    self.index = index
    self.until = until
    began = loop.now
  }

  private func conclude(_ outcome: WayAttempt.Outcome) -> WayAttempt.Step? {
    guard attempt != nil else { return nil }
    let (now, random) = (loop.now, UInt64.random(in: 0...UInt64.max))
    let (step, changes) = upstreams.shared.health.withLock { health in
      (attempt?.ended(outcome, &health, now: now, random: random), health.takeChanges())
    }
    upstreams.report(changes)
    return step
  }
}
