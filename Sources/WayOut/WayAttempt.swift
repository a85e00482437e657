/// Says what one connection tries next: in which order, for how long, and when it stops. All times are nanoseconds of the clock
/// that `WayHealth` uses.
///
/// It first takes the ways that are up, in the order of preference. When none of these is left, the others are tried as well, in
/// order: a way that might work is better than a certain failure. It tries each way at most once.
public struct WayAttempt: Sendable {
  public enum Outcome: Sendable, Hashable {
    /// There is a connection to the origin.
    case connected
    /// The hop failed: its name, TCP, TLS, greeting or answer. It is down from now on.
    case broken
    /// The hop works and says no: 4xx, SOCKS 2. Final, as another way would evade the refusal.
    case refused
    /// The hop works, but did not reach the origin: 5xx, other SOCKS codes. The next way may.
    case unreachable
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
  }

  private let hops: [Hop?]
  private let end: Int64
  /// By index; whether it was tried.
  private var tried: [Bool]
  private(set) var current: Try?
  private var lastIndex = 0

  /// - Parameters:
  ///   - hops: in the order of preference, at least one; nil: direct, which is never down.
  ///   - until: the end of the whole attempt (`connect`).
  public init(_ hops: [Hop?], until: Int64) {
    precondition(!hops.isEmpty)
    self.hops = hops
    end = until
    tried = [Bool](repeating: false, count: hops.count)
  }

  /// The first try.
  /// - Parameter preferred: tried first if it is up; nil: the order alone decides.
  public mutating func start(_ health: inout WayHealth, now: Int64, preferred: Int? = nil) -> Step {
    if let preferred, hops[preferred].map(health.isUp) ?? true {
      return begin(Try(index: preferred, isUp: true), now + max(0, end - now) / Int64(hops.count))
    }
    return next(&health, now: now)
  }

  /// Whether the present try is the only one of a way that is down.
  public var isTrial: Bool { current?.claim != nil }

  /// Whether the outcome of the present try changes what is known of its way: this way is down.
  public var isInDoubt: Bool { current?.isUp == false }

  /// Takes the outcome of the try that runs.
  /// - Returns: nil: connected, so nothing is left to do.
  public mutating func ended(_ outcome: Outcome, _ health: inout WayHealth, now: Int64, random: UInt64) -> Step? {
    guard let current else { preconditionFailure("no try runs") }
    self.current = nil
    if let hop = hops[current.index] {
      switch outcome {
      case .connected, .refused, .unreachable: health.worked(hop, now: now)
      case .broken: health.broke(hop, claim: current.claim, now: now, random: random)
      case .unusable, .unasked: if let claim = current.claim { health.gaveUp(hop, claim: claim) }
      }
    }
    switch outcome {
    case .connected: return nil
    case .refused, .unusable: return .stop(failedIndex: current.index)
    case .broken, .unreachable, .unasked: return next(&health, now: now)
    }
  }

  /// The connection is not wanted any more.
  public mutating func cancel(_ health: inout WayHealth) {
    if let current, let claim = current.claim, let hop = hops[current.index] { health.gaveUp(hop, claim: claim) }
    current = nil
  }

  private mutating func next(_ health: inout WayHealth, now: Int64) -> Step {
    let left = tried.count { !$0 }
    guard left > 0, now < end || left == hops.count else { return .stop(failedIndex: lastIndex) }
    let until = now + max(0, end - now) / Int64(left)
    var first: Int?
    for index in hops.indices where !tried[index] {
      guard let hop = hops[index] else { return begin(Try(index: index, isUp: true), until) }
      switch health.mayTry(hop, now: now, until: until) {
      case .up?: return begin(Try(index: index, isUp: true), until)
      case .single(let claim)?: return begin(Try(index: index, claim: claim), until)
      case nil: if first == nil { first = index }
      }
    }
    return begin(Try(index: first ?? 0), until)
  }

  private mutating func begin(_ new: Try, _ until: Int64) -> Step {
    tried[new.index] = true
    current = new
    lastIndex = new.index
    return .tryWay(index: new.index, until: until)
  }
}
