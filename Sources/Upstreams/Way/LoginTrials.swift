import EventIO
import Synchronization
import WayOut

/// Who this process is to one parent: the parent as it is reached, and the identity of the credential.
public struct ParentAccount: Hashable, Sendable {
  let hop: Hop
  /// Digest of the credential's identity; empty: none.
  let credential: [UInt8]
}

/// What the whole process knows of each parent's credential. A wrong password is sent once, however many connections wait: until a
/// parent has accepted a version, one connection tries it. So no account is locked.
final class LoginTrials: Sendable {
  struct Key: Hashable, Sendable {
    let account: ParentAccount
    let version: UInt64
    var isEmpty: Bool { account.credential.isEmpty }
  }

  enum Entrance {
    /// Present it. `trial`: its number, if nobody has presented it yet, and others wait for what comes of it; nil: it is known.
    /// `isDoubted`: read its source again before.
    case go(trial: UInt64? = nil, isDoubted: Bool = false)
    /// Wait for what comes of the trial.
    case wait(until: Int64)
    /// - Parameter isFinal: it was presented, and is worth another try only if its source has another value.
    case refused(asked: String, isFinal: Bool)
  }

  private enum State {
    case trying(Trial)
    case accepted
    /// It was accepted, and then refused by an answer that may be an origin's.
    case doubted
    /// `until`: nanoseconds of the monotonic clock.
    case refused(asked: String, until: Int64, isFinal: Bool = true)
  }

  private struct Trial {
    var number: UInt64
    /// When the next one may try, as this one may depend on a target that never answers.
    var until: Int64
    var waiting: [LoopExecutor] = []
    var wasAccepted: Bool
  }

  private struct Book {
    var states: [Key: State] = [:]
    var trials: UInt64 = 0
    /// Of the present configuration.
    var accounts: Set<ParentAccount> = []

    mutating func begin(_ key: Key, now: Int64, waiting: [LoopExecutor], wasAccepted: Bool) -> UInt64 {
      trials += 1
      states[key] = .trying(
        Trial(number: trials, until: now + LoginTrials.trialTime, waiting: waiting, wasAccepted: wasAccepted))
      return trials
    }

    mutating func settle(_ key: Key, _ next: State) -> [LoopExecutor] {
      let before = states[key]
      states[key] = next
      for (other, state) in states where other.account == key.account && other.version < key.version {
        // Whoever waits there is told by those who try.
        if case .trying = state { continue }
        states[other] = nil
      }
      if case .trying(let trial) = before { return trial.waiting }
      return []
    }
  }

  private let book = Mutex(Book())

  /// How long a parent that wants a credential, and has none configured, is not asked again, in nanoseconds.
  static let pauseWithoutCredential: Int64 = 30_000_000_000
  /// How long one connection alone presents a credential that nobody knows, in nanoseconds.
  static let trialTime: Int64 = 3_000_000_000
  /// How long a credential that was accepted once is not sent after a refusal in absolute-form, which may be an origin's answer.
  private static let pauseAfterDoubt: Int64 = 60_000_000_000

  /// Entries, for tests.
  var count: Int { book.withLock { $0.states.count } }

  func enter(_ key: Key, from executor: LoopExecutor, now: Int64) -> Entrance {
    book.withLock { book in
      switch book.states[key] {
      case .accepted: return .go()
      case .refused(let asked, let until, let isFinal) where now < until: return .refused(asked: asked, isFinal: isFinal)
      case .trying(var trial) where now < trial.until:
        if !trial.waiting.contains(where: { $0 === executor }) { trial.waiting.append(executor) }
        book.states[key] = .trying(trial)
        return .wait(until: trial.until)
      case .trying(let trial):
        return .go(trial: book.begin(key, now: now, waiting: trial.waiting, wasAccepted: trial.wasAccepted))
      case nil, .refused, .doubted:
        // A parent without a credential is asked as often as one that wants none.
        if key.isEmpty { return .go() }
        let wasAccepted = if case .doubted = book.states[key] { true } else { false }
        return .go(trial: book.begin(key, now: now, waiting: [], wasAccepted: wasAccepted), isDoubted: wasAccepted)
      }
    }
  }

