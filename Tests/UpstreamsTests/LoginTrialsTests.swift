import Dispatch
import EventIO
import Synchronization
import Testing
import WayOut

@testable import Upstreams

/// What the process knows of the parents' credentials.
@Suite struct LoginTrialsTests {
  private static let loop = LoopExecutor()
  private static func key(
    _ version: UInt64 = 1, host: String = "proxy.test", credential: [UInt8] = [1]
  ) -> LoginTrials.Key {
    LoginTrials.Key(
      account: ParentAccount(hop: Hop(scheme: .http, host: host, port: 8080), credential: credential), version: version)
  }

  /// The number of the trial that begins; nil: none does.
  private static func begin(_ trials: LoginTrials, _ key: LoginTrials.Key, at now: Int64 = 0) -> UInt64? {
    if case .go(let trial, _) = trials.enter(key, from: loop, now: now) { trial } else { nil }
  }

  private static func isRefused(_ trials: LoginTrials, _ key: LoginTrials.Key) -> Bool {
    if case .refused = trials.enter(key, from: loop, now: 0) { true } else { false }
  }

  /// Two connections end at once: one has a 407 that may be an origin's, the other one an answer.
  @Test func `an acceptance beside a refusal that may be an origin's is never lost`() {
    let rounds = 10_000
    let trials = (0..<rounds).map { _ in LoginTrials() }
    let key = Self.key()
    let barrier = Atomic<Int>(0)
    @Sendable func meet(_ round: Int) {
      barrier.add(1, ordering: .sequentiallyConsistent)
      while barrier.load(ordering: .sequentiallyConsistent) < 2 * (round + 1) {}
    }
    DispatchQueue.concurrentPerform(iterations: 2) { side in
      for round in 0..<rounds {
        if side == 0 { _ = trials[round].enter(key, from: Self.loop, now: 0) }
        meet(2 * round)
        if side == 0 {
          _ = trials[round].accepted(key)
        } else {
          _ = trials[round].refused(key, asked: "", of: [7], now: 0)
        }
        meet(2 * round + 1)
      }
    }
    #expect(trials.count { Self.isRefused($0, key) } == 0)
  }

  @Test func `what was not presented, or locks nobody out, is tried again after a pause`() throws {
    let (trials, key) = (LoginTrials(), Self.key())
    _ = try #require(Self.begin(trials, key))
    _ = trials.refused(key, asked: "Basic", of: nil, pause: 30, now: 0)
    guard case .refused("Basic", isFinal: false) = trials.enter(key, from: Self.loop, now: 29) else {
      Issue.record("it is tried at once")
      return
    }
    _ = try #require(Self.begin(trials, key, at: 30))
    _ = trials.refused(key, asked: "Digest", of: nil, now: 30)
    guard case .refused("Digest", isFinal: true) = trials.enter(key, from: Self.loop, now: .max - 1) else {
      Issue.record("it is tried again")
      return
    }
  }

  /// A trial that took too long is followed by another one.
  @Test func `an old trial that ends does not end the one that followed`() throws {
    let (trials, key, late) = (LoginTrials(), Self.key(), LoginTrials.trialTime + 1)
    let first = try #require(Self.begin(trials, key))
    #expect(Self.begin(trials, key) == nil)
    let second = try #require(Self.begin(trials, key, at: late))
    #expect(trials.leave(key, trial: first).isEmpty)
    #expect(Self.begin(trials, key, at: late) == nil)
    #expect(trials.leave(key, trial: second).count == 1)
    #expect(Self.begin(trials, key, at: late) != nil)
  }

  @Test func `what a configuration and the next one do not have is forgotten`() throws {
    let trials = LoginTrials()
    let (kept, gone, tried) = (Self.key(), Self.key(credential: [2]), Self.key(host: "other.test"))
    trials.keep([kept.account, gone.account, tried.account])
    for key in [kept, gone] {
      _ = trials.enter(key, from: Self.loop, now: 0)
      _ = trials.refused(key, asked: "", of: nil, now: 0)
    }
    let trial = try #require(Self.begin(trials, tried))
    trials.keep([kept.account])
    // Requests of the configuration before must not send it again.
    #expect(trials.count == 3 && Self.isRefused(trials, gone))
    trials.keep([kept.account])
    #expect(trials.count == 2 && Self.isRefused(trials, kept))
    _ = trials.leave(tried, trial: trial)
    #expect(trials.count == 1)
  }

  private static let (first, second, third): ([UInt8], [UInt8], [UInt8]) = ([1], [2], [3])
  private static let second1: Int64 = 1_000_000_000

  private enum Known: Equatable { case go, trial, wait, refused(isFinal: Bool), heldBack, unanswered }
  private static func known(_ trials: LoginTrials, _ key: LoginTrials.Key, for origin: [UInt8]? = nil, at now: Int64) -> Known {
    switch trials.enter(key, for: origin, from: loop, now: now) {
    case .go(nil, _): .go
    case .go: .trial
    case .wait: .wait
    case .refused(_, let isFinal): .refused(isFinal: isFinal)
    case .heldBack: .heldBack
    case .unanswered: .unanswered
    }
  }

  /// Whoever tries it for this origin is refused by what may be the origin's answer.
  private static func doubt(
    _ trials: LoginTrials, _ key: LoginTrials.Key, by origin: [UInt8], pause: Int64? = nil, at now: Int64
  ) {
    guard case .go(let number, _) = trials.enter(key, for: origin, from: loop, now: now) else {
      Issue.record("it is not tried")
      return
    }
    _ = trials.refused(key, asked: "", of: origin, trial: number, pause: pause, now: now)
  }

