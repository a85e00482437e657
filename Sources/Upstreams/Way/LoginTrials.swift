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
    /// What may be this origin's answer has refused it: it is not presented there for a while, unless its source has another value.
    case heldBack(asked: String)
    /// It was presented, and nothing came back: it is not presented again for a while.
    case unanswered
  }

  private enum State {
    case trying(Trial)
    case accepted
    /// It was accepted, and then refused by an answer that may be an origin's.
    case doubted(Doubt)
    /// `until`: nanoseconds of the monotonic clock. `doubt`: it was accepted before.
    case refused(asked: String, until: Int64, isFinal: Bool = true, doubt: Doubt? = nil)
    /// Trials have ended without an answer.
    case unanswered(Silence)
  }

  private struct Silence {
    /// Nanoseconds of the monotonic clock.
    var until: Int64 = 0
    /// The last pause in nanoseconds; 0: there was none.
    var pause: Int64 = 0
    /// Trials that took too long since then.
    var overdue = 0

    mutating func pause(at now: Int64) {
      pause = pause == 0 ? LoginTrials.firstSilence : min(2 * pause, LoginTrials.longestSilence)
      until = now + pause
    }
  }

  /// An answer to a request in absolute-form may be the parent's or the origin's. What one origin says counts for that origin, until
  /// another one says the same.
  private struct Doubt {
    /// Who said it first.
    var origin: [UInt8]
    var since: Int64
    /// The next pause for all, in nanoseconds.
    var pause = LoginTrials.pauseAfterDoubt
  }

  private struct Place: Hashable {
    let key: Key
    let origin: [UInt8]
  }

  /// Where a credential is held back.
  private struct Hold {
    var asked: String
    var until: Int64
    var pause: Int64
  }

  private struct Trial {
    var number: UInt64
    /// When the next one may try, as this one may depend on a target that never answers.
    var until: Int64
    var waiting: [LoopExecutor] = []
    /// nil: it was never accepted.
    var doubt: Doubt?
    /// Of the trials before.
    var silence = Silence()
  }

  private struct Book {
    var states: [Key: State] = [:]
    var held: [Place: Hold] = [:]
    var trials: UInt64 = 0
    /// Of the present configuration.
    var accounts: Set<ParentAccount> = []

    mutating func begin(
      _ key: Key, now: Int64, waiting: [LoopExecutor] = [], _ doubt: Doubt? = nil, _ silence: Silence = Silence()
    ) -> UInt64 {
      trials += 1
      states[key] = .trying(
        Trial(number: trials, until: now + LoginTrials.trialTime, waiting: waiting, doubt: doubt, silence: silence))
      return trials
    }

    /// - Parameter pause: nanoseconds; each further one is twice as long, as long as these, and no longer than an hour.
    mutating func hold(_ place: Place, asked: String, pause first: Int64, now: Int64) {
      var pause = first
      if let last = held[place], now < last.until + last.pause {
        // Several connections may say the same at once.
        if now < last.until { return }
        if !place.key.isEmpty { pause = min(2 * last.pause, LoginTrials.longestPause) }
      }
      // Apps choose hosts, so there may be many.
      if held.count >= LoginTrials.maximumHeld { held = held.filter { now < $0.value.until + $0.value.pause } }
      if held.count >= LoginTrials.maximumHeld { held.removeAll() }
      held[place] = Hold(asked: asked, until: now + pause, pause: pause)
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
  /// How long at first a credential that was accepted once is not sent to an origin after refusals in absolute-form, which may be its own
  /// answers, and to none after those of two origins.
  static let pauseAfterDoubt: Int64 = 60_000_000_000
  /// Trials of one version that may take too long before there is a pause.
  static let maximumOverdue = 3
  /// How long a credential that was never accepted is not sent after a trial without an answer, in nanoseconds; doubling.
  static let firstSilence: Int64 = 5_000_000_000
  private static let longestSilence: Int64 = 300_000_000_000
  private static let longestPause: Int64 = 3_600_000_000_000
  private static let maximumHeld = 1024

  /// Entries, for tests.
  var count: Int { book.withLock { $0.states.count } }

  /// - Parameter origin: of requests in absolute-form; nil: the parent is asked for a tunnel.
  func enter(_ key: Key, for origin: [UInt8]? = nil, from executor: LoopExecutor, now: Int64) -> Entrance {
    book.withLock { book in
      if let origin, let hold = book.held[Place(key: key, origin: origin)], now < hold.until {
        return .heldBack(asked: hold.asked)
      }
      switch book.states[key] {
      case .accepted: return .go()
      case .refused(let asked, let until, let isFinal, _) where now < until: return .refused(asked: asked, isFinal: isFinal)
      case .trying(var trial) where now < trial.until:
        if !trial.waiting.contains(where: { $0 === executor }) { trial.waiting.append(executor) }
        book.states[key] = .trying(trial)
        return .wait(until: trial.until)
      case .trying(let trial):
        var silence = trial.silence
        // It may depend on a target that never answers. All that wait ask again at the same time.
        silence.overdue += 1
        if silence.overdue >= Self.maximumOverdue, trial.doubt == nil {
          silence.pause(at: now)
          book.states[key] = .unanswered(silence)
          return .unanswered
        }
        return .go(trial: book.begin(key, now: now, waiting: trial.waiting, trial.doubt, silence))
      case .unanswered(let silence) where now < silence.until: return .unanswered
      // A parent without a credential is asked as often as one that wants none.
      case _ where key.isEmpty: return .go()
      case nil: return .go(trial: book.begin(key, now: now))
      case .unanswered(let silence): return .go(trial: book.begin(key, now: now, nil, silence))
      case .doubted(let doubt): return .go(trial: book.begin(key, now: now, doubt), isDoubted: true)
      case .refused(_, _, _, let doubt):
        return .go(trial: book.begin(key, now: now, doubt), isDoubted: doubt != nil)
      }
    }
  }

  /// The parent has let the credential pass: it answered anything but 407.
  /// - Returns: the loops with connections that wait for that.
  func accepted(_ key: Key) -> [LoopExecutor] { key.isEmpty ? [] : book.withLock { $0.settle(key, .accepted) } }

  /// - Parameters:
  ///   - origin: to whose request in absolute-form this was the answer, which may be its own; nil: only the parent can have said so, as
  ///     it answered CONNECT, or SOCKS.
  ///   - number: of the trial; nil: others have presented it before.
  ///   - pause: nanoseconds until it is worth another try; nil: it was presented, and is not until it changes.
  ///   - now: nanoseconds of the monotonic clock.
  func refused(
    _ key: Key, asked: String, of origin: [UInt8]?, trial number: UInt64? = nil, pause: Int64? = nil, now: Int64
  ) -> [LoopExecutor] {
    let pause = key.isEmpty ? Self.pauseWithoutCredential : pause
    let refused = State.refused(asked: asked, until: pause.map { now + $0 } ?? .max, isFinal: pause == nil)
    // One step: what others say of the same credential comes before or behind it, and is not lost.
    return book.withLock { book in
      guard let origin else { return book.settle(key, refused) }
      let place = Place(key: key, origin: origin)
      switch book.states[key] {
      case .doubted(let doubt) where key.isEmpty && doubt.origin != origin && now < doubt.since + doubt.pause:
        return book.settle(key, refused)
      case .refused(_, let until, _, _) where key.isEmpty && now < until: return []
      case nil where key.isEmpty, .doubted where key.isEmpty, .refused where key.isEmpty:
        book.hold(place, asked: asked, pause: Self.pauseWithoutCredential, now: now)
        return book.settle(key, .doubted(Doubt(origin: origin, since: now, pause: Self.pauseWithoutCredential)))
      case .accepted: return book.settle(key, .doubted(Doubt(origin: origin, since: now)))
      // The next one tries it, and reads its source before.
      case .doubted: return []
      case .trying(let trial):
        guard var doubt = trial.doubt else { return book.settle(key, refused) }
        // What another connection is told, the one that tries is told, too.
        guard trial.number == number else { return [] }
        if doubt.origin == origin {
          book.hold(place, asked: asked, pause: Self.pauseAfterDoubt, now: now)
          return book.settle(key, .doubted(doubt))
        }
        let until = now + doubt.pause
        doubt = Doubt(origin: origin, since: now, pause: min(2 * doubt.pause, Self.longestPause))
        return book.settle(key, .refused(asked: asked, until: until, doubt: doubt))
      // A version never comes back, so what was refused stays refused.
      case .refused(_, _, _, doubt: .some): return []
      case nil, .refused, .unanswered: return book.settle(key, refused)
      }
    }
  }

  /// Whether a connection that has it may present it again.
  /// - Parameters:
  ///   - number: of the trial for which it was opened; nil: others had presented it before.
  ///   - isUnasked: the parent has served it without asking for the credential.
  func mayPresent(_ key: Key, for origin: [UInt8], trial number: UInt64?, isUnasked: Bool, now: Int64) -> Bool {
    book.withLock { book in
      if let hold = book.held[Place(key: key, origin: origin)], now < hold.until { return false }
      if key.isEmpty { return true }
      return switch book.states[key] {
      case .accepted: true
      case .trying(let trial): trial.number == number
      // Others are to be the ones that try: new connections.
      case nil: isUnasked
      case .doubted, .refused, .unanswered: false
      }
    }
  }

  /// A trial ended without an answer: somebody else may try. If another one has begun meanwhile, that goes on.
  func leave(_ key: Key, trial number: UInt64) -> [LoopExecutor] {
    book.withLock { book in
      guard case .trying(let trial) = book.states[key], trial.number == number else { return [] }
      var silence = trial.silence
      silence.until = 0
      let next = silence.pause > 0 || silence.overdue > 0 ? State.unanswered(silence) : nil
      book.states[key] = trial.doubt.map { .doubted($0) } ?? next
      return trial.waiting
    }
  }

  /// The parent ended the connection over which the credential was presented, and said nothing. It may have counted a failed login, so
  /// there is a pause before the next.
  func unanswered(_ key: Key, trial number: UInt64, now: Int64) -> [LoopExecutor] {
    book.withLock { book in
      guard case .trying(let trial) = book.states[key], trial.number == number, trial.doubt == nil else { return [] }
      var silence = trial.silence
      silence.pause(at: now)
      return book.settle(key, .unanswered(silence))
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
      book.held = book.held.filter { kept.contains($0.key.key.account) }
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

  /// The parent ended the connection over which it was presented, without an answer.
  func unanswered(now: Int64) {
    guard let number, !isSettled else { return }
    let waiting = shared.logins.unanswered(key, trial: number, now: now)
    tell(waiting)
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
  ///   - origin: to whose request in absolute-form this was the answer; nil: only the parent can have said so.
  ///   - pause: nanoseconds until it is worth another try; nil: it was presented, and is not until it changes.
  func refused(asked: String, of origin: [UInt8]?, pause: Int64?, now: Int64) {
    isSettled = true
    tell(shared.logins.refused(key, asked: asked, of: origin, trial: number, pause: pause, now: now))
  }

  /// Whether its connection may present the credential again, in requests for this origin.
  func mayPresent(for origin: [UInt8], isUnasked: Bool, now: Int64) -> Bool {
    shared.logins.mayPresent(key, for: origin, trial: number, isUnasked: isUnasked, now: now)
  }

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
