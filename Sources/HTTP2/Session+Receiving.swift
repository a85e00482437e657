import CNGHTTP2
import HTTPWire

extension Session {
  /// Takes bytes that the peer sent. The session keeps none of them: bodies are copied once.
  /// - Parameter now: of any monotonic clock, in ns.
  public final func receive(_ bytes: UnsafeRawBufferPointer, now: Int64) {
    self.now = now
    guard failure == nil, let base = bytes.baseAddress, bytes.count > 0 else { return }
    lastReceived = now
    var fed = 0
    var index = 0
    while failure == nil, index < bytes.count {
      switch inbound.scanner.scan(bytes, &index) {
      case .end: feed(base + fed, index - fed)
      case .push: fail(.push)
      case .headerBlock: fail(.headerBlock)
      case .data(let id, let count):
        // All but the last byte of its header, so that what came before it has had its effect.
        feed(base + fed, index - 1 - fed)
        fed = index - 1
        excuseLate(id, count)
        beginData(id)
        if index == bytes.count { feed(base + fed, 1) }
      }
    }
    guard failure == nil else { return }
    if inbound.budget.isExhausted { return fail(.emptyFrames) }
    checkUnsent()
  }

  private final func feed(_ bytes: UnsafeRawPointer, _ count: Int) {
    guard count > 0, failure == nil else { return }
    inbound.budget.charge(inbound.scanner.takeFrames(), now: now)
    let taken = nghttp2_session_mem_recv(handle, bytes.assumingMemoryBound(to: UInt8.self), count)
    if taken < 0 { fail(failure(Int32(taken))) }
  }

  /// Bytes of a stream that we have reset may have been on their way: as many as its window allowed are no fault of the peer.
  private final func excuseLate(_ id: Int32, _ count: Int) {
    guard count > 0, count <= inbound.lateBytes, stream(id: id)?.isAbandoned ?? true else { return }
    inbound.lateBytes -= count
    inbound.budget.excuse()
  }

  /// The transport gave its end, or failed.
  public final func connectionLost() { fail(.lost) }

  private final func failure(_ result: Int32) -> SessionFailure {
    switch result {
    case NGHTTP2_ERR_BAD_CLIENT_MAGIC.rawValue: .protocolError(.protocolError)
    case NGHTTP2_ERR_FLOODED.rawValue: .unread
    default: .internalError
    }
  }

  /// Bounds what waits for a peer that does not read.
  private final func checkUnsent() {
    let frames = nghttp2_session_get_outbound_queue_size(handle)
    if frames * SessionLimits.unsentFrameCost > SessionLimits.unsentControlFrames { fail(.unread) }
  }

  /// Ends the connection and all its streams. nghttp2 is not asked again; `send` writes our GOAWAY.
  final func fail(_ reason: SessionFailure) {
    guard failure == nil else { return }
    failure = reason
    for stream in streams where stream.id != 0 && !stream.isOver {
      if isGone(stream) {
        end(stream, .goneAway)
      } else {
        end(stream, .connection(reason, sent: stream.sending.hasHead))
      }
    }
    events.append(.failed(reason))
  }

  /// The peer's GOAWAY says that it did not look at the request, and no head contradicts it.
  private final func isGone(_ stream: StreamState) -> Bool {
    guard let goAway, !stream.section.hasBegun else { return false }
    return stream.id > goAway.lastStream
  }

  /// Announces the stream's end, once.
  final func end(_ stream: StreamState, _ end: StreamEnd) {
    guard !stream.isOver else { return }
    stream.isOver = true
    stream.sending.isOver = true
    stream.sending.body.clear()
    events.append(.ended(stream.ticket, end))
  }

  /// Resets the stream, as what the peer sent on it is of no use.
  final func refuse(_ stream: StreamState, _ code: ErrorCode, _ reason: StreamEnd) {
    stream.ownEnd = reason
    abandon(stream, code)
    end(stream, reason)
  }

