import EventIO
import HTTPWire
import Upstreams

/// Whether another attempt follows one that failed: at once after a stale pooled connection, and after a pause if the entry's
/// `retry` names the failure or the status.
extension Request {
  /// Pooled connections found closed in a row, after which all idle ones are dropped.
  private static let staleLimit = 3

  func reconnect() -> RequestMachine.Input? {
    // An origin that restarted has closed all of them.
    if machine.staleConnections == Self.staleLimit { way?.pool.dropIdle() }
    if let entry = way?.entry { services.observer.retried(entry, .staleConnection) }
    return beginAttempt()
  }

  /// The connection broke, ended or sent invalid bytes before the head of the answer was complete.
  func exchangeFailed(_ error: UpstreamError) -> RequestMachine.Input {
    let connection = attempt.exchange?.connection
    let wasReused = connection?.isReused ?? false
    let wroteNothing = connection?.wroteNothing ?? true
    let receivedAnything = attempt.exchange?.firstByte != 0
    // Of a new connection: a pooled one is closed by parents as by origins. Whoever waits for the app may leave.
    let owesAnswer = !wasReused && (wroteNothing || attempt.upload.owesAnswer)
    let isParents = owesAnswer && blameParent()
    if let search = way?.search, !wasReused {
      let (isCut, absolute) = (!receivedAnything && error.mayBeStaleConnection, connection?.absolute)
      if isCut, wroteNothing, canReplay, let input = nextOrigin(search, absolute?.endedEarly ?? error) { return input }
      judge(search, isBroken: isCut && owesAnswer && absolute == nil, isParents: isParents)
    }
    // RFC 9110 section 9.2.2, RFC 9112 section 9.3.1: a pooled connection can be closed by the origin at any time.
    let isStale =
      wasReused && !receivedAnything && (message.outbound.method.isIdempotent || wroteNothing) && error.mayBeStaleConnection
    return attemptFailed(.upstream(error), isStale: isStale)
  }

  /// A new connection to one of several origins has ended without an answer.
  /// - Parameters:
  ///   - isBroken: that alone makes an origin down.
  ///   - isParents: it was the parent's failure.
  func judge(_ search: OriginSearch, isBroken: Bool, isParents: Bool) {
    // Of an origin that is down, the one request that tries it wants an answer: without one it stays down, for longer. If it was the
    // app that kept it waiting, another request may try.
    let failedTrial = search.isTrial && (attempt.upload.owesAnswer || attempt.upload.isPending)
    if !isParents, isBroken || failedTrial { search.broke() } else { search.cancel() }
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
}