  private static func acceptedTrials(_ key: LoginTrials.Key) -> LoginTrials {
    let trials = LoginTrials()
    _ = trials.enter(key, from: loop, now: 0)
    _ = trials.accepted(key)
    return trials
  }

  @Test(arguments: [nil, 30_000_000_000])
  func `what an origin may have said holds an accepted credential back from that origin alone`(_ pause: Int64?) {
    let key = Self.key()
    let trials = Self.acceptedTrials(key)
    // Once more, after its source was read again.
    for _ in 0..<2 { Self.doubt(trials, key, by: Self.first, pause: pause, at: 0) }
    #expect(Self.known(trials, key, for: Self.first, at: 59 * Self.second1) == .heldBack)
    #expect(!trials.mayPresent(key, for: Self.first, trial: nil, isUnasked: false, now: 1))
    #expect(Self.known(trials, key, for: Self.second, at: 1) == .trial)
    _ = trials.accepted(key)
    #expect(Self.known(trials, key, at: 2) == .go && Self.known(trials, key, for: Self.third, at: 2) == .go)
    #expect(trials.mayPresent(key, for: Self.third, trial: nil, isUnasked: false, now: 2))
    #expect(Self.known(trials, key, for: Self.first, at: 59 * Self.second1) == .heldBack)
    // Each further pause is twice as long.
    for _ in 0..<2 { Self.doubt(trials, key, by: Self.first, pause: pause, at: 61 * Self.second1) }
    #expect(Self.known(trials, key, for: Self.first, at: 180 * Self.second1) == .heldBack)
  }

  @Test func `a second origin that says the same settles it for all, and longer each time`() {
    let key = Self.key()
    let trials = Self.acceptedTrials(key)
    for origin in [Self.first, Self.first, Self.second] { Self.doubt(trials, key, by: origin, at: 0) }
    #expect(Self.known(trials, key, at: 59 * Self.second1) == .refused(isFinal: true))
    Self.doubt(trials, key, by: Self.third, at: 61 * Self.second1)
    #expect(Self.known(trials, key, at: 180 * Self.second1) == .refused(isFinal: true))
    #expect(Self.known(trials, key, at: 182 * Self.second1) == .trial)
    _ = trials.refused(key, asked: "", of: nil, now: 183 * Self.second1)
    #expect(Self.known(trials, key, at: .max - 1) == .refused(isFinal: true))
  }

  @Test func `what was never accepted is refused by the first answer, whoever gave it`() {
    let (trials, key) = (LoginTrials(), Self.key())
    Self.doubt(trials, key, by: Self.first, at: 0)
    #expect(Self.known(trials, key, for: Self.second, at: .max - 1) == .refused(isFinal: true))
  }

  @Test func `without a credential, two origins or the parent itself pause it for all`() {
    let key = LoginTrials.Key(account: ParentAccount(hop: Self.key().account.hop, credential: []), version: 0)
    for isSure in [false, true] {
      let trials = LoginTrials()
      Self.doubt(trials, key, by: Self.first, at: 0)
      #expect(Self.known(trials, key, for: Self.first, at: 1) == .heldBack && Self.known(trials, key, at: 1) == .go)
      if isSure { _ = trials.refused(key, asked: "", of: nil, now: 1) } else { Self.doubt(trials, key, by: Self.second, at: 1) }
      #expect(Self.known(trials, key, at: 2) == .refused(isFinal: false))
      #expect(Self.known(trials, key, for: Self.first, at: 31 * Self.second1) == .go)
    }
  }

  @Test func `a connection that waits in the pool presents what is tried only if it is the one that tries`() throws {
    let (trials, key) = (LoginTrials(), Self.key())
    let number = try #require(Self.begin(trials, key))
    func may(_ trial: UInt64?, isUnasked: Bool = false) -> Bool {
      trials.mayPresent(key, for: Self.first, trial: trial, isUnasked: isUnasked, now: 1)
    }
    #expect(may(number) && !may(nil) && !may(number + 1))
    _ = trials.leave(key, trial: number)
    #expect(!may(number) && may(nil, isUnasked: true))
    _ = trials.refused(key, asked: "", of: nil, now: 1)
    #expect(!may(number) && !may(nil, isUnasked: true))
  }

  @Test func `a trial that ends without an answer pauses the next ones, longer each time`() throws {
    let (trials, key) = (LoginTrials(), Self.key())
    var now: Int64 = 0
    for pause: Int64 in [5, 10, 20] {
      let number = try #require(Self.begin(trials, key, at: now))
      _ = trials.unanswered(key, trial: number, now: now)
      now += pause * Self.second1
      #expect(Self.known(trials, key, at: now - 1) == .unanswered)
      #expect(!trials.mayPresent(key, for: Self.first, trial: number, isUnasked: false, now: now - 1))
      // One that depended on its app alone forgets nothing.
      let left = try #require(Self.begin(trials, key, at: now))
      _ = trials.leave(key, trial: left)
    }
    _ = trials.accepted(key)
    #expect(Self.known(trials, key, at: now) == .go)
  }

  @Test func `trials that take too long are three at most before a pause, and an answer that comes late counts`() {
    let (trials, key, step) = (LoginTrials(), Self.key(), LoginTrials.trialTime)
    for round in 0..<3 {
      #expect(Self.known(trials, key, at: Int64(round) * step) == .trial)
      #expect(Self.known(trials, key, at: Int64(round) * step + 1) == .wait)
    }
    #expect(Self.known(trials, key, at: 3 * step) == .unanswered)
    #expect(Self.known(trials, key, at: 3 * step + 4 * Self.second1) == .unanswered)
    #expect(Self.known(trials, key, at: 3 * step + 5 * Self.second1) == .trial)
    _ = trials.accepted(key)
    #expect(Self.known(trials, key, at: 3 * step) == .go)
  }
}
