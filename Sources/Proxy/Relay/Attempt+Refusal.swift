import EventIO
import HTTPWire

/// An answer that refused the credential is held until that is settled.
extension Attempt {
  func beginHolding() {
    stopUploading()
    guard collectHeld() else { return }
    request.readBodyWhileHeld()
    if held != nil, !request.hasEnded { request.hold() }
  }

  func pumpHeld() {
    guard collectHeld() else { return }
    request.readBodyWhileHeld()
  }

  /// - Returns: false where the answer is not held any more.
  private func collectHeld() -> Bool {
    guard let held, let connection, let pool = request.pool else { return held != nil }
    switch held.collect(connection, limit: pool.limit, capacity: request.snapshot.settings.limits.upstreamConnections) {
    case .partial: return true
    case .whole:
      complete(reusable: held.keepsUpstream)
      return true
    case .tooMany:
      request.relayHeld("not retried, too many large refusals are held")
      return false
    }
  }

  /// The held answer goes to the app after all, as it came.
  func relayHeld() {
    guard let held else { return }
    self.held = nil
    let head = held.head.bytes
    request.worker.responseHead.reset()
    guard case .complete = request.worker.responseHead.parse(head, limit: head.count) else { return fail(.bodyBroken) }
    if held.isBroken { return fail(.bodyBroken) }
    do {
      switch try request.decide(head, of: self) {
      case .relay(let download):
        self.download = download
        download.begin(with: held)
      case .retry(let wish, _, _):
        guard let entry = request.entry else { return }
        abort()
        request.retry(entry, after: wish)
      case .interim, .upgrade, .hold, .retryWithoutExpectation: fail(.internalError)
      }
    } catch { fail(error) }
  }
}
