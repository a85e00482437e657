/// Says what one connection tries next: in which order, for how long, and when it stops. All times are nanoseconds of the clock
/// that `WayHealth` uses.
///
/// It first takes the ways that are up, in the order of preference. When none of these is left, the others are tried as well, in
/// order: a way that might work is better than a certain failure. It tries each way at most once.
public struct WayAttempt: Sendable {
  public enum Outcome: Sendable, Hashable {
    /// There is a connection to the origin.
    case connected
    /// There is a connection to the hop, which has not said anything yet: what comes of the first request will tell.
    case silent
    /// The hop failed: its name, TCP, TLS, greeting or answer. It is down from now on.
    case broken
    /// One of several origins took the request and gave no answer. It is down for whoever asks that again.
    case unanswered
    /// The hop works and says no: 4xx, SOCKS 2. Final, as another way would evade the refusal.
    case refused
    /// The hop works, but did not reach the origin: 5xx, other SOCKS codes. The next way may.
    case unreachable
    /// It was asked, and may wait for the origin, as it has served others a moment ago. That says nothing new of it; the next way may do.
    case overdue
    /// Nothing was asked, for a reason of ours or of the origin's: the next way may do.
    case unasked
    /// Nothing was asked, and the hop is not to blame: its credential needs an operator, or `bind` is no address of this machine.
    /// Final, like the refusal of that credential.
    case unusable
  }

  public enum Step: Sendable, Hashable {
    /// - until: the end of this try's share of the time.
    case tryWay(index: Int, until: Int64)
    /// Report the failure of this try.
    case stop(failedIndex: Int)
  }

  struct Try {
    var index: Int
    /// nil: the hop is up, or all that are left are down.
    var claim: WayHealth.Claim?
    var isUp = false
    /// Its share of the time.
    var time: Int64 = 0
  }

  /// So much time is enough for any way that works: a look-up, TCP and TLS.
  private static let ample: Int64 = 1_000_000_000

  private let hops: [Hop?]
  private let witness: WayHealth.Witness?
  /// When the whole attempt ends.
  public private(set) var end: Int64
  /// What a try needs at least, for its silence to say something.
  private var least: Int64 = 0
  /// By index; whether it was tried.
  private var tried: [Bool]
  private(set) var current: Try?
  /// Of the hop that was silent when the attempt ended: this connection alone tries it. Whoever has the connection reports what comes of
  /// it.
  public private(set) var claim: WayHealth.Claim?
  private var lastIndex = 0

  /// - Parameters:
  ///   - hops: in the order of preference, at least one; nil: direct, which is never down.
  ///   - until: the end of the whole attempt (`connect`).
  ///   - witness: who asks, if the hops are origins; or for which origin, if they are parents that may take absolute-form.
  public init(_ hops: [Hop?], until: Int64, by witness: WayHealth.Witness? = nil) {
    precondition(!hops.isEmpty)
    self.hops = hops
    self.witness = witness
    end = until
    tried = [Bool](repeating: false, count: hops.count)
  }

  /// The first try.
  /// - Parameter preferred: tried first if it is up; nil: the order alone decides.
  public mutating func start(_ health: inout WayHealth, now: Int64, preferred: Int? = nil) -> Step {
    least = min(Self.ample, max(0, end - now) / Int64(hops.count) / 2)
    if let preferred, hops[preferred].map({ health.isUp($0, for: witness) }) ?? true {
      return begin(Try(index: preferred, isUp: true, time: max(0, end - now) / Int64(hops.count)), now)
    }
    return next(&health, now: now)
  }

  /// Whether the present try is the only one of a way that is down.
  public var isTrial: Bool { current?.claim != nil }

  /// The same, of a way that is down for all.
  public var isTrialForAll: Bool { current?.claim?.isOfAll ?? false }

  /// Whether the outcome of the present try changes what is known of its way: this way is down.
  public var isInDoubt: Bool { current?.isUp == false }

