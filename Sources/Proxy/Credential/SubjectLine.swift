import Credentials
import EventIO

/// The requests of one loop that wait for tokens of their own subjects. Belongs to the credential's view on this loop.
final class SubjectLine: EventHandler {
  /// Requests resumed per event-loop turn: a refused user may have thousands, which must not hold up the others.
  private static let wakeUps = 64

  private let tokens: SubjectTokens
  private unowned let desk: CredentialDesk
  private let home: LoopExecutor
  private let count: WaitCount
  private var waiting: [SubjectKey: [CredentialWait]] = [:]
  private var waking = ContiguousArray<(wait: CredentialWait, key: SubjectKey, result: Outcome)>()
  private var awake = 0
  private var setup: CredentialSetup

  typealias Outcome = Result<RenderedCredential, SubjectTable.Failure>

  init(_ tokens: SubjectTokens, _ setup: CredentialSetup, _ desk: CredentialDesk, _ home: LoopExecutor, _ count: WaitCount) {
    self.tokens = tokens
    self.setup = setup
    self.desk = desk
    self.home = home
    self.count = count
  }

  func adopt(_ next: CredentialSetup) { setup = next }

  /// Monotonic milliseconds.
  private var now: Int64 { desk.loop.now / 1_000_000 }

  // MARK: What requests ask

  func authorize(_ request: CredentialWaiter, _ subject: AppSubject) -> CredentialView.Supply {
    let (need, start) = tokens.need(subject.key, subject.client, token: subject.token, now: now)
    if let start { send(start) }
    switch need {
    case .ready(let credential): return .ready(CredentialVersion(credential, of: setup, subject: subject.key))
    case .failed(let failure): return .failed(error(failure, subject.client))
    case .wait:
      guard let wait = wait(request, subject) else {
        return .failed(
          .credentialUnavailable(
            setup.name, reason: "too many requests wait for it (limits.waiting_for_credential)", retryAfter: 1))
      }
      return .wait(wait)
    }
  }

  /// An origin refused `version`. The request holds the answer.
  func refused(_ request: CredentialWaiter, _ subject: AppSubject, version: UInt64) -> CredentialView.Refusal {
    let (decision, start) = refuse(subject, version: version, waits: true)
    if let start { send(start) }
    switch decision {
    case .resend(let credential):
      return .decided(.resend(CredentialVersion(credential, of: setup, subject: subject.key)))
    case .relay(let reason): return .decided(.relay(reason))
    case .wait:
      guard let wait = wait(request, subject, refused: version) else { return .decided(.relay(.tooManyWait)) }
      return .wait(wait)
    }
  }

  /// The same for an answer that is relayed in any case: the next request shall have another token.
  func reportRefusal(_ subject: AppSubject, version: UInt64) {
    if let start = refuse(subject, version: version, waits: false).start { send(start) }
  }

  private func refuse(
    _ subject: AppSubject, version: UInt64, waits: Bool
  ) -> (decision: SubjectTable.Refusal, start: SubjectTable.Start?) {
    tokens.refused(subject.key, subject.client, version: version, token: subject.token, waits: waits, now: now)
  }

  private func wait(_ request: CredentialWaiter, _ subject: AppSubject, refused: UInt64? = nil) -> CredentialWait? {
    guard count.enter(limit: setup.waitingLimit) else { return nil }
    let wait = CredentialWait(request, refused: refused, count: count)
    var line = waiting.removeValue(forKey: subject.key) ?? []
    if line.count >= 64, line.count > 2 * count.value { line.removeAll { $0.request == nil } }
    line.append(wait)
    waiting[subject.key] = line
    return wait
  }

  private func send(_ start: SubjectTable.Start) {
    let setup = setup
    home.call { loop in (CredentialDesk.of(loop).owner(of: setup) as? SubjectOwner)?.start(start) }
  }

  // MARK: What the owner says

  func settled(_ key: SubjectKey, _ result: Outcome) {
    guard let line = waiting.removeValue(forKey: key) else { return }
    for wait in line { waking.append((wait, key, result)) }
    desk.loop.again(self)
  }

  override func ready(_ events: UInt32, on loop: EventLoop) {
    let end = min(waking.count, awake + Self.wakeUps)
    while awake < end {
      let next = waking[awake]
      awake += 1
      resume(next.wait, next.key, next.result)
    }
    if awake == waking.count {
      waking.removeAll(keepingCapacity: waking.count <= 1024)
      awake = 0
    } else {
      loop.again(self)
    }
  }

  private func resume(_ wait: CredentialWait, _ key: SubjectKey, _ result: Outcome) {
    let refused = wait.refused
    guard let request = wait.take() else { return }
    switch (result, refused) {
    case (.success(let credential), nil):
      request.credentialArrived(.success(CredentialVersion(credential, of: setup, subject: key)))
    case (.failure(let failure), nil):
      request.credentialArrived(.failure(error(failure, request.subject?.client)))
    case (.success(let credential), let version?):
      request.refusalDecided(
        credential.version > version
          ? .resend(CredentialVersion(credential, of: setup, subject: key)) : .relay(.sameToken))
    case (.failure, _?): request.refusalDecided(.relay(.refreshFailed))
    }
  }

  private func error(_ failure: SubjectTable.Failure, _ client: SubjectClient?) -> ProxyError {
    switch failure {
    case .refused: return .subjectRefused(setup.name)
    case .tooManyRefused(let wait):
      return .tooManyRefusedSubjects(client: client?.name, retryAfter: Int(clamping: (wait + 999) / 1_000))
    case .full:
      return .credentialUnavailable(
        setup.name, reason: "too many users wait for a token (limits.subject_tokens)", retryAfter: 1)
    case .unavailable(let why): return ProxyError(why, of: setup.name)
    }
  }
}
