import Credentials
import EventIO
import HTTPWire

/// What a request knows of the credential that it goes with.
struct Authorization {
  /// The entry's credential on this loop.
  var view: CredentialView?
  /// What the present attempt carries.
  var attached: AttachedCredential?
  var wait: CredentialWait?
  /// When the present wait began.
  var waitStarted: Int64 = 0
  /// The version that came after a refusal, and how.
  var successor: (version: AttachedCredential, result: UnauthorizedResult)?
  /// Why an answer that might have been avoided is relayed.
  var relayReason: RelayReason?
}

/// The credential that a request goes with: there at once, waited for, or not to be had.
extension Request {
  func obtainCredential() -> RequestMachine.Input? {
    guard let entry = way?.entry, let index = entry.credential else { return failing(.internalError) }
    let view = authorization.view ?? services.credentials.view(index, of: snapshot)
    authorization.view = view
    switch view.authorize(self) {
    case .ready(let version): return attach(version)
    case .wait(let wait): waitForCredential(wait, entry)
    case .failed(let error): return failing(error)
    }
    return nil
  }

  private func attach(_ version: CredentialVersion) -> RequestMachine.Input {
    guard let attached = attachable(version) else { return failing(.internalError) }
    authorization.attached = attached
    return .credentialAttached
  }

  /// Nil if it is of another credential than this request's configuration names: it must not go out with it.
  func attachable(_ version: CredentialVersion) -> AttachedCredential? {
    guard let index = way?.entry.credential else { return nil }
    return AttachedCredential(version, for: snapshot.credentials[index])
  }

  /// The attempt has its connection. False: its token ended while it waited for that, and there is no other one yet.
  func isStillAuthorized() -> Bool {
    guard let attached = authorization.attached, let view = authorization.view else { return true }
    let now = loop.now / 1_000_000
    if attached.isUsable(at: now) { return true }
    guard let current = view.current, current.isUsable(at: now), let attached = attachable(current) else { return false }
    authorization.attached = attached
    record.credential.version = current.number
    return true
  }

  // MARK: Waiting

  func waitForCredential(_ wait: CredentialWait, _ entry: Entry) {
    authorization.wait = wait
    authorization.waitStarted = loop.now
    loop.arm(timer, at: loop.now + entry.timeouts.credential)
    park()
  }

  func endWait() {
    guard let wait = authorization.wait else { return }
    authorization.wait = nil
    wait.cancel()
    record.times.waitedForCredential += loop.now - authorization.waitStarted
  }

  /// A token has come, or will not.
  func credentialFound(_ result: Result<CredentialVersion, ProxyError>) -> RequestMachine.Input? {
    guard authorization.wait != nil else { return nil }
    endWait()
    switch result {
    case .success(let version): return attach(version)
    case .failure(let error): return failing(error)
    }
  }
}
