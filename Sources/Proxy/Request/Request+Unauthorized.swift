import Credentials
import EventIO
import HTTPWire
import Upstreams

/// The 401 that the app never sees: the proxy holds an answer that refuses the credential, and sends the request again, once.
/// `HeldAnswer` keeps the answer's body: it copies a small one and frees the connection; a larger one waits on its connection, which
/// closes if the request is sent again.
/// `AppBody` keeps the request's body.
extension Request {
  /// Whether to hold this answer. If it is relayed instead, the owner is told anyway, because that may spare the next request a
  /// refusal; but not of a lack of scope, which another token does not cure.
  /// - Parameter isRefusal: the signer has read a refusal in it, whatever its status.
  func holds(_ head: borrowing ResponseHead, _ bytes: UnsafeRawBufferPointer, isRefusal: Bool) -> Bool {
    guard let view = authorization.view, authorization.attached != nil, !machine.refusalIsSettled else { return false }
    guard isRefusal || view.setup.refusals.contains(head.status) else {
      view.accepted(self)
      return false
    }
    if saysInsufficientScope(head, bytes) {
      record.credential.refusals += 1
      relayRefusal(because: .insufficientScope)
      return false
    }
    guard let reason = reasonToRelay(status: head.status, ofAnyMethod: isRefusal) else { return true }
    relayRefusal(because: reason)
    return false
  }

  /// Why a refusal is relayed at once; the credential's owner is told. nil: another version may avoid it.
  /// - Parameter ofAnyMethod: the answer itself says that nothing was done.
  func reasonToRelay(status: Int, ofAnyMethod: Bool) -> RelayReason? {
    guard let view = authorization.view, let attached = authorization.attached else { return .replaced }
    record.credential.refusals += 1
    var reason: RelayReason?
    if machine.isResent {
      reason = .refusedAgain
    } else if status != 401, !ofAnyMethod, !message.outbound.method.isIdempotent {
      // Only a 401 says that nothing was done (RFC 9110 section 15.5.2).
      reason = .notIdempotent
    } else if !canReplay {
      reason = .bodyNotKept
    }
    if reason != nil { view.reportRefusal(of: self, version: attached.version, isRetry: machine.isResent) }
    return reason
  }

  func saysInsufficientScope(_ head: borrowing ResponseHead, _ bytes: UnsafeRawBufferPointer) -> Bool {
    guard head.contains(.wwwAuthenticate) else { return false }
    return TokenChallenge.saysInsufficientScope(head.fields.joinedValues(of: .wwwAuthenticate, in: bytes))
  }

  /// Notes that the app gets the refusal, and why.
  private func relayRefusal(because reason: RelayReason) {
    markRefusalSettled()
    if let entry = way?.entry { services.observer.unauthorized(entry, UnauthorizedResult(reason)) }
    authorization.relayReason = reason
    record.answer.details = "\(reason)"
  }

  /// The attempt holds a refusal: finds out what to do with it.
  func settleHeldRefusal() -> RequestMachine.Input? {
    attempt.stopUploading(on: loop)
    guard attempt.held?.isRead != true else {
      pulse.moved()
      return readHeld() ?? readBodyWhileHeld()
    }
    return settleRefusal()
  }

  func settleRefusal() -> RequestMachine.Input? {
    if let input = collectHeld() {
      // Relayed at once, but the next request shall not be refused.
      if let attached = authorization.attached {
        authorization.view?.reportRefusal(of: self, version: attached.version, isRetry: false)
      }
      return input
    }
    if let input = readBodyWhileHeld() { return input }
    guard let view = authorization.view, let attached = authorization.attached, let entry = way?.entry else {
      return follow(.relay(.unchanged), .newerVersion)
    }
    switch view.refused(self, version: attached.version) {
    case .decided(let decision): return follow(decision, .newerVersion)
    case .wait(let wait):
      waitForCredential(wait, atMost: entry.timeouts.credential)
      return nil
    }
  }

