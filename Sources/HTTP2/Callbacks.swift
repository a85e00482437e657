import CNGHTTP2

/// nghttp2's callbacks: they find the session and the stream, and nothing else. They capture nothing, and never call mem_recv or
/// mem_send.
enum Callbacks {
  static let beginHeaders: nghttp2_on_begin_headers_callback = { _, frame, user in
    with(user) { session in
      let header = frame!.pointee.hd
      session.inbound.current = nil
      return session.beginSection(header.stream_id, isTrailer: frame!.pointee.headers.cat == NGHTTP2_HCAT_HEADERS)
        ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
    }
  }

  static let header: nghttp2_on_header_callback = { _, _, name, nameCount, value, valueCount, flags, user in
    with(user) { session in
      guard let stream = session.inbound.current else { return 0 }
      let goesOn = stream._withUnsafeGuaranteedRef {
        session.field(
          $0, UnsafeRawBufferPointer(start: name, count: nameCount), UnsafeRawBufferPointer(start: value, count: valueCount),
          neverIndexed: flags & UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue) != 0)
      }
      // nghttp2 feeds the rest of the section to HPACK, and shows no more of it.
      return goesOn ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
    }
  }

  static let frameReceived: nghttp2_on_frame_recv_callback = { _, frame, user in
    with(user) { $0.received(frame!) }
    return 0
  }

  static let data: nghttp2_on_data_chunk_recv_callback = { _, _, id, bytes, count, user in
    with(user) { $0.receivedData(id, UnsafeRawBufferPointer(start: bytes, count: count)) }
    return 0
  }

  static let streamClosed: nghttp2_on_stream_close_callback = { _, id, code, user in
    with(user) { $0.streamClosed($0.stream(id: id), ErrorCode(rawValue: code)) }
    return 0
  }

  static let frameSent: nghttp2_on_frame_send_callback = { _, frame, user in
    with(user) { $0.sent(frame!) }
    return 0
  }

  static let sendData: nghttp2_send_data_callback = { _, frame, header, count, source, user in
    with(user) { $0.writeData(source!.pointee.ptr, frame!.pointee.hd.stream_id, header!, count) }
  }

  static let readData: nghttp2_data_source_read_callback = { _, id, _, count, flags, source, user in
    with(user) { $0.readData(source!.pointee.ptr, id, count, flags!) }
  }

  /// Without retaining the session: who calls nghttp2 holds it, and there are several calls for each request.
  @inline(__always)
  private static func with<Result>(_ user: UnsafeMutableRawPointer?, _ body: (Session) -> Result) -> Result {
    Unmanaged<Session>.fromOpaque(user!)._withUnsafeGuaranteedRef(body)
  }
}
