import EventIO
import HTTPWire

/// When an attempt came to nothing: whether the request is sent again.
extension Request {
  /// Pooled connections that turn out closed in a row before none of the idle ones is tried any more.
  private static let staleLimit = 3

  /// The attempt came to nothing before its answer began. Sent again where that is safe, else answered.
  /// - Parameter isStale: a pooled connection turned out closed, and nothing of this request can have been acted upon.
  func attemptFailed(_ failed: Attempt, _ error: ProxyError, isStale: Bool) {
    guard attempt === failed, !hasEnded else { return }
    attempt = nil
    waitsForConnection = false
    if isStale, canReplay {
      staleConnections += 1
      // An origin that restarted has closed them all.
      if staleConnections == Self.staleLimit { pool?.dropIdle() }
      if let entry { worker.observer.retried(entry, .staleConnection) }
      return connect()
    }
    if let entry, error.isWorthRepeating, mayRetry(entry) { return retry(entry, after: nil) }
    fail(error)
  }

  /// Whether all that was read of the body can be sent again.
  var canReplay: Bool { body.count == 0 || tee.isIntact }

  /// Whether the entry's `retry` allows one more attempt for this request.
  func mayRetry(_ entry: Entry) -> Bool {
    let policy = entry.settings.retry
    return retries < policy.attempts && method.isIdempotent && canReplay && policy.methods.contains(summary.method)
  }

  /// - Parameter wish: what Retry-After asked for, in seconds.
  func retry(_ entry: Entry, after wish: Int?) {
    worker.observer.retried(entry, attempt == nil ? .failure : .status)
    let policy = entry.settings.retry
    let backoff = policy.backoff << min(retries, 16)
    retries += 1
    // Full jitter over the upper half: repeats of many requests spread.
    let delay = wish.map { $0 * 1_000 } ?? (backoff / 2 + Int.random(in: 0...max(backoff / 2, 1)))
    attempt = nil
    waitsForRepeat = true
    loop.arm(timer, afterMilliseconds: min(delay, policy.maxWait))
  }
}
