/// What is known of one version of a parent's credential, in one of the two forms in which it is presented. A value: it knows no
/// connection. Times in nanoseconds of the monotonic clock.
///
/// Until the parent has accepted a version, one connection presents it, and the others wait for what comes of it. A parent that gives no
/// answer may be slow to judge the password, or wait for a target that is dead. So:
///
/// - A presentation that is silent for 3 s is followed by one for another host. Its answer is still read (`LateAnswer`), and counts.
/// - After three hosts that were silent and had not been before, there is a pause for those that never were: 5 s, doubling to 5 min. Hosts
///   that were silent once all together get a turn after 5 s, doubling to 5 min, and cause no pause.
///
/// An accepted version that is refused for one target is held back from that host, and may be right for all others. Targets that it has
/// served before, hosts with their ports, say whether it is; a hold of their host for another port's sake does not concern them.
struct LoginSide {
  enum Entrance: Equatable {
    /// Present it. `trial`: its number, if others wait for what comes of it; nil: it is known. `isDoubted`: read its source again before.
    case go(trial: UInt64? = nil, isDoubted: Bool = false)
    /// Wait for what comes of another one's trial.
    case wait(until: Int64)
    /// - Parameter isFinal: it was presented, and is worth another try only if its source has another value.
    case refused(asked: String, isFinal: Bool)
    /// It is not presented for this host for a while, unless its source has another value.
    case heldBack(asked: String)
    /// It was presented, and nothing came back: it is not presented for this host for a while.
    case unanswered
  }

  private struct Presentation {
    var number: UInt64
    var host: LoginHost
    var address: Int
    var began: Int64
  }

  /// It was accepted, and then refused.
  private struct Doubt {
    var host: LoginHost
    var since: Int64
    /// The target had been served before.
    var wasServed: Bool
  }

  private struct Refusal {
    var asked: String
    var until: Int64
    var isFinal: Bool
  }

  private static let second: Int64 = 1_000_000_000
  /// How long others wait for one presentation. PAM delays refusals by 2 s.
  static let trialTime = 3 * second
  /// How long its answer is read: longer than judges of passwords take.
  static let lateTime = 30 * second
  /// Hosts that were silent before there is a pause.
  static let maximumSilences = 3
  static let (firstSilence, longestSilence) = (5 * second, 300 * second)
  /// How long a parent that wants a credential, and has none configured, is not asked again: for that host, or if it never served anybody
  /// for all.
  static let pauseWithoutCredential = 30 * second
  static let (firstTunnelHold, firstRequestHold, longestHold) = (300 * second, 60 * second, 3600 * second)
  /// Hosts in a row, never served before, that refuse an accepted version, before there is a pause for their like.
  static let maximumStrikes = 5
  /// The same of a version that nobody has accepted, in absolute-form; and of one for which no target is left that was served.
  static let maximumUntriedStrikes = 2
  /// Hosts in a row, served before, whose requests in absolute-form are refused, before the version is doubted.
  static let maximumServedStrikes = 3

  private let hasCredential: Bool
  /// It was, once; without one: the parent has served somebody.
  private(set) var isAccepted = false
  private var doubt: Doubt?
  private var refusal: Refusal?
  /// For which others wait.
  private var trial: Presentation?
  /// Whose answers may still come.
  private var open: [UInt64: Presentation] = [:]
  private var served = LoginServed()
  private(set) var held = LoginHolds(capacity: 1024)

  /// Hosts whose trials showed nothing while others waited: these go first until then.
  private var fruitless = LoginHosts(capacity: 64)
  private var othersTurn = Int64.min
  private var isAwaited = false

  /// Hosts that gave no answer, since it was accepted.
  private var silent = LoginHosts(capacity: 64)
  private var silences = 0
  /// Of hosts that never were silent, and of those that were.
  private var (freshPause, silentPause) = (LoginPause(), LoginPause())

  /// Refusals in a row of hosts that were never served.
  private var strikes = 0
  private var lastStriker: LoginHost?
  /// For hosts that were never served.
  private var strangersPause = LoginPause()
  /// Until then one of them has its turn.
  private var strangersTurn = Int64.min
  private var servedStrikes = 0
  /// For all, as an origin may have said so.
  private var everybodysPause = LoginPause()
  /// What was asked for by the last refusal.
  private var asked = ""

  init(hasCredential: Bool) { self.hasCredential = hasCredential }

  /// No connection is to say what comes of it.
  var isQuiet: Bool { open.isEmpty }