  // MARK: From nghttp2

  final func received(_ frame: UnsafePointer<nghttp2_frame>) {
    let header = frame.pointee.hd
    let ends = header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
    switch UInt32(header.type) {
    case NGHTTP2_HEADERS.rawValue:
      inbound.budget.excuse()
      inbound.current?._withUnsafeGuaranteedRef { stream in
        guard stream.id == header.stream_id else { return }
        endSection(stream, ends: ends)
        stream.section.kind = .none
        if ends { messageEnded(stream) }
      }
    case NGHTTP2_DATA.rawValue:
      guard ends else { return }
      if header.length == 0 { inbound.budget.excuse() }
      withStream(id: header.stream_id) { messageEnded($0) }
    case NGHTTP2_RST_STREAM.rawValue:
      guard let stream = stream(id: header.stream_id) else { return }
      inbound.budget.excuse()
      stream.resetCode = ErrorCode(rawValue: frame.pointee.rst_stream.error_code)
    case NGHTTP2_SETTINGS.rawValue:
      guard header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0 else {
        inbound.knowsOurs = true
        return inbound.budget.excuse()
      }
      inbound.hasSettings = true
      events.append(.settings)
    case NGHTTP2_PING.rawValue:
      if header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0 { pinged(frame.pointee.ping) }
    case NGHTTP2_GOAWAY.rawValue: received(frame.pointee.goaway)
    default: break
    }
  }

  private final func received(_ frame: nghttp2_goaway) {
    let goAway = GoAway(lastStream: frame.last_stream_id, code: ErrorCode(rawValue: frame.error_code))
    self.goAway = goAway
    let text = UnsafeRawBufferPointer(start: frame.opaque_data, count: min(frame.opaque_data_len, 128))
    goAwayText = text.map { 0x20..<0x7f ~= $0 ? $0 : UInt8(ascii: ".") }
    events.append(.goAway(goAway))
  }

  final func receivedData(_ id: Int32, _ bytes: UnsafeRawBufferPointer) {
    // The connection's window bounds nothing here: each stream's own does.
    nghttp2_session_consume_connection(handle, bytes.count)
    let isTaken = withStream(id: id) { stream in
      if stream.isOver { return false }
      inbound.budget.earn()
      if stream.body.isDiscarded { return false }
      stream.body.bytes.append(bytes)
      if !stream.body.isAnnounced {
        stream.body.isAnnounced = true
        events.append(.data(stream.ticket))
      }
      return true
    }
    if isTaken != true { nghttp2_session_consume_stream(handle, id, bytes.count) }
  }

  /// END_STREAM came, and nghttp2 has found the length right.
  private final func messageEnded(_ stream: StreamState) {
    guard !stream.isOver else { return }
    stream.body.isWhole = true
    ended(stream)
  }

  final func streamClosed(_ stream: StreamState?, _ code: ErrorCode) {
    closed(stream, code)
    guard let stream else { return }
    close(stream)
    if let ended = stream.ownEnd {
      end(stream, ended)
    } else if let reset = stream.resetCode {
      end(stream, StreamEnd(reset: reset, hasAnswer: stream.section.hasBegun))
    } else if isGone(stream) || !stream.sending.hasHead && code == .refusedStream {
      end(stream, .goneAway)
    } else if code == .refusedStream {
      // GOAWAY, although the answer had begun.
      end(stream, .reset(code))
    } else {
      // nghttp2 reset it; or both sides are done, and its end was announced.
      end(stream, .malformed(code))
    }
  }
}

extension StreamEnd {
  /// - Parameter hasAnswer: some head came before the reset.
  init(reset code: ErrorCode, hasAnswer: Bool) {
    switch code {
    case .refusedStream where !hasAnswer: self = .refused
    case .http11Required where !hasAnswer: self = .http11Required
    default: self = .reset(code)
    }
  }
}
