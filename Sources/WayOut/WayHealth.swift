/// Remembers which hops are down, and when one connection may try each of them again. All times are nanoseconds of one clock.
///
/// A hop that broke is down for 5 s. Each failure after that time doubles the pause, up to 5 minutes. After the pause one
/// connection at a time tries the hop; the first success makes it up again.
///
/// An origin that takes requests and gives no answer may have been offended by one of them. So one witness says nothing to others:
/// the origin is down for it alone, as for all else. It is down for all when another witness says the same before anybody had an
/// answer. The same of a parent proxy that closes connections instead of answering, where the witness is the origin that it was asked for.
public struct WayHealth: Sendable {
  /// First pause.
  public static let firstPause: Int64 = 5_000_000_000
  /// Longest pause, before jitter.
  public static let longestPause: Int64 = 300_000_000_000

  /// Identifies the single try of a hop that is down.
  public struct Claim: Sendable, Hashable {
    fileprivate var number: UInt64
    /// For whom the hop is down; nil: for all.
    fileprivate var witness: Witness?
    /// The hop is down for all.
    public var isOfAll: Bool { witness == nil }
  }

  /// Who had no answer from an origin: a client and what it asked for, as a hash. Or the origin for which a parent gave none.
  public struct Witness: Sendable, Hashable {
    private var hash: Int
    public init(_ hash: Int) { self.hash = hash }

    /// An origin behind a parent. Not its clients: what one of them makes it do, it does to all.
    public init(host: String, port: UInt16) {
      var hasher = Hasher()
      hasher.combine(host)
      hasher.combine(port)
      hash = hasher.finalize()
    }
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
    /// The present pause is for want of an answer to this witness, and another one need not wait for its end.
    var onlyWitness: Witness?

    init(now: Int64, random: UInt64) {
      failures = 1
      pauseEnd = now + WayHealth.pause(after: 1, random: random)
    }

    func isWorthTrying(now: Int64, by witness: Witness? = nil) -> Bool {
      guard now >= pauseEnd || (onlyWitness != nil && witness != nil && onlyWitness != witness) else { return false }
      return claim.map { now >= $0.until } ?? true
    }

    /// - Parameter witness: nil: nothing could be asked.
    mutating func broke(_ ended: Claim?, by witness: Witness?, now: Int64, random: UInt64) {
      if ended != nil && claim?.claim == ended { claim = nil }
      if now >= pauseEnd {
        failures += 1
        pauseEnd = now + WayHealth.pause(after: failures, random: random)
        onlyWitness = witness
      } else if onlyWitness != witness {
        onlyWitness = nil
      }
    }
  }

  private struct Experience: Hashable {
    var hop: Hop
    var witness: Witness
  }

  /// Only hops that are down.
  private var down: [Hop: Down] = [:]
  /// Hops that are down for one witness, or were until it had an answer.
  private var downForOne: [Experience: Down] = [:]
  /// Who had no answer from a hop that is up, since somebody had one.
  private var suspects: [Hop: Witness] = [:]
  /// Apps choose what they ask for.
  private static let maximumExperiences = 1024
  private var claims: UInt64 = 0
  private var lastWorked: [Hop: Int64] = [:]
  private var changes: [Change] = []

  public init() {}

  public func isUp(_ hop: Hop) -> Bool { down[hop] == nil }

  /// Whether somebody has had no answer from it, and nobody had one since.
  func isSuspected(_ hop: Hop) -> Bool { !suspects.isEmpty && suspects[hop] != nil }

  /// Whether it is up for all, and for this witness.
  public func isUp(_ hop: Hop, for witness: Witness?) -> Bool {
    guard down.isEmpty || down[hop] == nil else { return false }
    guard !downForOne.isEmpty, let witness else { return true }
    return downForOne[Experience(hop: hop, witness: witness)] == nil
  }

  /// Whether it has answered within the last minute, and not failed since.
  public func hasWorkedLately(_ hop: Hop, now: Int64) -> Bool {
    guard down[hop] == nil, let last = lastWorked[hop] else { return false }
    return now - last < 60_000_000_000
  }

  /// Whether the next connection would try it: it is up, or its pause is over and nobody tries it.
  public func isWorthTrying(_ hop: Hop, now: Int64) -> Bool {
    down[hop]?.isWorthTrying(now: now) ?? true
  }

  /// The hops that are down.
  public var hopsThatAreDown: Set<Hop> { Set(down.keys) }

  /// How many witnesses it remembers, for tests.
  var experiences: Int { downForOne.count }

  /// Those that only one connection may try now, for tests.
  func hopsThatAreTried(at now: Int64) -> Set<Hop> {
    func isTried(_ state: Down) -> Bool { state.claim.map { now < $0.until } ?? false }
    return Set(down.filter { isTried($0.value) }.keys).union(downForOne.filter { isTried($0.value) }.keys.map(\.hop))
  }

