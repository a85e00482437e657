import EventIO
import Upstreams

/// One try to have a request answered: its exchange, how far it has been sent, and what came back.
struct Attempt {
  var exchange: RequestExchange?
  var upload = Upload()
  var download: Download?
  /// An answer that refused the credential.
  var held: HeldAnswer?
  /// 1xx responses so far.
  var interims = 0
  /// An answer that the entry's `retry` drops.
  var dropped: DroppedAnswer?
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
  }

  /// The final head of the answer has not come.
  var awaitsHead: Bool { exchange?.awaitsHead ?? true }
  /// The body is kept back until the origin says 100.
  var awaitsContinue: Bool { upload.state == .withheld }

  /// What an exchange waits for that moves no bytes.
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

  /// What was not sent of the body is not sent any more.
  mutating func stopUploading(on loop: EventLoop) {
    stopWaitingForContinue(on: loop)
    upload.stop(on: loop)
  }

  // MARK: End

  /// Both messages are over: the connection goes back to the pool where it may.
  /// - Parameter inStep: the origin keeps the connection, and its answer has ended.
  mutating func complete(inStep: Bool, on loop: EventLoop) {
    let isSent = upload.isSent
    release(on: loop)
    exchange?.finish(inStep: inStep && isSent)
  }

  /// Gives the exchange up, whatever its state is.
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

/// An answer that the entry's `retry` has repeated.
final class DroppedAnswer {
  /// What its Retry-After asked for, in seconds.
  let retryAfter: Int?
  var body: BodySource
  let keepsUpstream: Bool

  init(retryAfter: Int?, body: BodySource, keepsUpstream: Bool) {
    self.retryAfter = retryAfter
    self.body = body
    self.keepsUpstream = keepsUpstream
  }
}
