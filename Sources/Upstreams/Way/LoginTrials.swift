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
    /// Present it. `isFirst`: nobody has yet, and others wait for what comes of it.
    case go(isFirst: Bool)
    /// Wait for what comes of the trial.
    case wait
    case refused(asked: String)
  }

  private enum State {
    case trying(waiting: [LoopExecutor])
    case accepted
    /// `until`: nanoseconds of the monotonic clock.
    case refused(asked: String, until: Int64)
  }

  private let states = Mutex<[Key: State]>([:])

  /// How long a parent that wants a credential, and has none configured, is not asked again, in nanoseconds.
  static let pauseWithoutCredential: Int64 = 30_000_000_000

  func enter(_ key: Key, from executor: LoopExecutor, now: Int64) -> Entrance {
    states.withLock { states in
      switch states[key] {
      case .accepted: return .go(isFirst: false)
      case .refused(let asked, let until) where now < until: return .refused(asked: asked)
      case .trying(var waiting):
        if !waiting.contains(where: { $0 === executor }) { waiting.append(executor) }
        states[key] = .trying(waiting: waiting)
        return .wait
      case nil, .refused:
        // A parent without a credential is asked as often as one that wants none.
        if key.credential.isEmpty { return .go(isFirst: false) }
        states[key] = .trying(waiting: [])
        return .go(isFirst: true)
      }
    }
  }

  /// The parent has let the credential pass: it answered anything but 407.
  /// - Returns: the loops with connections that wait for that.
  func accepted(_ key: Key) -> [LoopExecutor] { key.credential.isEmpty ? [] : settle(key, .accepted) }

  /// - Parameter now: nanoseconds of the monotonic clock.
  func refused(_ key: Key, asked: String, now: Int64) -> [LoopExecutor] {
    // A version never comes back, so what was refused stays refused.
    settle(key, .refused(asked: asked, until: key.credential.isEmpty ? now + Self.pauseWithoutCredential : .max))
  }

  /// A trial ended without an answer: somebody else may try.
  func leave(_ key: Key) -> [LoopExecutor] {
    states.withLock { states in
      guard case .trying(let waiting) = states[key] else { return [] }
      states[key] = nil
      return waiting
    }
  }

  private func settle(_ key: Key, _ next: State) -> [LoopExecutor] {
    states.withLock { states in
      let before = states[key]
      states[key] = next
      for other in states.keys
      where other.hop == key.hop && other.credential == key.credential && other.version < key.version {
        states[other] = nil
      }
      if case .trying(let waiting) = before { return waiting }
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
  func refused(asked: String, now: Int64) {
    isSettled = true
    tell(shared.logins.refused(key, asked: asked, now: now))
  }

  private func tell(_ executors: [LoopExecutor]) {
    let key = key
    for executor in executors { executor.call { loop in Upstreams.of(loop).logins.settled(key) } }
  }
}

/// One loop's connections that wait until another one's credential was accepted or refused.
final class LoginWaits {
  private var waiting: [LoginTrials.Key: [ParentConnection]] = [:]

  func await(_ key: LoginTrials.Key, _ connection: ParentConnection) { waiting[key, default: []].append(connection) }

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
