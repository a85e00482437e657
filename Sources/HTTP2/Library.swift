import CNGHTTP2

/// What sessions ask of nghttp2 when they begin.
enum Library {
  /// - Parameter memory: must outlast the session.
  /// - Returns: a session without user data; whoever gets it must call `nghttp2_session_del`.
  static func session(isServer: Bool, limits: SessionLimits, memory: FrameMemory) -> OpaquePointer {
    var options: OpaquePointer?
    precondition(nghttp2_option_new(&options) == 0, "out of memory")
    defer { nghttp2_option_del(options) }
    nghttp2_option_set_no_auto_window_update(options, 1)
    nghttp2_option_set_no_closed_streams(options, 1)
    nghttp2_option_set_max_deflate_dynamic_table_size(options, 4096)
    nghttp2_option_set_max_send_header_block_length(options, SessionLimits.sentHeaderBlock * 2)
    // It counts resets of finished streams, too. `ResetBucket` does not.
    nghttp2_option_set_stream_reset_rate_limit(options, 1 << 40, 1 << 20)
    // It counts a CONTINUATION again for each piece that its header arrives in. `FrameScanner` does not.
    nghttp2_option_set_max_continuations(options, 1 << 40)
    // The session itself keeps to the peer's limit; nghttp2's queue of requests stays empty.
    nghttp2_option_set_peer_max_concurrent_streams(options, UInt32(max(limits.streams, SessionLimits.unknownPeerStreams)))
    var callbacks: OpaquePointer?
    precondition(nghttp2_session_callbacks_new(&callbacks) == 0, "out of memory")
    defer { nghttp2_session_callbacks_del(callbacks) }
    // No callback for invalid header fields: with one that returns 0, nghttp2 drops such fields and accepts the message.
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, Callbacks.beginHeaders)
    nghttp2_session_callbacks_set_on_header_callback(callbacks, Callbacks.header)
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Callbacks.frameReceived)
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Callbacks.data)
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Callbacks.streamClosed)
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, Callbacks.frameSent)
    nghttp2_session_callbacks_set_send_data_callback(callbacks, Callbacks.sendData)
    var functions = memory.functions
    var session: OpaquePointer?
    let result =
      isServer
      ? nghttp2_session_server_new3(&session, callbacks, nil, options, &functions)
      : nghttp2_session_client_new3(&session, callbacks, nil, options, &functions)
    guard result == 0, let session else { preconditionFailure("out of memory") }
    return session
  }

  /// Queues our SETTINGS, and the connection's window.
  static func submitFirstFrames(_ session: OpaquePointer, isServer: Bool, limits: SessionLimits) {
    var settings = [
      nghttp2_settings_entry(
        settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue), value: UInt32(SessionLimits.firstWindow)),
      nghttp2_settings_entry(
        settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue), value: UInt32(limits.headerSection)),
    ]
    if isServer {
      settings.append(
        nghttp2_settings_entry(
          settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue), value: UInt32(limits.streams)))
      settings.append(
        nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES.rawValue), value: 1))
    } else {
      settings.append(nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0))
    }
    nghttp2_submit_settings(session, flagsNone, settings, settings.count)
    nghttp2_session_set_local_window_size(session, flagsNone, 0, Int32(SessionLimits.connectionWindow))
  }

  static let flagsNone = UInt8(NGHTTP2_FLAG_NONE.rawValue)
}
