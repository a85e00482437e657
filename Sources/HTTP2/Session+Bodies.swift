import CNGHTTP2
import HTTPWire

// Both directions of bodies: what the peer sent waits for the driver, and what the driver gave waits for the peer's windows.
extension Session {
  // MARK: Received

  /// What the driver has not consumed. Valid until the next `receive` or `consumed`. Empty after `release`.
  public final func body(of ticket: StreamTicket) -> UnsafeRawBufferPointer {
    stream(ticket)?.body.bytes.bytes ?? UnsafeRawBufferPointer(start: nil, count: 0)
  }

  /// Whether nothing is left of the body, and nothing follows.
  public final func isDrained(_ ticket: StreamTicket) -> Bool {
    stream(ticket).map { ($0.body.isWhole || $0.isOver) && $0.body.bytes.isEmpty } ?? true
  }

  /// Takes bytes off `body(of:)`, and lets the peer send as many more. Call it when the app took them: that is how a slow app slows
  /// its own stream only.
  public final func consumed(_ ticket: StreamTicket, _ count: Int) {
    guard count > 0, let stream = stream(ticket) else { return }
    stream.body.bytes.removeFirst(count)
    guard failure == nil, !stream.isClosed else { return }
    nghttp2_session_consume_stream(handle, stream.id, count)
    guard !stream.body.isWhole,
      let size = stream.body.window.take(count, keepsUp: stream.body.bytes.isEmpty, growth: &inbound.windowGrowth)
    else { return }
    nghttp2_session_set_local_window_size(handle, Library.flagsNone, stream.id, Int32(size))
  }

  // MARK: Sent

  /// Bytes that `append` would take now.
  public final func room(of ticket: StreamTicket) -> Int {
    guard let stream = stream(ticket), !stream.sending.ends, !stream.sending.isOver else { return 0 }
    return max(SessionLimits.firstWindow - stream.sending.body.count, 0)
  }

  /// Copies bytes of the body that we send: at most 64 KiB wait for the peer's windows.
  /// - Returns: bytes taken. If fewer than given, the event `room` says when to go on.
  public final func append(_ bytes: UnsafeRawBufferPointer, to ticket: StreamTicket) -> Int {
    guard let stream = stream(ticket), !stream.sending.ends, !stream.sending.isOver else { return bytes.count }
    let count = min(bytes.count, SessionLimits.firstWindow - stream.sending.body.count)
    if count > 0 { stream.sending.body.append(UnsafeRawBufferPointer(rebasing: bytes[..<count])) }
    stream.sending.wantsRoom = count < bytes.count
    resume(stream)
    return count
  }

  /// The body that we send is whole.
  /// - Parameter trailers: field lines and an empty line, as behind the last chunk of HTTP/1.1; empty: none.
  public final func endBody(of ticket: StreamTicket, trailers: UnsafeRawBufferPointer = .init(start: nil, count: 0)) {
    guard let stream = stream(ticket), !stream.sending.ends, !stream.sending.isOver else { return }
    stream.sending.ends = true
    if trailers.count > 2 {
      // So that the parser of heads can read them.
      stream.sending.trailers.append("HTTP/1.1 200\r\n")
      stream.sending.trailers.append(trailers)
    }
    resume(stream)
  }

  /// Whether bytes wait for a window of the peer, the stream's or the connection's: `stall` runs meanwhile.
  public final func isShut(_ ticket: StreamTicket) -> Bool {
    guard failure == nil, let stream = stream(ticket), !stream.isClosed, stream.sending.hasHead, !stream.sending.body.isEmpty
    else { return false }
    return nghttp2_session_get_remote_window_size(handle) <= 0
      || nghttp2_session_get_stream_remote_window_size(handle, stream.id) <= 0
  }

  private final func resume(_ stream: StreamState) {
    guard stream.sending.isDeferred, failure == nil else { return }
    stream.sending.isDeferred = false
    nghttp2_session_resume_data(handle, stream.id)
  }
}
