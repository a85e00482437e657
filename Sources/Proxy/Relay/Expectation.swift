import EventIO
import HTTPWire

/// `Expect: 100-continue` towards the origin: because the app asked for it, or because the body is, or may be, too large to be kept
/// and a refusal should come before it is spent.
extension Request {
  /// Nanoseconds that an origin may stay silent before its body is sent all the same.
  static let patience: Int64 = 1_000_000_000
  /// Nanoseconds that such an origin is not asked again.
  static let silenceIsRemembered: Int64 = 3_600_000_000_000

  /// Whether the next attempt asks the origin.
  var asksBeforeBody: Bool {
    // What was read of the body can be sent again: it is not spent.
    guard !body.isDone, canReplay, !hasMetExpectationFailure, let pool, !pool.limit.isSilent(at: loop.now) else { return false }
    return expectsContinue || authorization != nil && mayExceedTee
  }

  private var mayExceedTee: Bool {
    switch bodyFraming {
    case .length(let length): length > tee.capacity
    // Of unknown size, and not whole yet. A second refusal is relayed in any case.
    case .chunked: !isResent
    case .none, .untilClose: false
    }
  }

  /// The body is wanted: an app that waits for it is told.
  func continueApp() {
    guard expectsContinue else { return }
    expectsContinue = false
    let block = client.outbound ?? loop.blocks.borrow()
    guard block.room >= 32 else { return }
    block.append("HTTP/1.1 100 Continue\r\n\r\n")
    client.outbound = block
    flushInterim()
  }

  /// Sends what of interim responses stands ready; what the app's side does not take now leaves with the final head.
  func flushInterim() {
    guard let block = client.outbound, !block.isEmpty else { return }
    switch client.stream.write(block.bytes) {
    case .bytes(let count):
      block.consume(count)
      if block.isEmpty {
        client.outbound = nil
        loop.blocks.giveBack(block)
      }
    case .later: break
    case .failed: clientLeft()
    }
  }

  /// 417 to an expectation that the app never had: once more without it, and no more asking for a while.
  func retriesWithoutExpectation(_ status: Int, _ attempt: Attempt) -> Bool {
    guard status == 417, attempt.hasAsked, !expectsContinue, canReplay else { return false }
    hasMetExpectationFailure = true
    pool?.limit.noteSilence(until: loop.now + Self.silenceIsRemembered)
    return true
  }
}

/// Ends an attempt's wait for the origin's 100.
final class ContinueTimer: EventHandler {
  private weak var attempt: Attempt?
  init(_ attempt: Attempt) { self.attempt = attempt }
  override func expired(on loop: EventLoop) { attempt?.originStayedSilent() }
}