  /// Until when it is refused for all hosts; nil: it is not.
  func refused(at now: Int64) -> Entrance? {
    guard let refusal, now < refusal.until else { return nil }
    return .refused(asked: refusal.asked, isFinal: refusal.isFinal)
  }

  /// Until when those wait who depend on it; nil: nobody presents it.
  func trialEnd(at now: Int64) -> Int64? {
    guard let trial, now < trial.began + Self.trialTime else { return nil }
    return trial.began + Self.trialTime
  }

  // MARK: Who may present it

  /// - Parameter number: of the trial, if one begins.
  mutating func enter(_ target: LoginTarget, number: UInt64, now: Int64) -> Entrance {
    if let refused = refused(at: now) { return refused }
    let (host, isServed) = (target.host, served.contains(target))
    if !isServed, let hold = held.live(host, at: now) { return .heldBack(asked: hold.asked) }
    guard hasCredential else { return .go() }
    if now < everybodysPause.until { return .heldBack(asked: asked) }
    if !isServed, now < max(strangersPause.until, strangersTurn) { return .heldBack(asked: asked) }
    if let trial, now >= trial.began + Self.trialTime {
      self.trial = nil
      fellSilent(trial.host, now)
    }
    if isAccepted, doubt == nil {
      if !isServed, strikes >= Self.maximumStrikes { strangersTurn = now + Self.trialTime }
      return .go()
    }
    let isFruitless = fruitless.contains(host)
    if let trial {
      if !isFruitless, host != trial.host { isAwaited = true }
      return .wait(until: trial.began + Self.trialTime)
    }
    if isFruitless, now < othersTurn { return .wait(until: othersTurn) }
    // The answer to one that was served before says more.
    if let doubt, !isServed, now < doubt.since + Self.trialTime { return .wait(until: doubt.since + Self.trialTime) }
    if silent.contains(host) {
      // Another one of its addresses may answer.
      let own = open.values.first { $0.host == host && $0.address == target.address && now < $0.began + Self.lateTime }
      if let own { return .wait(until: own.began + Self.lateTime) }
      if now < silentPause.until { return .unanswered }
      silentPause.begin(first: Self.firstSilence, longest: Self.longestSilence, at: now)
    } else if now < freshPause.until {
      return .unanswered
    }
    let presentation = Presentation(number: number, host: host, address: target.address, began: now)
    trial = presentation
    open[number] = presentation
    isAwaited = false
    return .go(trial: number, isDoubted: doubt != nil)
  }

  /// Whether a connection that has it may present it again.
  /// - Parameters:
  ///   - number: of the trial for which it was opened; nil: it was known.
  ///   - isUnasked: the parent has served it without asking for the credential.
  func mayPresent(for target: LoginTarget, trial number: UInt64?, isUnasked: Bool, now: Int64) -> Bool {
    guard refused(at: now) == nil, held.live(target.host, at: now) == nil || served.contains(target) else { return false }
    guard hasCredential else { return true }
    guard now >= everybodysPause.until else { return false }
    if isAccepted { return doubt == nil && (now >= strangersPause.until || served.contains(target)) }
    // Others are to be the ones that try: new connections.
    guard let trial else { return isUnasked && now >= max(strangersPause.until, freshPause.until) }
    return trial.number == number
  }

  // MARK: What came of it

  /// - Returns: whether the host had not been served before.
  @discardableResult mutating func accepted(_ target: LoginTarget) -> Bool {
    isAccepted = true
    refusal = nil
    doubt = nil
    trial = nil
    servedStrikes = 0
    everybodysPause = LoginPause()
    silent.removeAll()
    fruitless.removeAll()
    silences = 0
    (freshPause, silentPause) = (LoginPause(), LoginPause())
    held.remove(target)
    guard served.insert(target) else { return false }
    forgiveStrangers()
    return true
  }

  /// The parent has accepted it in the other form, for a host that was not served before.
  mutating func vouched() {
    isAccepted = true
    doubt = nil
    trial = nil
    servedStrikes = 0
    everybodysPause = LoginPause()
    forgiveStrangers()
  }

  private mutating func forgiveStrangers() {
    strikes = 0
    lastStriker = nil
    strangersPause = LoginPause()
    strangersTurn = .min
  }

