import Credentials
import EventIO
import Forwarding
import HTTPWire
import Upstreams

/// Where a credential that is more than a fixed field takes part in an exchange: it notes what it needs of the app's head, prepares each
/// attempt, as the last thing before the head is written, and reads each answer. A rendered field has no signer, and passes here by.
extension Request {
  // MARK: Out

  /// - Parameter bytes: the app's head, before any of its fields is dropped.
  func noteForSigner(_ entry: Entry, _ bytes: UnsafeRawBufferPointer) throws(ProxyError) {
    guard let index = entry.credential, let signer = services.credentials.view(index, of: snapshot).signer else { return }
    guard let noted = try signer.note(services.requestHead, in: bytes) else { return }
    let state = SigningState()
    state.noted = noted
    authorization.signing = state
  }

  /// Lets the signer refuse a request before anything is spent on it.
  func checkSigned(_ entry: Entry, _ origin: OriginAuthority) throws(ProxyError) {
    guard let index = entry.credential, let signer = services.credentials.view(index, of: snapshot).signer,
      let head = message.head, let written = WrittenHead(head.bytes)
    else { return }
    let name = entry.settings.credential ?? ""
    let length: Int64? =
      switch message.outbound.framing {
      case .none: 0
      case .length(let length): Int64(length)
      case .chunked, .untilClose: nil
      }
    let refusal = signer.refusal(
      of: written, length: length, noted: authorization.signing?.noted, isTLS: origin.isTLS, by: name)
    guard let refusal else { return }
    if signer.admitsReport(at: loop.now) { services.observer.signingFailed(name, refusal.why) }
    throw refusal.error
  }

  /// Adds to the block, behind head and credential, what the signer has to say about this attempt.
  /// - Returns: the input if the request is not sent now.
  func prepare(_ head: Block, _ signer: RequestSigner, into block: Block) -> RequestMachine.Input? {
    guard let attached = authorization.attached, let way, let written = WrittenHead(head.bytes) else {
      return refusedToSend(.internalError, block)
    }
    // The array is the request's own as long as this lasts.
    let preparation = body.tee.bytes.withUnsafeBytes { kept in
      signer.prepare(
        RequestSigner.Draft(
          head: written, body: preparedBody(kept), digest: body.digest, credential: attached,
          target: way.rules.target, origin: way.pool.origin.authority, noted: authorization.signing?.noted, request: self),
        into: block)
    }
    switch preparation {
    case .ready: record.credential.payload = signer.payload
    case .transforms(let transform):
      guard !body.isWhole, body.framing.hasBytes else {
        return refusedToSend(.internalError, block)
      }
      record.credential.payload = signer.payload
      attempt.upload.pass(through: transform, services.buffers)
    case .needsBody:
      guard needsWholeBody else { return refusedToSend(.internalError, block) }
      notSent(block)
      return .bodyNeeded
    case .wait:
      notSent(block)
      return waitForPreparation(way.entry)
    case .refused(let error, let why):
      if signer.admitsReport(at: loop.now) { services.observer.signingFailed(attached.name, why) }
      return refusedToSend(error, block)
    }
    return nil
  }

  private func preparedBody(_ kept: UnsafeRawBufferPointer) -> RequestSigner.Body {
    if body.isWhole { return .whole(kept) }
    switch body.framing {
    case .none, .length(0): return .none
    case .length(let length): return .streamed(length: Int64(length))
    case .chunked, .untilClose: return .streamed(length: nil)
    }
  }

  private func refusedToSend(_ error: ProxyError, _ block: Block) -> RequestMachine.Input {
    notSent(block)
    return failing(error)
  }

  /// Nothing was written: the connection is as it was lent.
  private func notSent(_ block: Block) {
    loop.blocks.giveBack(block)
    attempt.exchange?.finish(inStep: true)
    record.upstream.attempts -= 1
  }

  /// Waits for the signer, all its waits of this request together as long as for a token.
  private func waitForPreparation(_ entry: Entry) -> RequestMachine.Input {
    guard let view = authorization.view, view.enterPreparation() else {
      return failing(.credentialUnavailable(entry.settings.credential ?? "", reason: CredentialView.queueIsFull, retryAfter: 1))
    }
    let state = authorization.signing ?? SigningState()
    authorization.signing = state
    authorization.waitStarted = loop.now
    let end = state.waitEnds ?? loop.now + entry.timeouts.credential
    state.waiting = view
    state.waitEnds = end
    loop.arm(timer, at: end)
    park()
    return .preparationNeeded
  }

  func endPreparation() {
    guard let state = authorization.signing, let view = state.waiting else { return }
    state.waiting = nil
    view.leavePreparation()
    record.times.waitedForCredential += loop.now - authorization.waitStarted
  }

  // MARK: In