  /// Whether an answer in the present try says something new: the way was down, or somebody has had no answer since.
  public func isNews(_ health: WayHealth) -> Bool {
    guard let current else { return false }
    return isInDoubt || hops[current.index].map(health.isSuspected) ?? false
  }

  /// What it means that the time of the present try is over. Tries before it have left it little, if it had less than half of an equal
  /// share, and less than a second: a way that works may need more, and is not to blame.
  /// - Parameter outcome: of a try that had its share.
  public func timedOut(_ outcome: Outcome) -> Outcome {
    guard let current, current.time < least, outcome == .broken else { return outcome }
    return .unasked
  }

  /// Takes the outcome of the try that runs.
  /// - Parameter isLast: no other way is tried, whatever came of this one. So none is taken from others, who may try it.
  /// - Returns: nil: connected, or the last, so nothing is left to do.
  public mutating func ended(
    _ outcome: Outcome, isLast: Bool = false, _ health: inout WayHealth, now: Int64, random: UInt64
  ) -> Step? {
    guard let current else { preconditionFailure("no try runs") }
    self.current = nil
    if let hop = hops[current.index] {
      switch outcome {
      case .connected, .refused, .unreachable: health.worked(hop, for: witness, now: now)
      case .broken: health.broke(hop, claim: current.claim, now: now, random: random)
      case .unanswered: health.broke(hop, claim: current.claim, by: witness, now: now, random: random)
      case .silent: claim = current.claim
      case .unusable, .unasked, .overdue: if let claim = current.claim { health.gaveUp(hop, claim: claim) }
      }
    }
    if isLast { return nil }
    switch outcome {
    case .connected, .silent: return nil
    case .refused, .unusable: return .stop(failedIndex: current.index)
    case .broken, .unanswered, .unreachable, .overdue, .unasked: return next(&health, now: now)
    }
  }

  /// The single try goes on, beyond its share of the time: its origin has the request. One that was shared is single again, if nobody
  /// else makes it.
  /// - Parameter until: when others may try, if nothing more is heard of it.
  public mutating func renew(_ health: inout WayHealth, now: Int64, until: Int64) {
    guard let current, let hop = hops[current.index] else { return }
    if let claim = current.claim {
      if !health.renew(hop, claim: claim, until: until) { self.current?.claim = nil }
    } else if isInDoubt, case .single(let claim)? = health.mayTry(hop, by: witness, now: now, until: until) {
      self.current?.claim = claim
    }
  }

  /// Others may make the single try, which goes on as one of several: it waits for its app.
  public mutating func share(_ health: inout WayHealth) {
    if let current, let claim = current.claim, let hop = hops[current.index] { health.gaveUp(hop, claim: claim) }
    current?.claim = nil
  }

  /// Time that did not count has passed: what was waited for has a limit of its own.
  public mutating func extend(by time: Int64) { end += time }

  /// The connection is not wanted any more.
  public mutating func cancel(_ health: inout WayHealth) {
    share(&health)
    current = nil
  }

  private mutating func next(_ health: inout WayHealth, now: Int64) -> Step {
    let left = tried.count { !$0 }
    guard left > 0, now < end || left == hops.count else { return .stop(failedIndex: lastIndex) }
    let time = max(0, end - now) / Int64(left)
    var first: Int?
    for index in hops.indices where !tried[index] {
      guard let hop = hops[index] else { return begin(Try(index: index, isUp: true, time: time), now) }
      switch health.mayTry(hop, by: witness, now: now, until: now + time) {
      case .up?: return begin(Try(index: index, isUp: true, time: time), now)
      case .single(let claim)?: return begin(Try(index: index, claim: claim, time: time), now)
      case nil: if first == nil { first = index }
      }
    }
    return begin(Try(index: first ?? 0, time: time), now)
  }

  private mutating func begin(_ new: Try, _ now: Int64) -> Step {
    tried[new.index] = true
    current = new
    lastIndex = new.index
    return .tryWay(index: new.index, until: now + new.time)
  }
}
