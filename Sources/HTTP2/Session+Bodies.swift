import CNGHTTP2
import HTTPWire

// Both directions of bodies: what the peer sent waits for the driver, and what the driver gave waits for the peer's windows.
extension Session {
  // MARK: Received

  /// What the driver has not consumed. Valid until the next `receive` or `consumed`. Empty after `release`.
  public final func body(of ticket: StreamTicket) -> UnsafeRawBufferPointer {
    stream(ticket)?.body.bytes.bytes ?? UnsafeRawBufferPointer(start: nil, count: 0)
  }

  /// Content-Length of a message that may have a body; nil: it has none.
  public final func bodyLength(of ticket: StreamTicket) -> Int? { stream(ticket)?.body.length }

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
    guard let stream = stream(ticket), !stream.sending.ends, !stream.sending.isCut, !stream.sending.isOver else {
      return bytes.count
    }
    let count = min(bytes.count, SessionLimits.firstWindow - stream.sending.body.count)
    if count > 0 { stream.sending.body.append(UnsafeRawBufferPointer(rebasing: bytes[..<count])) }
    stream.sending.wantsRoom = count < bytes.count
    resume(stream)
    return count
  }

  /// The body that we send is whole.
  /// - Parameter trailers: field lines and an empty line, as behind the last chunk of HTTP/1.1; empty: none.
  public final func endBody(of ticket: StreamTicket, trailers: UnsafeRawBufferPointer = .init(start: nil, count: 0)) {
    guard let stream = stream(ticket), !stream.sending.ends, !stream.sending.isCut, !stream.sending.isOver else { return }
    stream.sending.ends = true
    if trailers.count > 2 {
      // So that the parser of heads can read them.
      stream.sending.trailers.append("HTTP/1.1 200\r\n")
      stream.sending.trailers.append(trailers)
    }
    resume(stream)
  }

  /// The message that we send breaks off here: its head and the bytes that were given leave first, as far as the peer's windows allow,
  /// then RST_STREAM with INTERNAL_ERROR. The event `ended` follows. A reset by `release` would overtake them.
  public final func cut(_ ticket: StreamTicket) {
    guard let stream = stream(ticket), !stream.sending.ends, !stream.sending.isOver else { return }
    stream.sending.isCut = true
    stream.sending.wantsRoom = false
    resetIfCut(stream)
  }

  /// Resets a cut message once all of it was written.
  final func resetIfCut(_ stream: StreamState) {
    guard stream.sending.isCut, stream.sending.heldHeads == 0, stream.sending.body.isEmpty else { return }
    abandon(stream, .internalError)
  }

  /// Whether bytes of the body that we send wait: for a window of the peer, the stream's or the connection's, or for the transport.
  public final func holdsBody(of ticket: StreamTicket) -> Bool { stream(ticket).map { !$0.sending.body.isEmpty } ?? false }

  /// When a part of our message was last written by `send`; 0: never.
  public final func lastWritten(of ticket: StreamTicket) -> Int64 { stream(ticket)?.sending.lastWritten ?? 0 }

  private final func resume(_ stream: StreamState) {
    guard stream.sending.isDeferred, failure == nil else { return }
    stream.sending.isDeferred = false
    nghttp2_session_resume_data(handle, stream.id)
  }
}
