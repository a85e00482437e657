import EventIO
import Synchronization
import WayOut

/// What the whole process knows of each parent's credential. A wrong password is sent once, however many connections wait: until a
/// parent has accepted a version, one connection tries it. So no account is locked.
final class LoginTrials: Sendable {
  struct Key: Hashable, Sendable {
    let hop: Hop
    /// Digest of the credential's identity; empty: none.
    let credential: [UInt8]
    let version: UInt64
  }

  enum Entrance {
    /// Present it. `isFirst`: nobody has yet, and others wait for what comes of it. `isDoubted`: read its source again before.
    case go(isFirst: Bool, isDoubted: Bool = false)
    /// Wait for what comes of the trial.
    case wait(until: Int64)
    case refused(asked: String)
  }

  private enum State {
    /// `until`: when the next one may try, as this one may depend on a target that never answers.
    case trying(until: Int64, waiting: [LoopExecutor], wasAccepted: Bool)
    case accepted
    /// It was accepted, and then refused by an answer that may be an origin's.
    case doubted
    /// `until`: nanoseconds of the monotonic clock.
    case refused(asked: String, until: Int64)
  }

  private let states = Mutex<[Key: State]>([:])

  /// How long a parent that wants a credential, and has none configured, is not asked again, in nanoseconds.
  static let pauseWithoutCredential: Int64 = 30_000_000_000
  /// How long one connection alone presents a credential that nobody knows, in nanoseconds.
  static let trialTime: Int64 = 3_000_000_000
  /// How long a credential that was accepted once is not sent after a refusal in absolute-form, which may be an origin's answer.
  private static let pauseAfterDoubt: Int64 = 60_000_000_000

  func enter(_ key: Key, from executor: LoopExecutor, now: Int64) -> Entrance {
    states.withLock { states in
      switch states[key] {
      case .accepted: return .go(isFirst: false)
      case .refused(let asked, let until) where now < until: return .refused(asked: asked)
      case .trying(let until, var waiting, let wasAccepted) where now < until:
        if !waiting.contains(where: { $0 === executor }) { waiting.append(executor) }
        states[key] = .trying(until: until, waiting: waiting, wasAccepted: wasAccepted)
        return .wait(until: until)
      case .trying(_, let waiting, let wasAccepted):
        states[key] = .trying(until: now + Self.trialTime, waiting: waiting, wasAccepted: wasAccepted)
        return .go(isFirst: true)
      case nil, .refused, .doubted:
        // A parent without a credential is asked as often as one that wants none.
        if key.credential.isEmpty { return .go(isFirst: false) }
        let wasAccepted = if case .doubted = states[key] { true } else { false }
        states[key] = .trying(until: now + Self.trialTime, waiting: [], wasAccepted: wasAccepted)
        return .go(isFirst: true, isDoubted: wasAccepted)
      }
    }
  }

  /// The parent has let the credential pass: it answered anything but 407.
  /// - Returns: the loops with connections that wait for that.
  func accepted(_ key: Key) -> [LoopExecutor] { key.credential.isEmpty ? [] : settle(key, .accepted) }

  /// - Parameters:
  ///   - isSure: only the parent can have said so: it answered CONNECT, or SOCKS.
  ///   - now: nanoseconds of the monotonic clock.
  func refused(_ key: Key, asked: String, isSure: Bool, now: Int64) -> [LoopExecutor] {
    if key.credential.isEmpty { return settle(key, .refused(asked: asked, until: now + Self.pauseWithoutCredential)) }
    guard !isSure else { return settle(key, .refused(asked: asked, until: .max)) }
    let before = states.withLock { $0[key] }
    switch before {
    case .accepted, .doubted: return settle(key, .doubted)
    case .trying(_, _, wasAccepted: true): return settle(key, .refused(asked: asked, until: now + Self.pauseAfterDoubt))
    // A version never comes back, so what was refused stays refused.
    case nil, .trying, .refused: return settle(key, .refused(asked: asked, until: .max))
    }
  }

  /// Whether a connection that has it may present it again.
  func mayPresent(_ key: Key, now: Int64) -> Bool {
    if key.credential.isEmpty { return true }
    return states.withLock { states in
      switch states[key] {
      case .accepted, .trying: true
      // Others are to be the ones that try: new connections.
      case nil, .doubted: false
      case .refused(_, let until): now >= until
      }
    }
  }

  /// A trial ended without an answer: somebody else may try.
  func leave(_ key: Key) -> [LoopExecutor] {
    states.withLock { states in
      guard case .trying(_, let waiting, let wasAccepted) = states[key] else { return [] }
      states[key] = wasAccepted ? .doubted : nil
      return waiting
    }
  }

  private func settle(_ key: Key, _ next: State) -> [LoopExecutor] {
    states.withLock { states in
      let before = states[key]
      states[key] = next
      for (other, state) in states
      where other.hop == key.hop && other.credential == key.credential && other.version < key.version {
        // Whoever waits there is told by those who try.
        if case .trying = state { continue }
        states[other] = nil
      }
      if case .trying(_, let waiting, _) = before { return waiting }
      return []
    }
  }
}

/// One connection's presentation of a credential: what comes of it is said once. If nothing is, somebody else may try.
final class LoginTrial {
  private let key: LoginTrials.Key
  private let isFirst: Bool
  private let shared: SharedUpstreams
  private var isSettled = false

  init(_ key: LoginTrials.Key, isFirst: Bool, _ shared: SharedUpstreams) {
    self.key = key
    self.isFirst = isFirst
    self.shared = shared
  }

  deinit {
    if isFirst, !isSettled { tell(shared.logins.leave(key)) }
  }

  func accepted() {
    guard isFirst, !isSettled else { return }
    isSettled = true
    tell(shared.logins.accepted(key))
  }

  /// Also of one that was accepted before: the parent has another password now.
  /// - Parameter isSure: only the parent can have said so.
  func refused(asked: String, isSure: Bool, now: Int64) {
    isSettled = true
    tell(shared.logins.refused(key, asked: asked, isSure: isSure, now: now))
  }

  /// Whether its connection may present the credential again.
  func mayPresent(now: Int64) -> Bool { shared.logins.mayPresent(key, now: now) }

  private func tell(_ executors: [LoopExecutor]) {
    let key = key
    for executor in executors { executor.call { loop in Upstreams.of(loop).logins.settled(key) } }
  }
}

/// One loop's connections that wait until another one's credential was accepted or refused, or has taken too long.
final class LoginWaits: EventHandler {
  private var waiting: [LoginTrials.Key: [ParentConnection]] = [:]

  /// - Parameter until: nanoseconds of the loop's clock.
  func await(_ key: LoginTrials.Key, _ connection: ParentConnection, until: Int64, on loop: EventLoop) {
    waiting[key, default: []].append(connection)
    loop.arm(self, at: min(deadline, until))
  }

  /// A trial has taken too long: each asks again, and one of them tries.
  override func expired(on loop: EventLoop) {
    for key in Array(waiting.keys) { settled(key) }
  }

  func forget(_ connection: ParentConnection) {
    guard !waiting.isEmpty else { return }
    for (key, connections) in waiting where connections.contains(where: { $0 === connection }) {
      let rest = connections.filter { $0 !== connection }
      waiting[key] = rest.isEmpty ? nil : rest
    }
  }

  func settled(_ key: LoginTrials.Key) {
    for connection in waiting.removeValue(forKey: key) ?? [] { connection.trialSettled() }
  }
}