  /// The parent has refused it for a tunnel: nobody else can have said so.
  /// - Parameter pause: nanoseconds until it is worth another try; nil: it was presented, and is not until it changes.
  /// - Returns: whether it is refused for all hosts.
  mutating func refusedTunnel(
    _ target: LoginTarget, asked: String, trial number: UInt64?, pause: Int64?, now: Int64
  ) -> Bool {
    leave(number)
    self.asked = asked
    if refused(at: now) != nil { return true }
    let wasServed = served.remove(target)
    guard hasCredential else {
      let pause = Self.pauseWithoutCredential
      guard !isAccepted else {
        held.hold(target, asked: asked, first: pause, longest: pause, at: now)
        return false
      }
      refusal = Refusal(asked: asked, until: now + pause, isFinal: false)
      return true
    }
    guard isAccepted, !isDecisive(target.host, wasServed: wasServed, now) else {
      refusal = Refusal(asked: asked, until: pause.map { now + $0 } ?? .max, isFinal: pause == nil)
      return true
    }
    held.hold(target, asked: asked, first: pause ?? Self.firstTunnelHold, longest: Self.longestHold, at: now)
    if doubt == nil || (wasServed && doubt?.wasServed == false) { beginDoubt(target.host, wasServed: wasServed, now) }
    if !wasServed {
      strike(target.host, limit: served.isEmpty ? Self.maximumUntriedStrikes : Self.maximumStrikes, now)
    }
    return false
  }

  /// A parent can refuse one target so, or all ports of one host. A second host that was served before is no such target; nor is the
  /// first one, if it was served before, and is refused again after its hold while nobody else was accepted.
  private func isDecisive(_ host: LoginHost, wasServed: Bool, _ now: Int64) -> Bool {
    guard let doubt else { return false }
    guard doubt.host == host else { return wasServed }
    return doubt.wasServed && now >= doubt.since + Self.firstTunnelHold
  }

  /// A 407 in absolute-form, which may be the origin's own.
  /// - Parameters:
  ///   - pause: as above.
  ///   - isVouched: the parent has accepted it for tunnels a moment ago.
  mutating func refusedRequest(
    _ target: LoginTarget, asked: String, trial number: UInt64?, pause: Int64?, isVouched: Bool, now: Int64
  ) {
    leave(number)
    self.asked = asked
    let (wasServed, wasHeld) = (served.remove(target), held.live(target.host, at: now) != nil)
    guard hasCredential else {
      let pause = Self.pauseWithoutCredential
      return held.hold(target, asked: asked, first: pause, longest: pause, at: now)
    }
    held.hold(target, asked: asked, first: pause ?? Self.firstRequestHold, longest: Self.longestHold, at: now)
    guard wasServed else {
      return strike(target.host, limit: isAccepted ? Self.maximumStrikes : Self.maximumUntriedStrikes, now)
    }
    // One host says it once, whatever ports it has.
    guard !wasHeld else { return }
    servedStrikes += 1
    guard !isVouched, servedStrikes >= Self.maximumServedStrikes else { return }
    guard doubt != nil else { return beginDoubt(target.host, wasServed: true, now) }
    everybodysPause.begin(first: Self.firstRequestHold, longest: Self.longestHold, at: now)
  }

  private mutating func beginDoubt(_ host: LoginHost, wasServed: Bool, _ now: Int64) {
    doubt = Doubt(host: host, since: now, wasServed: wasServed)
    silent.removeAll()
    silences = 0
  }

  private mutating func strike(_ host: LoginHost, limit: Int, _ now: Int64) {
    // Its own hold is twice as long each time.
    guard lastStriker != host else { return }
    lastStriker = host
    strikes += 1
    guard strikes >= limit else { return }
    strangersPause.begin(first: Self.firstRequestHold, longest: Self.longestHold, at: now)
  }

  /// Nothing was presented, or an answer came that says nothing of the credential: somebody else may try.
  mutating func leave(_ number: UInt64?) {
    guard let number else { return }
    open[number] = nil
    guard let trial, trial.number == number else { return }
    if isAwaited {
      fruitless.insert(trial.host)
      othersTurn = trial.began + Self.trialTime
    }
    self.trial = nil
  }

  /// It was presented, and nobody reads an answer any more: the parent ended the connection, or it took too long.
  mutating func unanswered(_ number: UInt64, now: Int64) {
    guard let presentation = open[number] else { return }
    leave(number)
    // Whether the parent works is remembered elsewhere.
    guard !isAccepted || doubt != nil else { return }
    fellSilent(presentation.host, now)
    silentPause.again(first: Self.firstSilence, at: now)
  }

  private mutating func fellSilent(_ host: LoginHost, _ now: Int64) {
    guard silent.insert(host) else { return }
    silences += 1
    guard silences >= Self.maximumSilences else { return }
    silences = 0
    // What was accepted before goes on without certainty.
    guard doubt == nil else {
      doubt = nil
      return
    }
    freshPause.begin(first: Self.firstSilence, longest: Self.longestSilence, at: now)
  }
}
