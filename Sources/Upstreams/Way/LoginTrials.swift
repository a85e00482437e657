import EventIO
import Synchronization
import WayOut

/// Who this process is to one parent: the parent as it is reached, and the identity of the credential.
public struct ParentAccount: Hashable, Sendable {
  let hop: Hop
  /// Digest of the credential's identity; empty: none.
  let credential: [UInt8]
}

/// What the whole process knows of each parent's credential, so that no account is locked by a wrong password, and no right one is
/// switched off by an origin, a target or a client. `LoginVersion` decides; this has the lock, and those who wait.
///
/// What holds, in any hour, of a wrong password, which is one that the parent accepts for nobody (`LoginRulesTests`):
///
/// - A parent that answers within 3 s gets it once by CONNECT, and never again; in absolute-form, where an origin may have answered, at
///   most 12 times.
/// - A parent that gives no answer at all gets it 70 times at most in each form.
/// - Of a version that was accepted before: in flight when the first refusal comes, once for each of 256 targets that were served,
///   hosts with their ports, and 12 times for others.
///
/// An answer that is neither a refusal nor an acceptance (403, 5xx) says nothing of a password. One at a time goes on then.
///
/// Of a right password, whatever origins answer in absolute-form: a tunnel waits only until the first one was accepted. Each target that is
/// dead costs it 3 s once, and three of them a pause of 5 s, doubling to 5 min.
final class LoginTrials: Sendable {
  struct Key: Hashable, Sendable {
    let account: ParentAccount
    let version: UInt64
    var isEmpty: Bool { account.credential.isEmpty }
  }

  typealias Entrance = LoginSide.Entrance
  typealias Form = LoginVersion.Form

  private struct Entry {
    var version: LoginVersion
    var waiting: [LoopExecutor] = []
  }

  private struct Book {
    var entries: [Key: Entry] = [:]
    var trials: UInt64 = 0
    /// Of the present configuration.
    var accounts: Set<ParentAccount> = []

    /// - Returns: the loops with connections that wait for this.
    mutating func change(_ key: Key, _ body: (inout LoginVersion) -> Void) -> [LoopExecutor] {
      body(&entries[key, default: Entry(version: LoginVersion(hasCredential: !key.isEmpty))].version)
      guard entries[key]?.waiting.isEmpty == false else { return [] }
      defer { entries[key]?.waiting = [] }
      return entries[key]?.waiting ?? []
    }

    /// Of a version that the parent has judged, those before are over.
    mutating func forgetOlder(than key: Key) {
      guard entries.count > 1 else { return }
      for (other, entry) in entries where other.account == key.account && other.version < key.version {
        // Whoever waits there is told by those who try.
        if entry.version.isQuiet, entry.waiting.isEmpty { entries[other] = nil }
      }
    }
  }

  private let book = Mutex(Book())

  /// Versions, for tests.
  var count: Int { book.withLock { $0.entries.count } }

  /// - Parameters:
  ///   - target: for which the parent is asked.
  ///   - now: nanoseconds of the monotonic clock, as everywhere here.
  func enter(_ key: Key, _ form: Form, _ target: LoginTarget, from executor: LoopExecutor, now: Int64) -> Entrance {
    book.withLock { book in
      var entry = book.entries.removeValue(forKey: key) ?? Entry(version: LoginVersion(hasCredential: !key.isEmpty))
      let entrance = entry.version.enter(form, target, number: book.trials + 1, now: now)
      switch entrance {
      case .go(trial: .some, _): book.trials += 1
      case .wait: if !entry.waiting.contains(where: { $0 === executor }) { entry.waiting.append(executor) }
      case .go, .refused, .heldBack, .unanswered: break
      }
      book.entries[key] = entry
      return entrance
    }
  }

  /// The parent has let the credential pass.
  /// - Parameter number: of the trial; nil: others have presented it before.
  /// - Returns: the loops with connections that wait for that.
  func accepted(_ key: Key, _ form: Form, _ target: LoginTarget, trial number: UInt64?, now: Int64) -> [LoopExecutor] {
    book.withLock { book in
      book.forgetOlder(than: key)
      return book.change(key) { $0.accepted(form, target, trial: number, now: now) }
    }
  }

  /// - Parameters:
  ///   - number: of the trial; nil: others have presented it before.
  ///   - pause: nanoseconds until it is worth another try; nil: it was presented, and is not until it changes.
  /// - Returns: whether the parent itself refuses it for all hosts; and the loops with connections that wait for that.
  func refused(
    _ key: Key, _ form: Form, _ target: LoginTarget, asked: String, trial number: UInt64?, pause: Int64?, now: Int64
  ) -> (isForAll: Bool, waiting: [LoopExecutor]) {
    // One step: what others say of the same credential comes before or behind it, and is not lost.
    book.withLock { book in
      book.forgetOlder(than: key)
      var isForAll = false
      let waiting = book.change(key) {
        isForAll = $0.refused(form, target, asked: asked, trial: number, pause: pause, now: now)
      }
      return (isForAll, waiting)
    }
  }

  /// Whether a connection that has it may present it again, in absolute-form.
  /// - Parameters:
  ///   - number: of the trial for which it was opened; nil: others had presented it before.
  ///   - isUnasked: the parent has served it without asking for the credential.
  func mayPresent(_ key: Key, for target: LoginTarget, trial number: UInt64?, isUnasked: Bool, now: Int64) -> Bool {
    book.withLock { book in
      guard let entry = book.entries[key] else { return key.isEmpty || isUnasked }
      return entry.version.mayPresent(for: target, trial: number, isUnasked: isUnasked, now: now)
    }
  }

  /// A trial ended without presenting it, or with an answer that says nothing of it: somebody else may try.
  func leave(_ key: Key, _ form: Form, trial number: UInt64) -> [LoopExecutor] {
    book.withLock { book in
      // A reload may have forgotten it.
      book.entries[key] == nil ? [] : book.change(key) { $0.leave(form, number) }
    }
  }

  /// It was presented, and nobody reads an answer any more. The parent may have counted a failed login.
  func unanswered(_ key: Key, _ form: Form, trial number: UInt64, now: Int64) -> [LoopExecutor] {
    book.withLock { book in
      book.entries[key] == nil ? [] : book.change(key) { $0.unanswered(form, number, now: now) }
    }
  }

  /// Another configuration: forgets what neither it nor the one before has. Loops and requests may still use that one, and must not
  /// present what was refused.
  func keep(_ accounts: Set<ParentAccount>) {
    book.withLock { book in
      let kept = accounts.union(book.accounts)
      book.accounts = accounts
      // Those who wait are told by those who try.
      book.entries = book.entries.filter { kept.contains($0.key.account) || !$0.value.version.isQuiet }
    }
  }
}
