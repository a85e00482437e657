import EventIO
import HTTPWire
import Upstreams

/// `Expect: 100-continue` and interim responses. The proxy asks the origin before a body that it could not send a second time,
/// and tells the app when its body is wanted.
extension Request {
  /// Upper bound on interim responses per request; more is treated as a broken origin.
  private static let interimLimit = 100
  /// Nanoseconds that an origin may ignore `Expect: 100-continue` before the proxy sends the body anyway.
  private static let patience: Int64 = 1_000_000_000
  /// Nanoseconds until such an origin is asked again.
  private static let silenceIsRemembered: Int64 = 3_600_000_000_000

  /// Asks the origin for 100 before a body that could not be sent a second time. Otherwise, an app that waits for 100 gets it
  /// now.
  /// - Returns: the input if the request ends here.
  func askBeforeBody(_ block: Block) -> RequestMachine.Input? {
    // A chunked body can be kept if it has arrived completely. Only a request with a credential, for the origin or the parent, has a reason
    // to ask.
    if body.isChunked, mayBeRefused, !message.expectsContinue,
      let outcome = attempt.upload.readChunksAtHand(of: &body, from: app, pulse), let input = ended(outcome)
    {
      return input
    }
    guard asksBeforeBody else { return continueApp() }
    block.append("Expect: 100-continue\r\n")
    let timer = ContinueTimer(self)
    attempt.awaitContinue(timer)
    loop.arm(timer, at: loop.now + Self.patience)
    return nil
  }

  private var asksBeforeBody: Bool {
    // It is too late to ask if a part of the body can no longer be sent again.
    guard !body.isDone, canReplay, !machine.hasMetExpectationFailure, way?.pool.limit.isSilent(at: loop.now) == false else {
      return false
    }
    let isLast = machine.isResent && !mayBeChallenged && !parentMayChallenge
    return message.expectsContinue || mayBeRefused && body.mayExceedTee(isLast: isLast)
  }

  /// Another attempt may follow a refusal or a challenge.
  private var mayBeRefused: Bool { authorization.attached != nil || parentMayChallenge }

  private var parentMayChallenge: Bool { attempt.exchange?.connection?.absolute?.challenges ?? false }

  /// The origin may not know the expectation, so the proxy sends the body.
  func originStayedSilent() {
    guard attempt.awaitsContinue, attempt.awaitsHead, attempt.exchange?.connection != nil else { return }
    attempt.stopWaitingForContinue(on: loop)
    way?.pool.limit.noteSilence(until: loop.now + Self.silenceIsRemembered)
    take(continueApp() ?? pumpUp())
  }

  /// The final answer came instead of the 100. Some servers begin an answer and read the body in the course of it, so only an error ends
  /// the upload.
  func answeredBeforeContinue() {
    guard record.answer.status < 300 else { return attempt.stopUploading(on: loop) }
    attempt.stopWaitingForContinue(on: loop)
    loop.again(app)
  }

  func passInterim(_ isContinue: Bool) -> RequestMachine.Input? {
    attempt.interims += 1
    guard attempt.interims <= Self.interimLimit else { return headRefused(.tooManyInterims) }
    if let input = flushInterim() { return input }
    guard isContinue, attempt.awaitsContinue else { return nil }
    attempt.stopWaitingForContinue(on: loop)
    return pumpUp()
  }

  /// 417 to an expectation that the app did not send: the proxy does not ask this origin again for a while.
  func noteRefusedExpectation() { way?.pool.limit.noteSilence(until: loop.now + Self.silenceIsRemembered) }

  /// The body is wanted: an app that waits for 100 gets it.
  /// - Returns: the input if the app has left.
  func continueApp() -> RequestMachine.Input? {
    guard message.expectsContinue else { return nil }
    message.expectsContinue = false
    if let block = app.outbound, block.room < 32 { return nil }
    app.outbound(with: 32).append("HTTP/1.1 100 Continue\r\n\r\n")
    return flushInterim()
  }

  /// Sends interim responses that are ready. What the app does not take now leaves with the final head.
  /// - Returns: the input if the app has left.
  func flushInterim() -> RequestMachine.Input? {
    if case .failed = app.flush() { return .clientBroken }
    return nil
  }
}
