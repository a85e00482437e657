import Credentials
import EventIO
import HTTPWire

/// What a request knows about its credential.
struct Authorization {
  /// The entry's credential on this loop.
  var view: CredentialView?
  /// What the current attempt carries.
  var attached: AttachedCredential?
  var wait: CredentialWait?
  /// What its signer knows of the request; nil: it has noted nothing, and the request has not waited for it.
  var signing: SigningState?
  /// On whose behalf the request is; nil: the credential has one token for all requests.
  var subject: AppSubject?
  /// When the current wait began, in nanoseconds of the loop's clock.
  var waitStarted: Int64 = 0
  /// The version that followed a refused one, and how the proxy got it.
  var successor: (version: AttachedCredential, result: UnauthorizedResult)?
  /// Why the app gets an answer that a newer version might have avoided.
  var relayReason: RelayReason?
}

/// What the signer of a request's credential knows of it.
final class SigningState {
  /// What it has noted of the app's head.
  var noted: AnyObject?
  /// Counts the request as one that waits for it; nil: it does not wait now.
  var waiting: CredentialView?
  /// Until when the request waits for it at most, in nanoseconds of the loop's clock; nil: it has not waited.
  var waitEnds: Int64?
}

/// The credential of a request: available at once, waited for, or not available.
extension Request {
  func obtainCredential() -> RequestMachine.Input? {
    guard let index = way?.entry.credential, let timeout = way?.entry.timeouts.credential else {
      return failing(.internalError)
    }
    let view = authorization.view ?? services.credentials.view(index, of: snapshot)
    authorization.view = view
    switch view.authorize(self) {
    case .ready(let version): return attach(version)
    case .wait(let wait): waitForCredential(wait, atMost: timeout)
    case .failed(let error): return failing(error)
    }
    return nil
  }

  private func attach(_ version: CredentialVersion) -> RequestMachine.Input {
    authorization.attached = attachable(version)
    if authorization.attached == nil { return failing(.internalError) }
    return needsWholeBody ? .bodyNeeded : .credentialAttached
  }

  /// The credential to attach. Nil if it is another credential than this request's configuration names: it must not be sent
  /// with this request.
  func attachable(_ version: CredentialVersion) -> AttachedCredential? {
    guard let index = way?.entry.credential else { return nil }
    return AttachedCredential(version, for: snapshot.credentials[index], subject: authorization.subject)
  }

  /// Checks the token once the attempt has its connection. False if the token expired while the request waited, and there is no
  /// newer one.
  func isStillAuthorized() -> Bool {
    let now = loop.now / 1_000_000
    guard authorization.attached?.isUsable(at: now) == false, let view = authorization.view else { return true }
    guard let current = view.current, current.isUsable(at: now), let attached = attachable(current) else { return false }
    authorization.attached = attached
    record.credential.version = current.number
    return true
  }

  // MARK: Waiting

  /// - Parameter timeout: nanoseconds.
  func waitForCredential(_ wait: CredentialWait, atMost timeout: Int64) {
    authorization.wait = wait
    authorization.waitStarted = loop.now
    loop.arm(timer, at: loop.now + timeout)
    park()
  }

  func endWait() {
    if authorization.signing != nil { endPreparation() }
    guard let wait = authorization.wait else { return }
    authorization.wait = nil
    wait.cancel()
    record.times.waitedForCredential += loop.now - authorization.waitStarted
  }

  /// A token has arrived, or none will.
  func credentialFound(_ result: Result<CredentialVersion, ProxyError>) -> RequestMachine.Input? {
    guard authorization.wait != nil else { return nil }
    endWait()
    switch result {
    case .success(let version): return attach(version)
    case .failure(let error): return failing(error)
    }
  }
}
