import EventIO
import HTTPWire
import Upstreams

/// Whether another attempt follows one that failed: at once after a stale pooled connection, and after a pause if the entry's
/// `retry` names the failure or the status.
extension Request {
  /// Pooled connections found closed in a row, after which all idle ones are dropped.
  private static let staleLimit = 3
  /// How often a request is sent again that the origin has not processed.
  private static let unprocessedLimit = 3

  func reconnect() -> RequestMachine.Input? {
    // An origin that restarted has closed all of them.
    if machine.staleConnections == Self.staleLimit { way?.pool.dropIdle() }
    if let entry = way?.entry { services.observer.retried(entry, attempt.isUnprocessed ? .unprocessed : .staleConnection) }
    return beginAttempt()
  }

  /// The connection broke, ended or sent invalid bytes before the head of the answer was complete.
  func exchangeFailed(_ error: UpstreamError) -> RequestMachine.Input {
    var error = error
    if mayRepeat(&error) {
      leaveUnwilling(after: error)
      attempt.isUnprocessed = true
      return .notProcessed
    }
    let connection = attempt.exchange?.connection
    let wasReused = connection?.isReused ?? false
    let wroteNothing = connection?.wroteNothing ?? true
    let receivedAnything = attempt.exchange?.firstByte != 0
    // Of a new connection: a pooled one is closed by parents as by origins. Whoever waits for the app may leave.
    let owesAnswer = !wasReused && (wroteNothing || attempt.upload.owesAnswer)
    let absolute = error.mayBeStaleConnection ? connection?.absolute : nil
    let isParents = owesAnswer && blameParent(hasEnded: absolute != nil)
    if let search = way?.search {
      let isCut = !receivedAnything && error.mayBeStaleConnection
      if !wasReused, isCut, wroteNothing, canReplay, let input = nextOrigin(search, absolute?.endedEarly ?? error) {
        return input
      }
      judge(search, isNoAnswer: error.isNoAnswer, isParents: isParents)
    }
    // RFC 9110 section 9.2.2, RFC 9112 section 9.3.1: a pooled connection can be closed by the origin at any time.
    var isStale =
      wasReused && !receivedAnything && (message.outbound.method.isIdempotent || wroteNothing) && error.mayBeStaleConnection
    if connection?.isCarried == true { isStale = isCarriedStale(error, wroteNothing: wroteNothing) && !receivedAnything }
    // Only the parent's end of it is known.
    return attemptFailed(.upstream(absolute?.endedEarly ?? error), isStale: isStale)
  }

  /// One of several origins has not processed the request. If it did the same to the last repeat, the next one is asked.
  private func leaveUnwilling(after error: UpstreamError) {
    if case .http2(.notProcessed) = error, machine.unprocessed > 0 { way?.search?.broke() } else { way?.search?.cancel() }
  }

  /// Whether the origin has not processed the request, so that it may be sent again. If it was too often, the error says so.
  private func mayRepeat(_ error: inout UpstreamError) -> Bool {
    guard case .http2(let failure) = error, failure.isUnprocessed, attempt.exchange?.firstByte ?? 0 == 0 else { return false }
    // Nothing else is offered.
    if failure == .wantsHTTP1, way?.entry.settings.httpVersion == .http2 { return false }
    if canReplay, machine.unprocessed < Self.unprocessedLimit { return true }
    if case .notProcessed(let byGoAway, _) = failure {
      error = .http2(.notProcessed(byGoAway: byGoAway, repeats: machine.unprocessed))
    }
    return false
  }

  /// An HTTP/2 stream has ended without an answer: an idempotent request is repeated once.
  private func isCarriedStale(_ error: UpstreamError, wroteNothing: Bool) -> Bool {
    guard machine.staleConnections == 0 else { return false }
    if wroteNothing { return error.mayBeStaleConnection }
    guard case .http2(let failure) = error, failure.isLoss, message.outbound.method.isIdempotent else { return false }
    attempt.isSuspect = failure.isLossOfConnection
    return true
  }

  /// What came instead of an answer has a head, which is refused.
  func headRefused(_ error: ProxyError) -> RequestMachine.Input {
    let isParents = blameParent()
    if let search = way?.search {
      let isNoAnswer =
        switch error {
        case .upstream(let error): error.isNoAnswer
        case .tooManyInterims: true
        default: false
        }
      judge(search, isNoAnswer: isNoAnswer, isParents: isParents)
    }
    return attemptFailed(error, isStale: false)
  }

  /// One of several origins has not answered the request of this attempt.
  /// - Parameters:
  ///   - isNoAnswer: it said so by what it did. Otherwise it was too slow.
  ///   - isParents: it was the parent's failure.
  func judge(_ search: OriginSearch, isNoAnswer: Bool, isParents: Bool) {
    // A pooled connection proves nothing.
    guard !isParents, let connection = attempt.exchange?.connection, !connection.isReused else { return search.cancel() }
    // Of a request that waits for its app, an origin may have had enough.
    let owesAnswer = connection.wroteNothing || attempt.upload.owesAnswer
    // A parent that takes requests in absolute-form may have closed it.
    let isBroken = isNoAnswer && owesAnswer && connection.absolute == nil
    // Of an origin that is down, the one request that tries it wants an answer: without one it stays down, for longer. If it was the
    // app that kept it waiting, another request may try.
    let failedTrial = search.isSingle && (attempt.upload.owesAnswer || attempt.upload.isPending)
    if isBroken || failedTrial { search.broke() } else { search.cancel() }
  }

  /// Whether all that was read of the body can be sent again.
  var canReplay: Bool { body.canReplay }

  /// Whether the entry's `retry` allows one more attempt for this request.
  var mayRetry: Bool {
    guard let policy = way?.entry.settings.retry, machine.retries < policy.attempts else { return false }
    return message.outbound.method.isIdempotent && canReplay && policy.methods.contains(askedMethod)
  }

  /// Waits before the next attempt.
  func pause() -> RequestMachine.Input? {
    guard let entry = way?.entry else { return failing(.internalError) }
    if attempt.isUnprocessed { return pauseUnprocessed(entry) }
    let wish = attempt.dropped?.retryAfter
    services.observer.retried(entry, attempt.dropped == nil ? .failure : .status)
    attempt.end(on: loop)
    let policy = entry.settings.retry
    let backoff = policy.backoff << min(machine.retries - 1, 16)
    // Random over the upper half of the backoff, so that the repeats of many requests spread.
    let delay = wish.map { $0 * 1_000 } ?? (backoff / 2 + Int.random(in: 0...max(backoff / 2, 1)))
    loop.arm(timer, afterMilliseconds: min(delay, policy.maxWait))
    return nil
  }

  /// From 50 ms on, doubling.
  private func pauseUnprocessed(_ entry: Entry) -> RequestMachine.Input? {
    services.observer.retried(entry, .unprocessed)
    attempt.end(on: loop)
    let longest = 50 << Int(min(machine.unprocessed, 8) - 2)
    loop.arm(timer, afterMilliseconds: longest / 2 + Int.random(in: 0...longest / 2))
    return nil
  }
}
