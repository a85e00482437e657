import EventIO
import Upstreams

// What wakes a request. Each class turns one event into one call.

/// The timer of a request. It belongs to what the request came from (a connection, later a stream). One request after another
/// uses it, so that arming it is a store.
final class RequestTimer: Pulse {
  /// Nil between requests: a deadline of the last one has no effect.
  var request: Request?

  override func expired(on loop: EventLoop) { request?.expired() }
}

/// A request's exchange with its origin.
final class RequestExchange: Exchange {
  /// The request owns this exchange in turn, until the exchange has ended.
  let request: Request
  /// Reads the answer's body; nil: the request does.
  var fetch: SharedFetch?

  /// - Parameters:
  ///   - timeouts: of its entry.
  ///   - stall: in their place, nanoseconds in which a byte must move.
  init(_ request: Request, _ pool: OriginPool, of account: borrowing ClientAccount, _ timeouts: Deadlines, stall: Int64) {
    var timeouts = timeouts
    timeouts.stall = stall
    if request.record.target.isCall { timeouts.responseHead = stall }
    let holdings = request.app.holdings
    self.request = request
    super.init(pool, of: account, for: holdings, timeouts: timeouts)
  }

  override var clientName: String? { request.record.client }
  override var nameAsker: NameAsker { request.nameAsker }
  override var isIdempotent: Bool { request.message.outbound.method.isIdempotent }
  override func begin() { if isPresent { request.take(.connectionLent) } else { abort() } }
  override func failed(_ error: UpstreamError) {
    if isPresent { request.take(request.unreached(error)) }
  }
  override func pump() {
    if let fetch { fetch.pump() } else if isPresent { request.exchangeReady() }
  }
  override func timeUp() { if isPresent { request.headTimeUp() } }
  override func stalled() { if isPresent { request.take(.timeUp(.origin)) } }

  /// Whether this is the exchange of the request's current attempt, not of one that it has given up.
  private var isPresent: Bool { request.attempt.exchange === self }
}

/// Ends the wait for an origin's 100.
final class ContinueTimer: EventHandler {
  private unowned let request: Request
  init(_ request: Request) { self.request = request }
  override func expired(on loop: EventLoop) { request.originStayedSilent() }
}
