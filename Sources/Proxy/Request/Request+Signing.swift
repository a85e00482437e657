import Credentials
import EventIO
import Forwarding
import HTTPWire
import Upstreams

/// Where a credential that is more than a fixed field takes part in an exchange: it prepares each attempt, as the last thing before the
/// head is written, and reads each answer's head. A rendered field has no signer, and passes here by.
extension Request {
  /// Adds to the block, behind head and credential, what the signer has to say about this attempt.
  /// - Returns: the input if the request cannot be sent.
  func prepare(_ head: Block, _ signer: RequestSigner, into block: Block) -> RequestMachine.Input? {
    guard let attached = authorization.attached, let way, let written = WrittenHead(head.bytes) else {
      return refusedToSend(.internalError, block)
    }
    let signing = RequestSigner.Attempt(
      head: written, body: signedBody, credential: attached, origin: way.pool.origin.authority, noted: authorization.noted,
      request: self)
    switch signer.prepare(signing, into: block) {
    case .ready: return nil
    case .transforms, .needsBody, .wait: return refusedToSend(.internalError, block)
    case .refused(let error, let why):
      if signer.admitsReport(at: loop.now) { services.observer.signingFailed(attached.name, why) }
      return refusedToSend(error, block)
    }
  }

  private var signedBody: RequestSigner.Body {
    switch body.framing {
    case .none, .length(0): .none
    case .length(let length): .streamed(length: Int64(length))
    case .chunked, .untilClose: .streamed(length: nil)
    }
  }

  /// Nothing was written: the connection is as it was lent.
  private func refusedToSend(_ error: ProxyError, _ block: Block) -> RequestMachine.Input {
    loop.blocks.giveBack(block)
    attempt.exchange?.finish(inStep: true)
    return failing(error)
  }

  /// Lets the signer read an answer's head, and take out what is not for the app.
  func heed(
    _ head: inout ResponseHead, _ bytes: UnsafeRawBufferPointer, _ signer: RequestSigner, _ way: Way
  ) -> RequestSigner.Reading {
    // A held answer was read when it came; others may have taught more since.
    let isNews = attempt.held == nil
    let reading = signer.read(&head, in: bytes, from: way.pool.origin.authority, isNews: isNews)
    return isNews ? reading : .other
  }

  /// Whether the request would be sent again for a challenge.
  var mayBeChallenged: Bool {
    guard let way, way.entry.isSigned, let signer = authorization.view?.signer else { return false }
    return machine.challenges < signer.rounds
  }

  /// After a challenge: whether the request is sent again. Otherwise the app gets the challenge.
  func answersChallenge(_ canAnswer: Bool) -> Bool {
    guard let way else { return false }
    if canAnswer, mayBeChallenged, canReplay {
      services.observer.challenged(way.entry)
      return true
    }
    authorization.relayReason = canReplay ? .nonceRefused : .bodyNotKept
    record.answer.details = authorization.relayReason.map { "\($0)" }
    markRefusalSettled()
    return false
  }
}
