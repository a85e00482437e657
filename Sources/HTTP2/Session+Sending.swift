import CNGHTTP2
import HTTPWire

extension Session {
  /// Whether `send` has bytes.
  public final var wantsSend: Bool {
    if failure == .lost { return false }
    if !outbound.rest.isEmpty || !outbound.halfOpen.isEmpty { return true }
    if failure != nil { return !outbound.saidGoAway }
    return nghttp2_session_want_write(handle) != 0
  }

  /// Writes frames into the buffer, as many as there are or as fit: all of a turn leave in one write.
  /// - Parameter buffer: of 2 KiB at least.
  /// - Returns: bytes written. 0: nothing is to be sent now.
  public final func send(into buffer: UnsafeMutableRawBufferPointer, now: Int64) -> Int {
    precondition(buffer.count >= 2048, "a frame needs room")
    self.now = now
    for ticket in outbound.halfOpen { if let stream = stream(ticket), !stream.isClosed { abandon(stream, .noError) } }
    outbound.halfOpen.removeAll(keepingCapacity: true)
    outbound.buffer.begin(buffer)
    outbound.rest = outbound.buffer.append(outbound.rest)
    while outbound.rest.isEmpty, failure == nil {
      var bytes: UnsafePointer<UInt8>?
      let count = nghttp2_session_mem_send(handle, &bytes)
      if count < 0 {
        fail(.internalError)
        break
      }
      if count == 0 { break }
      outbound.rest = outbound.buffer.append(UnsafeRawBufferPointer(start: bytes, count: count))
    }
    if outbound.rest.isEmpty, let failure, failure != .lost, !outbound.saidGoAway, outbound.buffer.room >= 17 {
      writeGoAway(failure.code)
    }
    return outbound.buffer.finish()
  }

  /// The last frame of a failed connection, without nghttp2, whose queue may be what is full.
  private final func writeGoAway(_ code: ErrorCode) {
    outbound.saidGoAway = true
    let last = UInt32(bitPattern: nghttp2_session_get_last_proc_stream_id(handle))
    withUnsafeTemporaryAllocation(byteCount: 17, alignment: 1) { frame in
      frame.copyBytes(from: [0, 0, 8, 7, 0, 0, 0, 0, 0])
      for index in 0..<4 {
        let shift = UInt32(24 - 8 * index)
        frame[9 + index] = UInt8(truncatingIfNeeded: last >> shift)
        frame[13 + index] = UInt8(truncatingIfNeeded: code.rawValue >> shift)
      }
      _ = outbound.buffer.append(UnsafeRawBufferPointer(frame))
    }
  }

  // MARK: From nghttp2

  final func sent(_ frame: UnsafePointer<nghttp2_frame>) {
    let header = frame.pointee.hd
    let ends = header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
    switch UInt32(header.type) {
    case NGHTTP2_HEADERS.rawValue:
      inbound.budget.earn()
      withStream(id: header.stream_id) { stream in
        stream.sending.wroteHead(at: now)
        if ends { uploaded(stream) }
        resetIfCut(stream)
      }
    case NGHTTP2_DATA.rawValue:
      inbound.budget.earn()
      if ends, let stream = stream(id: header.stream_id) { uploaded(stream) }
    case NGHTTP2_RST_STREAM.rawValue: sentReset(ErrorCode(rawValue: frame.pointee.rst_stream.error_code))
    case NGHTTP2_GOAWAY.rawValue:
      let code = ErrorCode(rawValue: frame.pointee.goaway.error_code)
      if code != .noError {
        // It is nghttp2's own, and its bytes are about to be written.
        outbound.saidGoAway = true
        fail(.protocolError(code))
      }
    default: break
    }
  }

  private final func uploaded(_ stream: StreamState) {
    stream.sending.isOver = true
    answered(stream)
  }

  /// Says how much of the body goes into a DATA frame, which `writeData` then writes without another copy.
  final func readData(
    _ source: UnsafeMutableRawPointer?, _ id: Int32, _ limit: Int, _ flags: UnsafeMutablePointer<UInt32>
  ) -> Int {
    let stream = Unmanaged<StreamState>.fromOpaque(source!).takeUnretainedValue()
    guard stream.id == id else { return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue) }
    let held = stream.sending.body.count
    if held == 0, !stream.sending.ends {
      stream.sending.isDeferred = true
      return Int(NGHTTP2_ERR_DEFERRED.rawValue)
    }
    // No sliver of a frame at the buffer's end: the next buffer has room.
    if outbound.buffer.room < 9 + min(held, 1024) { return Int(NGHTTP2_ERR_PAUSE.rawValue) }
    let count = min(held, limit, outbound.buffer.room - 9)
    if count > 0 { flags.pointee |= NGHTTP2_DATA_FLAG_NO_COPY.rawValue }
    guard count == held, stream.sending.ends else { return count }
    flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
    if !stream.sending.trailers.isEmpty {
      flags.pointee |= NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue
      submitTrailers(stream)
    }
    return count
  }

  final func writeData(
    _ source: UnsafeMutableRawPointer?, _ id: Int32, _ header: UnsafePointer<UInt8>, _ count: Int
  ) -> Int32 {
    let stream = Unmanaged<StreamState>.fromOpaque(source!).takeUnretainedValue()
    guard stream.id == id, outbound.buffer.room >= 9 + count else { return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue }
    _ = outbound.buffer.append(UnsafeRawBufferPointer(start: header, count: 9))
    _ = outbound.buffer.append(UnsafeRawBufferPointer(rebasing: stream.sending.body.bytes[..<count]))
    stream.sending.wroteBody(count, at: now)
    if stream.sending.wantsRoom, !stream.sending.ends, stream.sending.body.count <= SessionLimits.firstWindow / 2 {
      stream.sending.wantsRoom = false
      events.append(.room(stream.ticket))
    }
    resetIfCut(stream)
    return 0
  }

  private final func submitTrailers(_ stream: StreamState) {
    let text = stream.sending.trailers.bytes
    outbound.answerText.reset()
    if outbound.answerText.parse(text, limit: .max) == .complete {
      outbound.fields.clear()
      outbound.fields.append(outbound.answerText.fields, of: text, secretFrom: 0, marked: [])
      nghttp2_submit_trailer(handle, stream.id, outbound.fields.fields, outbound.fields.count)
    } else {
      abandon(stream, .internalError)
    }
  }
}