  /// Lets the signer read an answer's head, and take out what is not for the app.
  func heed(
    _ head: inout ResponseHead, _ bytes: UnsafeRawBufferPointer, _ signer: RequestSigner, _ way: Way
  ) -> RequestSigner.Reading {
    // A held answer was read when it came; others may have taught more since.
    let isNews = attempt.held == nil
    signer.times = times(answered: loop.now)
    let reading = signer.read(
      &head, in: bytes, of: authorization.signing?.noted, from: way.pool.origin.authority, isNews: isNews)
    reportSkew(signer)
    return isNews ? reading : .other
  }

  /// An answer without a body has all of it in its head.
  func readEmpty(_ head: borrowing ResponseHead, _ bytes: UnsafeRawBufferPointer, _ way: Way) -> RequestSigner.Reading {
    guard let signer = authorization.view?.signer else { return .other }
    defer { reportSkew(signer) }
    return signer.read(
      body: [], of: head, in: bytes, noted: authorization.signing?.noted, from: way.pool.origin.authority)
  }

  /// - Parameter answered: when the answer's head had arrived.
  private func times(answered: Int64) -> RequestSigner.Times {
    RequestSigner.Times(sent: attempt.upload.isSent ? record.times.sent : 0, answered: answered)
  }

  private func reportSkew(_ signer: RequestSigner) {
    guard let skew = signer.skew, let entry = way?.entry else { return }
    signer.skew = nil
    services.observer.clockSkewed(entry, skew)
  }

  /// After NTLM or Negotiate of the app's own, the connection serves only this app. After that of the entry's credential it serves the
  /// entry, whose pool is its own; while an authentication goes on, this app's connection alone.
  func bindConnection(
    by head: borrowing ResponseHead, _ bytes: UnsafeRawBufferPointer, _ reading: RequestSigner.Reading, _ entry: Entry
  ) {
    guard !entry.account.isEmpty else {
      if head.authenticatesConnection(in: bytes) { attempt.exchange?.bindToClient() }
      return
    }
    if case .continues = reading { attempt.exchange?.keepForNext() } else { attempt.exchange?.unbindFromClient() }
  }

  /// The attempt holds an answer whose body the signer must read: does so when enough of it has arrived.
  func readHeld() -> RequestMachine.Input? {
    if let input = collectHeld() { return input }
    guard let held = attempt.held, held.isReadable else { return nil }
    held.isRead = false
    switch reading(of: held) {
    case .other, .needsBody:
      guard authorization.view?.setup.refusals.contains(held.status) == true else {
        authorization.view?.accepted(self)
        authorization.relayReason = nil
        return .refusalStands
      }
      let bytes = held.head.bytes
      let lacksScope = saysInsufficientScope(services.upstreams.responseHead, bytes)
      guard let reason = lacksScope ? .insufficientScope : reasonToRelay(status: held.status, ofAnyMethod: false) else {
        return settleRefusal()
      }
      authorization.relayReason = reason
      return .refusalStands
    case .challenge(let canAnswer): return answersChallenge(canAnswer) ? .challenged : .refusalStands
    case .continues, .invalid: return failing(.internalError)
    case .refused:
      if let reason = reasonToRelay(status: held.status, ofAnyMethod: true) {
        authorization.relayReason = reason
        return .refusalStands
      }
      return settleRefusal()
    }
  }

  private func reading(of held: HeldAnswer) -> RequestSigner.Reading {
    let head = held.head.bytes
    services.upstreams.responseHead.reset()
    guard let way, let signer = authorization.view?.signer,
      case .complete = services.upstreams.responseHead.parse(head, limit: head.count)
    else { return .other }
    signer.times = times(answered: held.arrived)
    defer { reportSkew(signer) }
    let body = held.beginning(services.upstreams.responseHead)
    return signer.read(
      body: body, of: services.upstreams.responseHead, in: head, noted: authorization.signing?.noted,
      from: way.pool.origin.authority)
  }

  // MARK: Challenges

  /// Whether the request would be sent again for a challenge.
  var mayBeChallenged: Bool {
    guard let way, way.entry.isSigned, let signer = authorization.view?.signer else { return false }
    return machine.challenges < signer.rounds
  }

  /// After a challenge: whether the request is sent again. Otherwise the app gets the challenge.
  func answersChallenge(_ canAnswer: Bool) -> Bool {
    guard let way, let signer = authorization.view?.signer, let attached = authorization.attached else { return false }
    let isAnswered = canAnswer && mayBeChallenged && canReplay
    signer.tell(
      services.observer, isAnswered ? .answered : canReplay ? .relayed : .bodyGone, to: attached.name, of: way.entry)
    if isAnswered { return true }
    authorization.relayReason = canReplay ? signer.unansweredReason : .bodyNotKept
    record.answer.details = authorization.relayReason.map { "\($0)" }
    markRefusalSettled()
    return false
  }
}