  /// - Parameters:
  ///   - witness: who asks, if the hop is one of several origins; or for which origin, if it is a parent.
  ///   - until: when the try ends at the latest. After that time another connection may try.
  /// - Returns: nil: the hop is down, and its pause is not over, or another connection tries it.
  public mutating func mayTry(_ hop: Hop, by witness: Witness? = nil, now: Int64, until: Int64) -> Permission? {
    if let state = down[hop] {
      guard state.isWorthTrying(now: now, by: witness) else { return nil }
      let claim = newClaim(for: nil)
      down[hop]?.claim = (claim, until)
      return .single(claim)
    }
    guard !downForOne.isEmpty, let witness, let state = downForOne[Experience(hop: hop, witness: witness)] else { return .up }
    guard state.isWorthTrying(now: now) else { return nil }
    let claim = newClaim(for: witness)
    downForOne[Experience(hop: hop, witness: witness)]?.claim = (claim, until)
    return .single(claim)
  }

  private mutating func newClaim(for witness: Witness?) -> Claim {
    claims += 1
    return Claim(number: claims, witness: witness)
  }

  /// The hop answered.
  /// - Parameter witness: whom, as above.
  /// - Returns: whether it was down.
  @discardableResult
  public mutating func worked(_ hop: Hop, for witness: Witness? = nil, now: Int64 = 0) -> Bool {
    lastWorked[hop] = now
    if !suspects.isEmpty { suspects[hop] = nil }
    if !downForOne.isEmpty, let witness { downForOne[Experience(hop: hop, witness: witness)] = nil }
    // Most calls: nothing is down.
    guard !down.isEmpty, down.removeValue(forKey: hop) != nil else { return false }
    changes.append(Change(hop: hop, isUp: true))
    return true
  }

  /// The hop failed. During a pause this changes nothing: if all hops are down, every connection tries them, and a crowd of
  /// failures counts as one.
  /// - Parameters:
  ///   - claim: of this try; nil: it had none.
  ///   - witness: whose request was sent, and had no answer; nil: nothing could be asked.
  ///   - random: for the jitter, which makes the pause up to a quarter longer.
  /// - Returns: whether it was up, and is down for all.
  @discardableResult
  public mutating func broke(
    _ hop: Hop, claim: Claim? = nil, by witness: Witness? = nil, now: Int64, random: UInt64
  ) -> Bool {
    if down[hop] != nil {
      down[hop]?.broke(claim, by: witness, now: now, random: random)
      if let claim { gaveUp(hop, claim: claim) }
      return false
    }
    if let witness {
      note(Experience(hop: hop, witness: witness), claim, now: now, random: random)
      guard let other = suspects[hop], other != witness else {
        suspects[hop] = witness
        return false
      }
    } else if let claim {
      gaveUp(hop, claim: claim)
    }
    suspects[hop] = nil
    down[hop] = Down(now: now, random: random)
    changes.append(Change(hop: hop, isUp: false))
    return true
  }

  private mutating func note(_ experience: Experience, _ claim: Claim?, now: Int64, random: UInt64) {
    if var state = downForOne[experience] {
      state.broke(claim, by: nil, now: now, random: random)
      downForOne[experience] = state
      return
    }
    if downForOne.count >= Self.maximumExperiences { downForOne = downForOne.filter { now < $0.value.pauseEnd } }
    if downForOne.count >= Self.maximumExperiences { downForOne.removeAll() }
    downForOne[experience] = Down(now: now, random: random)
  }

  /// The single try ended without a verdict, for example because the app left. Another connection may try.
  public mutating func gaveUp(_ hop: Hop, claim: Claim) { change(hop, claim) { $0.claim = nil } }

  /// The single try goes on.
  /// - Parameter until: when it ends at the latest, unless that was later before.
  /// - Returns: false: another connection has it, or the hop is up.
  public mutating func renew(_ hop: Hop, claim: Claim, until: Int64) -> Bool {
    change(hop, claim) { state in
      let before = state.claim?.until ?? until
      state.claim?.until = max(before, until)
    }
  }

  /// If another connection has the try, nothing changes.
  @discardableResult
  private mutating func change(_ hop: Hop, _ claim: Claim, _ edit: (inout Down) -> Void) -> Bool {
    guard let witness = claim.witness else {
      guard var state = down[hop], state.claim?.claim == claim else { return false }
      edit(&state)
      down[hop] = state
      return true
    }
    let experience = Experience(hop: hop, witness: witness)
    guard var state = downForOne[experience], state.claim?.claim == claim else { return false }
    edit(&state)
    downForOne[experience] = state
    return true
  }

  /// The changes since the last call, in order.
  public mutating func takeChanges() -> [Change] {
    defer { changes.removeAll() }
    return changes
  }

  /// Forgets all other hops, after a reload.
  public mutating func keep(only hops: Set<Hop>) {
    down = down.filter { hops.contains($0.key) }
    downForOne = downForOne.filter { hops.contains($0.key.hop) }
    suspects = suspects.filter { hops.contains($0.key) }
    lastWorked = lastWorked.filter { hops.contains($0.key) }
    changes.removeAll { !hops.contains($0.hop) }
  }

  private static func pause(after failures: Int, random: UInt64) -> Int64 {
    let doublings = min(failures - 1, 10)
    let pause = min(firstPause << Int64(doublings), longestPause)
    return pause + Int64(random % UInt64(pause / 4 + 1))
  }
}
