import Credentials
import EventIO

/// The credential that a request goes with: there at once, waited for, or not to be had.
extension Request {
  func authorize() {
    guard let entry else { return }
    if !body.isDone { tee = ReplayTee(capacity: snapshot.settings.limits.replayBody) }
    guard let index = entry.credential, outbound.sendsCredential else { return connect() }
    let credential = worker.credential(index, of: snapshot)
    self.credential = credential
    obtain(credential)
  }

  private func obtain(_ credential: LoopCredential) {
    switch credential.authorize(self) {
    case .ready(let version): attach(version)
    case .wait(let wait): waitForCredential(wait)
    case .failed(let error): fail(error)
    }
  }

  private func attach(_ version: CredentialVersion) {
    guard let attached = attachable(version) else { return fail(.internalError) }
    authorization = attached
    connect()
  }

  /// Nil if it is of another credential than this request's configuration names: it must not go out with it.
  func attachable(_ version: CredentialVersion) -> AttachedCredential? {
    guard let index = entry?.credential else { return nil }
    return AttachedCredential(version, for: snapshot.credentials[index])
  }

  func waitForCredential(_ wait: CredentialWait) {
    credentialWait = wait
    waitStarted = loop.now
    if let entry { loop.arm(timer, at: loop.now + entry.timeouts.credential) }
    park()
  }

  func rearmWait() {
    if credentialWait != nil, let entry { loop.arm(timer, at: waitStarted + entry.timeouts.credential) }
  }

  /// False: the request is over.
  func endWait() -> Bool {
    guard !hasEnded else { return false }
    if let wait = credentialWait {
      credentialWait = nil
      wait.cancel()
      summary.waitedForCredential += loop.now - waitStarted
    }
    return true
  }

  /// A token has come, or will not.
  func credentialArrived(_ result: Result<CredentialVersion, ProxyError>) {
    guard credentialWait != nil, endWait() else { return }
    switch result {
    case .success(let version): attach(version)
    case .failure(let error): fail(error)
    }
  }

  /// The attempt is about to be sent. False: its token ended while it waited for a connection, and there is no other one yet.
  func isStillAuthorized() -> Bool {
    guard let authorization, let credential else { return true }
    let now = loop.now / 1_000_000
    if authorization.isUsable(at: now) { return true }
    guard let current = credential.current, current.isUsable(at: now), let attached = attachable(current) else { return false }
    self.authorization = attached
    summary.credentialVersion = current.number
    return true
  }

  /// An expired token is never sent: the attempt gave its connection back.
  func authorizeAgain() {
    guard let credential else { return }
    attempt = nil
    waitsForConnection = false
    summary.attempts -= 1
    obtain(credential)
  }
}
