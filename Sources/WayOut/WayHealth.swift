/// Remembers which hops are down, and when one connection may try each of them again. All times are nanoseconds of one clock.
///
/// A hop that broke is down for 5 s. Each failure after that time doubles the pause, up to 5 minutes. After the pause one
/// connection at a time tries the hop; the first success makes it up again.
public struct WayHealth: Sendable {
  /// First pause.
  public static let firstPause: Int64 = 5_000_000_000
  /// Longest pause, before jitter.
  public static let longestPause: Int64 = 300_000_000_000

  /// Identifies the single try of a hop that is down.
  public struct Claim: Sendable, Hashable {
    fileprivate var number: UInt64
  }

  /// Permission to try a hop.
  public enum Permission: Sendable, Hashable {
    /// The hop is up.
    case up
    /// The hop is down and its pause is over; the holder is the only one who tries it. The holder reports the outcome with this
    /// claim.
    case single(Claim)
  }

  /// A hop went down, or came up again: one line of the log.
  public struct Change: Sendable, Hashable {
    public var hop: Hop
    public var isUp: Bool
  }

  private struct Down {
    var failures: Int
    var pauseEnd: Int64
    /// Of the connection that tries it now.
    var claim: (claim: Claim, until: Int64)?
  }

  /// Only hops that are down.
  private var down: [Hop: Down] = [:]
  private var claims: UInt64 = 0
  private var lastWorked: [Hop: Int64] = [:]
  private var changes: [Change] = []

  public init() {}

  public func isUp(_ hop: Hop) -> Bool { down[hop] == nil }

  /// Whether it has answered within the last minute, and not failed since.
  public func hasWorkedLately(_ hop: Hop, now: Int64) -> Bool {
    guard down[hop] == nil, let last = lastWorked[hop] else { return false }
    return now - last < 60_000_000_000
  }

  /// Whether the next connection would try it: it is up, or its pause is over and nobody tries it.
  public func isWorthTrying(_ hop: Hop, now: Int64) -> Bool {
    guard let state = down[hop] else { return true }
    guard now >= state.pauseEnd else { return false }
    return state.claim.map { now >= $0.until } ?? true
  }

  /// The hops that are down.
  public var hopsThatAreDown: Set<Hop> { Set(down.keys) }

  /// - Parameter until: when the try ends at the latest. After that time another connection may try.
  /// - Returns: nil: the hop is down, and its pause is not over, or another connection tries it.
  public mutating func mayTry(_ hop: Hop, now: Int64, until: Int64) -> Permission? {
    guard let state = down[hop] else { return .up }
    guard now >= state.pauseEnd else { return nil }
    if let claim = state.claim, now < claim.until { return nil }
    claims += 1
    let claim = Claim(number: claims)
    down[hop]?.claim = (claim, until)
    return .single(claim)
  }

  /// The hop answered.
  /// - Returns: whether it was down.
  @discardableResult
  public mutating func worked(_ hop: Hop, now: Int64 = 0) -> Bool {
    lastWorked[hop] = now
    // Most calls: nothing is down.
    guard !down.isEmpty, down.removeValue(forKey: hop) != nil else { return false }
    changes.append(Change(hop: hop, isUp: true))
    return true
  }

  /// The hop failed. During a pause this changes nothing: if all hops are down, every connection tries them, and a crowd of
  /// failures counts as one.
  /// - Parameters:
  ///   - claim: of this try; nil: it had none.
  ///   - random: for the jitter, which makes the pause up to a quarter longer.
  /// - Returns: whether it was up.
  @discardableResult
  public mutating func broke(_ hop: Hop, claim: Claim? = nil, now: Int64, random: UInt64) -> Bool {
    guard var state = down[hop] else {
      down[hop] = Down(failures: 1, pauseEnd: now + Self.pause(after: 1, random: random))
      changes.append(Change(hop: hop, isUp: false))
      return true
    }
    if claim != nil && state.claim?.claim == claim { state.claim = nil }
    if now >= state.pauseEnd {
      state.failures += 1
      state.pauseEnd = now + Self.pause(after: state.failures, random: random)
    }
    down[hop] = state
    return false
  }

  /// The single try ended without a verdict, for example because the app left. Another connection may try.
  public mutating func gaveUp(_ hop: Hop, claim: Claim) {
    if down[hop]?.claim?.claim == claim { down[hop]?.claim = nil }
  }

  /// The changes since the last call, in order.
  public mutating func takeChanges() -> [Change] {
    defer { changes.removeAll() }
    return changes
  }

  /// Forgets all other hops, after a reload.
  public mutating func keep(only hops: Set<Hop>) {
    down = down.filter { hops.contains($0.key) }
    lastWorked = lastWorked.filter { hops.contains($0.key) }
    changes.removeAll { !hops.contains($0.hop) }
  }

  private static func pause(after failures: Int, random: UInt64) -> Int64 {
    let doublings = min(failures - 1, 10)
    let pause = min(firstPause << Int64(doublings), longestPause)
    return pause + Int64(random % UInt64(pause / 4 + 1))
  }
}
