import CNGHTTP2

extension Session {
  /// A PING waits for its answer.
  public final var isPinging: Bool { pings.payload != nil }

  /// Sends a PING; the event `pong` is its answer.
  /// - Returns: false if one waits already, or the connection is finished.
  public final func ping() -> Bool {
    guard pings.payload == nil, failure == nil else { return false }
    withUnsafeBytes(of: pings.begin()) { payload in
      _ = nghttp2_submit_ping(handle, Library.flagsNone, payload.baseAddress?.assumingMemoryBound(to: UInt8.self))
    }
    return true
  }

  /// Other answers than the one awaited are no answers.
  final func pinged(_ frame: nghttp2_ping) {
    let payload = withUnsafeBytes(of: frame.opaque_data) { $0.loadUnaligned(as: UInt64.self) }
    guard pings.end(payload) else { return }
    inbound.budget.excuse()
    events.append(.pong)
  }
}
