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
          _ = trials[round].refused(key, asked: "", isSure: false, now: 0)
        }
        meet(2 * round + 1)
      }
    }
    #expect(trials.count { Self.isRefused($0, key) } == 0)
  }

  @Test func `what was not presented, or locks nobody out, is tried again after a pause`() throws {
    let (trials, key) = (LoginTrials(), Self.key())
    _ = try #require(Self.begin(trials, key))
    _ = trials.refused(key, asked: "Basic", isSure: true, pause: 30, now: 0)
    guard case .refused("Basic", isFinal: false) = trials.enter(key, from: Self.loop, now: 29) else {
      Issue.record("it is tried at once")
      return
    }
    _ = try #require(Self.begin(trials, key, at: 30))
    _ = trials.refused(key, asked: "Digest", isSure: true, now: 30)
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
      _ = trials.refused(key, asked: "", isSure: true, now: 0)
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
}
