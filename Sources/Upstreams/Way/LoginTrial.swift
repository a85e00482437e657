import EventIO

/// One connection's presentation of a credential: what comes of it is said once. If nothing is, somebody else may try.
final class LoginTrial {
  private let key: LoginTrials.Key
  private let form: LoginTrials.Form
  private let target: LoginTarget
  /// nil: others have presented it before.
  private let number: UInt64?
  private let shared: SharedUpstreams
  private var isSettled = false

  init(
    _ key: LoginTrials.Key, _ form: LoginTrials.Form, _ target: LoginTarget, number: UInt64?, _ shared: SharedUpstreams
  ) {
    self.key = key
    self.form = form
    self.target = target
    self.number = number
    self.shared = shared
  }

  deinit { leave() }

  /// Who says what comes of it.
  var refuser: ParentRefuser { form == .tunnel ? .tunnel(target.host) : .request(target.host) }

  /// What comes of it is not known, and others wait for that.
  var isOpen: Bool { number != nil && !isSettled }

  /// It was presented, and nobody reads an answer any more: the parent ended the connection, or it took too long.
  func unanswered(now: Int64) {
    guard let number, !isSettled else { return }
    isSettled = true
    tell(shared.logins.unanswered(key, form, trial: number, now: now))
  }

  /// Nothing was presented, or the answer says nothing of it: others need not wait.
  func leave() {
    if let number, !isSettled { tell(shared.logins.leave(key, form, trial: number)) }
  }

  /// - Parameter now: nanoseconds of the loop's clock.
  func accepted(now: Int64) {
    guard !isSettled else { return }
    isSettled = true
    tell(shared.logins.accepted(key, form, target, trial: number, now: now))
  }

  /// Also of one that was accepted before: the parent may have another password now.
  /// - Parameter pause: nanoseconds until it is worth another try; nil: it was presented, and is not until it changes.
  /// - Returns: whether the parent itself refuses it for all hosts.
  @discardableResult func refused(asked: String, pause: Int64?, now: Int64) -> Bool {
    isSettled = true
    let refusal = shared.logins.refused(key, form, target, asked: asked, trial: number, pause: pause, now: now)
    tell(refusal.waiting)
    return refusal.isForAll
  }

  /// Whether its connection may present the credential again.
  func mayPresent(isUnasked: Bool, now: Int64) -> Bool {
    shared.logins.mayPresent(key, for: target, trial: number, isUnasked: isUnasked, now: now)
  }

  private func tell(_ executors: [LoopExecutor]) {
    let key = key
    for executor in executors { executor.call { loop in Upstreams.of(loop).logins.settled(key) } }
  }
}