  func follow(_ decision: RefusalDecision, _ result: UnauthorizedResult) -> RequestMachine.Input {
    endWait()
    switch decision {
    case .resend(let version):
      guard let next = attachable(version) else { return follow(.relay(.replaced), result) }
      authorization.successor = (next, result)
      return .successorFound(canReplay: canReplay)
    case .relay(let reason):
      authorization.relayReason = reason
      return .refusalStands
    }
  }

  /// Sends the request once more, with another version.
  func resend() -> RequestMachine.Input? {
    guard let (version, result) = authorization.successor else { return failing(.internalError) }
    authorization.successor = nil
    authorization.attached = version
    record.credential.wasResent = true
    if let entry = way?.entry { services.observer.unauthorized(entry, result) }
    return beginAttempt()
  }

  /// Relays the held answer, because the request is not sent again.
  func relayHeld(_ why: RequestMachine.HeldReason) -> RequestMachine.Input? {
    endWait()
    switch why {
    // Without a reason it is no refusal.
    case .decided: if let reason = authorization.relayReason { relayRefusal(because: reason) }
    case .bodyNotKept: relayRefusal(because: .bodyNotKept)
    // Whether one that is still being read is a refusal, nobody knows.
    case .timeUp: if attempt.held?.isRead != true { relayRefusal(because: .timeUp) }
    }
    guard let held = attempt.held, !held.isBroken else { return attemptFailed(.bodyBroken, isStale: false) }
    return compose(held)
  }

  /// Reads the app's body while an answer is held, as long as the body can be kept.
  func readBodyWhileHeld() -> RequestMachine.Input? {
    let end = body.readWhileHeld(from: app, pulse)
    // The wait has its own deadline, which moving bytes do not postpone.
    if authorization.wait != nil, let entry = way?.entry {
      loop.arm(timer, at: authorization.waitStarted + entry.timeouts.credential)
    }
    switch end {
    case .appLeft: return .clientBroken
    case .malformed(let error): return malformed(error)
    case .piece, .blocked, nil: return nil
    }
  }

  /// Reads what has arrived of the held answer.
  func collectHeld() -> RequestMachine.Input? {
    guard let held = attempt.held, let connection = attempt.exchange?.connection, let pool = way?.pool else { return nil }
    switch held.collect(connection, of: pool.limit, capacity: snapshot.settings.limits.upstreamConnections) {
    case .partial: return nil
    case .whole:
      attempt.complete(inStep: held.keepsUpstream, on: loop)
      return nil
    case .tooMany:
      authorization.relayReason = .tooManyHeld
      return .refusalStands
    }
  }

  /// Relays head and body of the held answer.
  private func compose(_ held: HeldAnswer) -> RequestMachine.Input? {
    let head = held.head.bytes
    services.upstreams.responseHead.reset()
    guard case .complete = services.upstreams.responseHead.parse(head, limit: head.count) else {
      return attemptFailed(.bodyBroken, isStale: false)
    }
    let decision: AnswerPlan
    do throws(ProxyError) { decision = try plan(for: head) } catch { return attemptFailed(error, isStale: false) }
    switch decision {
    case .relay:
      attempt.download?.take(held, for: app)
      attempt.held = nil
      return .answerComposed
    case .drop: return .answerDropped
    case .stored:
      attempt.held = nil
      return .answerFound
    case .repeatUnconditionally:
      attempt.held = nil
      return .validationRefused
    case .interim, .upgrade, .challenge, .hold, .read, .follow, .repeatWithoutExpectation, .share:
      return failing(.internalError)
    }
  }
}

extension UnauthorizedResult {
  /// - Parameter reason: why the answer is relayed.
  init(_ reason: RelayReason) {
    switch reason {
    case .refusedAgain, .remembered, .insufficientScope, .nonceRefused, .challengedAgain, .challengeUnknown, .onlyNTLM,
      .notIdempotent:
      self = .relayed
    case .bodyNotKept: self = .bodyGone
    case .windowUsedUp, .backingOff, .refreshFailed, .sameToken, .needsOperator, .unchanged, .replaced, .tooManyWait,
      .tooManyHeld,
      .timeUp:
      self = .notRefreshed
    }
  }
}
