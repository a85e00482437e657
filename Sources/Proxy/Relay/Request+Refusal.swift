import Credentials
import EventIO
import HTTPWire

/// The 401 that the app never sees: an answer that refuses the credential is held, and the request sent again, once.
extension Request {
  var refusalKey: RequestKey {
    RequestKey(
      entry: entry?.name ?? "", client: summary.client ?? "", method: summary.method, path: Array(summary.path.utf8))
  }

  /// Whether this answer is to be held. Where it is relayed instead, the owner is told all the same: the next request may be
  /// spared it.
  func holds(_ head: borrowing ResponseHead, _ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let credential, let authorization, !refusalIsSettled else { return false }
    guard credential.setup.refusals.contains(head.status) else {
      credential.accepted(self)
      return false
    }
    summary.refusals += 1
    if saysInsufficientScope(head, bytes) {
      settle("\(RelayReason.insufficientScope)", .relayed)
      return false
    }
    if isResent {
      credential.reportRefusal(of: self, version: authorization.version, isRetry: true)
      settle("\(RelayReason.refusedAgain)", .relayed)
      return false
    }
    var reason: RelayReason?
    if !canReplay { reason = .bodyNotKept }
    // Only a 401 says that nothing was done (RFC 9110 section 15.5.2).
    if head.status != 401, !method.isIdempotent { reason = .notIdempotent }
    guard let reason else { return true }
    credential.reportRefusal(of: self, version: authorization.version, isRetry: false)
    settle("\(reason)", reason == .bodyNotKept ? .bodyGone : .relayed)
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
  private func settle(_ note: String, _ result: UnauthorizedResult) {
    refusalIsSettled = true
    if let entry { worker.observer.unauthorized(entry, result) }
    proxyStatusNote = note
    summary.details = note
  }

  /// The attempt holds a refusal: asks what to do with it.
  func hold() {
    guard let credential, let authorization else { return relayHeld("\(RelayReason.unchanged)") }
    switch credential.refused(self, version: authorization.version) {
    case .resend(let next): resend(with: next, .newerVersion)
    case .relay(let note): relayHeld(note)
    case .wait(let wait): waitForCredential(wait)
    }
  }

  /// There is another version than the one that was refused.
  func resend(with next: CredentialVersion, _ result: UnauthorizedResult) {
    guard endWait(), let refused = attempt else { return }
    guard let next = attachable(next) else { return relayHeld("\(RelayReason.replaced)") }
    // What the app sent meanwhile did not fit: this answer is all that there is.
    guard canReplay else { return relayHeld("\(RelayReason.bodyNotKept)", .bodyGone) }
    isResent = true
    summary.wasResent = true
    if let entry { worker.observer.unauthorized(entry, result) }
    refused.abort()
    send(again: next)
  }

  /// No other version will come: the app gets the answer as it is.
  func relayHeld(_ note: String, _ result: UnauthorizedResult = .notRefreshed) {
    guard endWait(), let attempt else { return }
    settle(note, result)
    attempt.relayHeld()
  }

  /// While an answer is held, the app's body is read on, as far as it can be kept.
  func readBodyWhileHeld() {
    while !body.isDone, tee.isIntact {
      if case .length(let length) = bodyFraming, length > tee.capacity { return }
      if case .chunked = bodyFraming, tee.bytes.count + BlockPool.small > tee.capacity { return }
      guard case .piece = readBodyPiece() else { break }
    }
    // The wait has its own deadline, whatever moves meanwhile.
    rearmWait()
  }
}
