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
  /// While the present try is a single one.
  private var watch: ClaimWatch?
  /// The next origin is chosen already.
  private var hasNext = false
  /// When the present try began, its share of the time ends, and all tries end, in nanoseconds of the loop's clock.
  private var began: Int64 = 0
  public private(set) var until: Int64 = 0
  public private(set) var end: Int64 = 0
  /// Nanoseconds that each origin has if none leaves some over.
  private var equalShare: Int64 = 0

  public init(_ list: OriginList, on upstreams: Upstreams) {
    self.list = list
    self.upstreams = upstreams
  }

  deinit { cancel() }

  /// From here on, this origin is tried first if it is up. Before the first choice.
  public func prefer(_ index: Int) {
    self.index = index
    hasChosen = true
  }

  private var loop: EventLoop { upstreams.loop }
  /// Nanoseconds that the present try may take.
  private var share: Int64 { max(until - loop.now, 0) }
  /// Nanoseconds for a connection of the present try. It may be lent to another request, for which what is left to this one says nothing:
  /// this one goes on after its share.
  public var timeToConnect: Int64 { max(share, equalShare) }
  /// The present try is the only one of an origin that is down: an old connection would prove nothing.
  public var isTrial: Bool { attempt?.isTrialForAll ?? false }

  /// The present try is the only one of an origin that is down, for all or for this request.
  public var isSingle: Bool { attempt?.isTrial ?? false }

  /// Keeps the single try for itself as long as the request is with the origin, which may be longer than its share of `connect`.
  public func keepSingle(while isWithOrigin: @escaping () -> Bool) {
    stopWatching()
    watch = ClaimWatch(on: loop) { [unowned self] in look(isWithOrigin()) }
  }

  private func look(_ isWithOrigin: Bool) {
    let now = loop.now
    upstreams.shared.health.withLock { health in
      if isWithOrigin {
        attempt?.renew(&health, now: now, until: now + ClaimWatch.lease)
      } else {
        attempt?.share(&health)
      }
    }
  }

  private func stopWatching() {
    watch?.stop(on: loop)
    watch = nil
  }

  /// Chooses the origin of the next attempt. A request that was sent before stays with its origin while that is up: a challenge is
  /// answered where it came from.
  /// - Parameters:
  ///   - limit: nanoseconds that all tries may take.
  ///   - witness: a hash of the client and what it asks for.
  public func choose(within limit: Int64, by witness: Int) {
    if hasNext {
      hasNext = false
      return
    }
    cancel()
    let now = loop.now
    end = now + limit
    equalShare = limit / Int64(list.origins.count)
    var attempt = WayAttempt(list.hops, until: end, by: WayHealth.Witness(witness))
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
    var outcome = ParentFailure.outcome(ofOriginBehind: error)
    if error.isTimeUp { outcome = attempt?.timedOut(outcome) ?? outcome }
    stopWatching()
    guard let step = ended(outcome, isLast: false), case .tryWay = step else {
      attempt = nil
      return false
    }
    follow(step)
    hasNext = true
    return true
  }

  /// The share of the present try is over.
  /// - Parameter pool: where the request waits for a connection.
  /// - Returns: why there is none; nil: the limit of connections is used up, and a request in line stays there.
  public func hung(_ pool: OriginPool) -> UpstreamError? { pool.hung(since: began) }

  /// The request was sent over a new connection, and had no answer. If it is sent again, and if others say the same, the next origin is
  /// tried first.
  public func broke() {
    conclude(.unanswered)
  }

  /// The origin answers.
  public func answered() {
    guard let attempt else { return }
    // Most answers say nothing new.
    if upstreams.shared.health.withLock({ attempt.isNews($0) }) { conclude(.connected) } else { finish() }
  }

  /// No more attempt is made.
  public func cancel() {
    if isSingle { upstreams.shared.health.withLock { attempt?.cancel(&$0) } }
    finish()
    hasNext = false
  }

  private func follow(_ step: WayAttempt.Step) {
    guard case .tryWay(let index, let until) = step else { return }
    self.index = index
    self.until = until
    began = loop.now
  }

  private func conclude(_ outcome: WayAttempt.Outcome) {
    _ = ended(outcome, isLast: true)
    finish()
  }

  private func finish() {
    attempt = nil
    stopWatching()
  }

  private func ended(_ outcome: WayAttempt.Outcome, isLast: Bool) -> WayAttempt.Step? {
    guard attempt != nil else { return nil }
    let (now, random) = (loop.now, UInt64.random(in: 0...UInt64.max))
    let (step, changes) = upstreams.shared.health.withLock { health in
      (attempt?.ended(outcome, isLast: isLast, &health, now: now, random: random), health.takeChanges())
    }
    upstreams.report(changes)
    return step
  }
}
