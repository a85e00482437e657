import EventIO
import Foundation
import Synchronization
import Testing
import WayOut

@testable import Upstreams

/// What the process knows of the parents' credentials: several connections at once, and who is told. `LoginRulesTests` has the rules.
@Suite struct LoginTrialsTests {
  private static let loop = LoopExecutor()
  private static let (host, other) = (LoginTarget(host: 1, port: 443), LoginTarget(host: 2, port: 443))

  private static func key(
    _ version: UInt64 = 1, host: String = "proxy.test", credential: [UInt8] = [1]
  ) -> LoginTrials.Key {
    LoginTrials.Key(
      account: ParentAccount(hop: Hop(scheme: .http, host: host, port: 8080), credential: credential), version: version)
  }

  private static func enter(
    _ trials: LoginTrials, _ key: LoginTrials.Key, _ form: LoginTrials.Form = .tunnel, at now: Int64 = 0
  ) -> LoginTrials.Entrance {
    trials.enter(key, form, host, from: loop, now: now)
  }

  /// The number of the trial that begins; nil: none does.
  private static func begin(_ trials: LoginTrials, _ key: LoginTrials.Key) -> UInt64? {
    if case .go(let trial, _) = enter(trials, key) { trial } else { nil }
  }

  private static func isRefused(_ trials: LoginTrials, _ key: LoginTrials.Key) -> Bool {
    if case .refused = enter(trials, key) { true } else { false }
  }

  /// Two connections end at once: one has a 407 that may be an origin's, the other one an answer.
  @Test(arguments: [LoginTrials.Form.tunnel, .absolute])
  func `an acceptance beside a refusal that may be an origin's is never lost`(_ form: LoginTrials.Form) {
    let rounds = 3_000
    let trials = (0..<rounds).map { _ in LoginTrials() }
    let key = Self.key()
    let barrier = Barrier()
    // Threads of its own: a queue that has one to spare would run one side after the other, and the first would wait for ever.
    Self.onThreads(2) { side in
      for round in 0..<rounds {
        if side == 0 { _ = Self.enter(trials[round], key, form) }
        barrier.meet(2 * round)
        if side == 0 {
          _ = trials[round].accepted(key, form, Self.host, trial: 1, now: 0)
        } else {
          _ = trials[round].refused(key, .absolute, Self.other, asked: "", trial: nil, pause: nil, now: 0)
        }
        barrier.meet(2 * round + 1)
      }
    }
    #expect(trials.count { Self.enter($0, key, form) != .go() } == 0)
  }

  /// Where two threads wait for each other, once a round.
  private final class Barrier: Sendable {
    private let arrivals = Atomic<Int>(0)
    func meet(_ round: Int) {
      arrivals.add(1, ordering: .sequentiallyConsistent)
      while arrivals.load(ordering: .sequentiallyConsistent) < 2 * (round + 1) { sched_yield() }
    }
  }

  private static func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let group = DispatchGroup()
    for number in 0..<count {
      group.enter()
      Thread {
        body(number)
        group.leave()
      }.start()
    }
    group.wait()
  }

  @Test func `what a configuration and the next one do not have is forgotten`() throws {
    let trials = LoginTrials()
    let (kept, gone, tried) = (Self.key(), Self.key(credential: [2]), Self.key(host: "other.test"))
    trials.keep([kept.account, gone.account, tried.account])
    for key in [kept, gone] {
      let trial = try #require(Self.begin(trials, key))
      _ = trials.refused(key, .tunnel, Self.host, asked: "", trial: trial, pause: nil, now: 0)
    }
    let trial = try #require(Self.begin(trials, tried))
    trials.keep([kept.account])
    // Requests of the configuration before must not send it again.
    #expect(trials.count == 3 && Self.isRefused(trials, gone))
    trials.keep([kept.account])
    #expect(trials.count == 2 && Self.isRefused(trials, kept))
    _ = trials.leave(tried, .tunnel, trial: trial)
    trials.keep([kept.account])
    #expect(trials.count == 1)
  }

  @Test func `the versions before one that the parent has judged are forgotten, but not while one is tried`() throws {
    let trials = LoginTrials()
    let keys = (1...3).map { Self.key(UInt64($0)) }
    let numbers = try keys.map { try #require(Self.begin(trials, $0)) }
    _ = trials.leave(keys[0], .tunnel, trial: numbers[0])
    _ = trials.accepted(keys[2], .tunnel, Self.host, trial: numbers[2], now: 0)
    #expect(trials.count == 2)
    _ = trials.leave(keys[1], .tunnel, trial: numbers[1])
    _ = trials.accepted(keys[2], .tunnel, Self.host, trial: nil, now: 0)
    #expect(trials.count == 1)
  }

  @Test func `whoever waits is told what came of it, each loop once`() throws {
    let (trials, key) = (LoginTrials(), Self.key())
    for end in 0..<4 {
      let number = try #require(Self.begin(trials, key))
      for _ in 0..<3 { #expect(Self.enter(trials, key) == .wait(until: LoginSide.trialTime)) }
      #expect(Self.enter(trials, key, .absolute) == .wait(until: LoginSide.trialTime))
      let told =
        switch end {
        case 0, 1: trials.leave(key, .tunnel, trial: number)
        case 2: trials.unanswered(key, .tunnel, trial: number, now: -LoginSide.firstSilence)
        default: trials.accepted(key, .tunnel, Self.host, trial: number, now: 0)
        }
      #expect(told.count == 1)
      #expect(trials.leave(key, .tunnel, trial: number).isEmpty)
    }
  }
}
