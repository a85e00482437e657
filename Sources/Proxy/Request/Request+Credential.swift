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

/// The credential that a request goes with: there at once, waited for, or not to be had; and the 401 that the app never sees.
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
  private func attachable(_ version: CredentialVersion) -> AttachedCredential? {
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

  private func waitForCredential(_ wait: CredentialWait, _ entry: Entry) {
    authorization.wait = wait
    authorization.waitStarted = loop.now
    loop.arm(timer, at: loop.now + entry.timeouts.credential)
    park()
  }

  private func endWait() {
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

  // MARK: Refusals

  /// Whether this answer is to be held. Where it is relayed instead, the owner is told all the same: the next request may be
  /// spared it.
  func holds(_ head: borrowing ResponseHead, _ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let view = authorization.view, let attached = authorization.attached, !machine.refusalIsSettled else { return false }
    guard view.setup.refusals.contains(head.status) else {
      view.accepted(self)
      return false
    }
    record.credential.refusals += 1
    if saysInsufficientScope(head, bytes) {
      settle(.insufficientScope)
      return false
    }
    if machine.isResent {
      view.reportRefusal(of: self, version: attached.version, isRetry: true)
      settle(.refusedAgain)
      return false
    }
    var reason: RelayReason?
    if !canReplay { reason = .bodyNotKept }
    // Only a 401 says that nothing was done (RFC 9110 section 15.5.2).
    if head.status != 401, !message.outbound.method.isIdempotent { reason = .notIdempotent }
    guard let reason else { return true }
    view.reportRefusal(of: self, version: attached.version, isRetry: false)
    settle(reason)
    return false
  }

  private func saysInsufficientScope(_ head: borrowing ResponseHead, _ bytes: UnsafeRawBufferPointer) -> Bool {
    guard head.contains(.wwwAuthenticate) else { return false }
    var challenges: [UInt8] = []
    for field in head.fields where field.id == .wwwAuthenticate {
      if !challenges.isEmpty { challenges.append(UInt8(ascii: ",")) }
      challenges.append(contentsOf: field.value.bytes(in: bytes))
    }
    return BearerChallenge.saysInsufficientScope(challenges)
  }

  /// The refusal goes to the app, and this is why.
  private func settle(_ reason: RelayReason) {
    settleRefusal()
    if let entry = way?.entry { services.observer.unauthorized(entry, UnauthorizedResult(reason)) }
    authorization.relayReason = reason
    record.answer.details = "\(reason)"
  }

  /// The attempt holds a refusal: what becomes of it?
  func settleHeldRefusal() -> RequestMachine.Input? {
    attempt.stopUploading(on: loop)
    if let input = collectHeld() { return input }
    if let input = readBodyWhileHeld() { return input }
    guard let view = authorization.view, let attached = authorization.attached, let entry = way?.entry else {
      return decide(.relay(.unchanged), .newerVersion)
    }
    switch view.refused(self, version: attached.version) {
    case .decided(let decision): return decide(decision, .newerVersion)
    case .wait(let wait):
      waitForCredential(wait, entry)
      return nil
    }
  }

  func decide(_ decision: RefusalDecision, _ result: UnauthorizedResult) -> RequestMachine.Input {
    endWait()
    switch decision {
    case .resend(let version):
      guard let next = attachable(version) else { return decide(.relay(.replaced), result) }
      authorization.successor = (next, result)
      return .successorFound(canReplay: canReplay)
    case .relay(let reason):
      authorization.relayReason = reason
      return .refusalStands
    }
  }

  /// Once more, with another version.
  func resend() -> RequestMachine.Input? {
    guard let (version, result) = authorization.successor else { return failing(.internalError) }
    authorization.successor = nil
    authorization.attached = version
    record.credential.wasResent = true
    if let entry = way?.entry { services.observer.unauthorized(entry, result) }
    return connect()
  }

  /// No other version will come: the app gets the answer as it came.
  func relayHeld(_ why: RequestMachine.HeldReason) -> RequestMachine.Input? {
    endWait()
    switch why {
    case .decided: settle(authorization.relayReason ?? .unchanged)
    case .bodyNotKept: settle(.bodyNotKept)
    case .timeUp: settle(.timeUp)
    }
    guard let held = attempt.held, !held.isBroken else { return attemptFailed(.bodyBroken, isStale: false) }
    return relayHeld(held)
  }

  /// While an answer is held, the app's body is read on, as far as it can be kept.
  func readBodyWhileHeld() -> RequestMachine.Input? {
    let end = body.readWhileHeld(from: app, pulse)
    // The wait has its own deadline, whatever moves meanwhile.
    if authorization.wait != nil, let entry = way?.entry {
      loop.arm(timer, at: authorization.waitStarted + entry.timeouts.credential)
    }
    switch end {
    case .appLeft: return .clientBroken
    case .malformed(let error): return malformed(error)
    case .piece, .blocked, nil: return nil
    }
  }
}

extension UnauthorizedResult {
  /// - Parameter reason: why the answer is relayed.
  init(_ reason: RelayReason) {
    switch reason {
    case .refusedAgain, .remembered, .insufficientScope, .notIdempotent: self = .relayed
    case .bodyNotKept: self = .bodyGone
    case .windowUsedUp, .backingOff, .refreshFailed, .sameToken, .needsOperator, .unchanged, .replaced, .tooManyWait,
      .tooManyHeld,
      .timeUp:
      self = .notRefreshed
    }
  }
}
