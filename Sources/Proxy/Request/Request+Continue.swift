import EventIO
import HTTPWire
import Upstreams

/// `Expect: 100-continue` and interim responses: towards the origin before a body that could not be sent a second time, towards the app
/// when its body is wanted.
extension Request {
  /// Upper bound on interim responses per request; more is treated as a broken origin.
  private static let interimLimit = 100
  /// Nanoseconds that an origin may stay silent on `Expect: 100-continue` before its body is sent all the same.
  private static let patience: Int64 = 1_000_000_000
  /// Nanoseconds that such an origin is not asked again.
  private static let silenceIsRemembered: Int64 = 3_600_000_000_000

  /// Asks the origin for 100 before a body that, once spent, could not be sent again; else an app that waits for it is told now.
  /// - Returns: the input if the request ends here.
  func askBeforeBody(_ block: Block) -> RequestMachine.Input? {
    // Whether a chunked body can be kept shows when it is whole at once. Only a request with a credential has reason to ask.
    if body.isChunked, authorization.attached != nil, !message.expectsContinue,
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
    // What was read of the body can be sent again: it is not spent.
    guard !body.isDone, canReplay, !machine.hasMetExpectationFailure, way?.pool.limit.isSilent(at: loop.now) == false else {
      return false
    }
    return message.expectsContinue || authorization.attached != nil && body.mayExceedTee(isLast: machine.isResent)
  }

  /// It may not know the expectation: the body is sent.
  func originStayedSilent() {
    guard attempt.awaitsContinue, attempt.awaitsHead, attempt.exchange?.connection != nil else { return }
    attempt.stopWaitingForContinue(on: loop)
    way?.pool.limit.noteSilence(until: loop.now + Self.silenceIsRemembered)
    take(continueApp() ?? pumpUp())
  }

  func passInterim(_ isContinue: Bool) -> RequestMachine.Input? {
    attempt.interims += 1
    guard attempt.interims <= Self.interimLimit else { return attemptFailed(.tooManyInterims, isStale: false) }
    if let input = flushInterim() { return input }
    guard isContinue, attempt.awaitsContinue else { return nil }
    attempt.stopWaitingForContinue(on: loop)
    return pumpUp()
  }

  /// 417 to an expectation that the app never had: the origin is not asked again for a while.
  func noteRefusedExpectation() { way?.pool.limit.noteSilence(until: loop.now + Self.silenceIsRemembered) }

  /// The body is wanted: an app that waits for it is told.
  /// - Returns: the input if the app has left.
  func continueApp() -> RequestMachine.Input? {
    guard message.expectsContinue else { return nil }
    message.expectsContinue = false
    if let block = app.outbound, block.room < 32 { return nil }
    app.outbound(with: 32).append("HTTP/1.1 100 Continue\r\n\r\n")
    return flushInterim()
  }

  /// Sends what of interim responses stands ready; what the app's side does not take now leaves with the final head.
  /// - Returns: the input if the app has left.
  func flushInterim() -> RequestMachine.Input? {
    if case .failed = app.flush() { return .clientBroken }
    return nil
  }
}