  /// The parent has let the credential pass: it answered anything but 407.
  /// - Returns: the loops with connections that wait for that.
  func accepted(_ key: Key) -> [LoopExecutor] { key.isEmpty ? [] : book.withLock { $0.settle(key, .accepted) } }

  /// - Parameters:
  ///   - isSure: only the parent can have said so: it answered CONNECT, or SOCKS.
  ///   - pause: nanoseconds until it is worth another try; nil: it was presented, and is not until it changes.
  ///   - now: nanoseconds of the monotonic clock.
  func refused(_ key: Key, asked: String, isSure: Bool, pause: Int64? = nil, now: Int64) -> [LoopExecutor] {
    // One step: what others say of the same credential comes before or behind it, and is not lost.
    book.withLock { book in
      if let pause = key.isEmpty ? Self.pauseWithoutCredential : pause {
        return book.settle(key, .refused(asked: asked, until: now + pause, isFinal: false))
      }
      guard !isSure else { return book.settle(key, .refused(asked: asked, until: .max)) }
      switch book.states[key] {
      case .accepted, .doubted: return book.settle(key, .doubted)
      case .trying(let trial) where trial.wasAccepted:
        return book.settle(key, .refused(asked: asked, until: now + Self.pauseAfterDoubt))
      // A version never comes back, so what was refused stays refused.
      case nil, .trying, .refused: return book.settle(key, .refused(asked: asked, until: .max))
      }
    }
  }

  /// Whether a connection that has it may present it again.
  func mayPresent(_ key: Key, now: Int64) -> Bool {
    if key.isEmpty { return true }
    return book.withLock { book in
      switch book.states[key] {
      case .accepted, .trying: true
      // Others are to be the ones that try: new connections.
      case nil, .doubted: false
      case .refused(_, let until, _): now >= until
      }
    }
  }

  /// A trial ended without an answer: somebody else may try. If another one has begun meanwhile, that goes on.
  func leave(_ key: Key, trial number: UInt64) -> [LoopExecutor] {
    book.withLock { book in
      guard case .trying(let trial) = book.states[key], trial.number == number else { return [] }
      book.states[key] = trial.wasAccepted ? .doubted : nil
      return trial.waiting
    }
  }

  /// Another configuration: forgets what neither it nor the one before has. Loops and requests may still use that one, and must not
  /// present what was refused.
  func keep(_ accounts: Set<ParentAccount>) {
    book.withLock { book in
      let kept = accounts.union(book.accounts)
      book.accounts = accounts
      book.states = book.states.filter { key, state in
        // Those who wait are told by those who try.
        if case .trying = state { return true }
        return kept.contains(key.account)
      }
    }
  }
}

/// One connection's presentation of a credential: what comes of it is said once. If nothing is, somebody else may try.
final class LoginTrial {
  private let key: LoginTrials.Key
  /// nil: others have presented it before.
  private let number: UInt64?
  private let shared: SharedUpstreams
  private var isSettled = false

  init(_ key: LoginTrials.Key, number: UInt64?, _ shared: SharedUpstreams) {
    self.key = key
    self.number = number
    self.shared = shared
  }

  deinit {
    if let number, !isSettled { tell(shared.logins.leave(key, trial: number)) }
  }

  /// The parent has answered a request that did not present it: others need not wait.
  func leave() {
    if let number, !isSettled { tell(shared.logins.leave(key, trial: number)) }
  }

  func accepted() {
    guard number != nil, !isSettled else { return }
    isSettled = true
    tell(shared.logins.accepted(key))
  }

  /// Also of one that was accepted before: the parent has another password now.
  /// - Parameters:
  ///   - isSure: only the parent can have said so.
  ///   - pause: nanoseconds until it is worth another try; nil: it was presented, and is not until it changes.
  func refused(asked: String, isSure: Bool, pause: Int64?, now: Int64) {
    isSettled = true
    tell(shared.logins.refused(key, asked: asked, isSure: isSure, pause: pause, now: now))
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
