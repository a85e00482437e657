import EventIO
import Upstreams

/// One attempt to have a request answered: its exchange, how far the request was sent, and what came back.
struct Attempt {
  var exchange: RequestExchange?
  var upload = Upload()
  var download: Download?
  /// An answer that refused the credential.
  var held: HeldAnswer?
  /// 1xx responses so far.
  var interims = 0
  /// An answer that the app does not get.
  var dropped: DroppedAnswer?
  /// At this target, in this attempt or one before: a parent has wanted another kind of answer than it did before.
  var hasMetOtherRules = false
  /// The origin has not processed the request of this attempt.
  var isUnprocessed = false
  /// A connection has failed under the request: the next one is for it alone, so that it takes down no others again.
  var isSuspect = false
  /// `Expect: 100-continue` was sent.
  private(set) var hasAsked = false
  private var continueTimer: ContinueTimer?

  /// Begins another one; the one before has ended.
  mutating func begin(_ exchange: RequestExchange) {
    self.exchange = exchange
    upload = Upload()
    interims = 0
    dropped = nil
    hasAsked = false
    isUnprocessed = false
  }

  /// The final head of the answer has not arrived.
  var awaitsHead: Bool { exchange?.awaitsHead ?? true }
  /// The body waits for the origin's 100.
  var awaitsContinue: Bool { upload.state == .withheld }

  /// What the exchange waits for while no byte moves.
  var waiting: RequestMachine.Waiting {
    if awaitsHead, upload.isSent { return .head }
    return exchange?.connection != nil && upload.isPending ? .origin : .app
  }

  // MARK: 100-continue

  mutating func awaitContinue(_ timer: ContinueTimer) {
    hasAsked = true
    upload.withhold()
    continueTimer = timer
  }

  mutating func stopWaitingForContinue(on loop: EventLoop) {
    upload.release()
    if let continueTimer { loop.forget(continueTimer) }
    continueTimer = nil
  }

  /// Stops sending the body: the rest is never sent.
  mutating func stopUploading(on loop: EventLoop) {
    stopWaitingForContinue(on: loop)
    upload.stop(on: loop)
  }

  // MARK: End

  /// The answer has ended: the connection returns to the pool if the request was sent whole.
  /// - Parameter inStep: the answer ended where its framing says, and the origin keeps the connection.
  mutating func complete(inStep: Bool, on loop: EventLoop) {
    let isSent = upload.isSent
    release(on: loop)
    exchange?.finish(inStep: inStep && isSent)
  }

  /// Gives the exchange up, in any state.
  mutating func end(on loop: EventLoop) {
    release(on: loop)
    download = nil
    held = nil
    guard let exchange else { return }
    self.exchange = nil
    if exchange.isWaiting { exchange.leave() } else { exchange.abort() }
  }

  private mutating func release(on loop: EventLoop) {
    upload.giveBack(to: loop)
    if continueTimer != nil { stopWaitingForContinue(on: loop) }
  }
}

/// An answer that is dropped because the request is sent again: by the entry's `retry`, or as the answer is a challenge.
final class DroppedAnswer {
  /// Seconds that its Retry-After asks for; nil: it has none.
  let retryAfter: Int?
  var body: BodySource
  let keepsUpstream: Bool

  init(retryAfter: Int?, body: BodySource, keepsUpstream: Bool) {
    self.retryAfter = retryAfter
    self.body = body
    self.keepsUpstream = keepsUpstream
  }
}
