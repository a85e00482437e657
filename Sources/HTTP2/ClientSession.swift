import CNGHTTP2
import HTTPWire

/// The side of a connection that sends requests.
public final class ClientSession: Session {
  /// What became of a request that was to be sent.
  public enum Submitted: Sendable, Hashable {
    /// It goes on this stream, and its body follows so.
    case stream(StreamTicket, BodyFraming)
    /// The origin takes no more streams at once, or our own limit is reached.
    case full
    /// The connection takes no new requests: GOAWAY, failure, or no stream numbers are left.
    case closing
    /// The head is no head of HTTP/1.1, or too large to be sent.
    case unfit
  }

  /// Requests that we reset. A connection with many of them takes no more: some servers end one at such a count.
  public private(set) var cancelled = 0
  private let peerStreams: Int

  /// - Parameters:
  ///   - peerStreams: how many streams the origin took at once on its last connection, until its SETTINGS come; nil: 100.
  ///   - windows: what receive windows grow from; nil: only the bound of each connection holds.
  public init(limits: SessionLimits, peerStreams: Int? = nil, windows: (any WindowBudget)? = nil, now: Int64) {
    self.peerStreams = peerStreams ?? SessionLimits.unknownPeerStreams
    super.init(isServer: false, limits: limits, windows: windows, now: now)
  }

  /// How many requests may be open at once: the least of our limit and the peer's.
  public var streamLimit: Int {
    let peer =
      inbound.hasSettings
      ? Int(nghttp2_session_get_remote_settings(handle, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)) : peerStreams
    return min(limits.streams, peer)
  }

  /// Whether `submit` would take another request.
  public var canSubmit: Bool { isOpen && openStreams < streamLimit }

  private var isOpen: Bool {
    failure == nil && goAway == nil && nghttp2_session_check_request_allowed(handle) != 0
      && nghttp2_session_get_next_stream_id(handle) < 1 << 31
  }

  /// Sends a request. If its framing has bytes, `append` and `endBody` follow.
  /// - Parameters:
  ///   - head: as it would be written to an HTTP/1.1 origin, with the target in origin-form (or `*`), Host and the empty line. Host
  ///     becomes `:authority`; fields that belong to a connection of HTTP/1.1 are left out.
  ///   - secretFrom: where the lines of the credential begin, if they come last; those before may be indexed if their names allow.
  ///   - marked: names that the app wants never indexed.
  ///   - isSecretPath: the credential is in the query; then the path is a never-indexed literal.
  public func submit(
    head: UnsafeRawBufferPointer, secretFrom: Int = .max, marked: IndexedNames = [], isSecretPath: Bool = false
  ) -> Submitted {
    guard isOpen else { return .closing }
    guard openStreams < streamLimit else { return .full }
    outbound.requestText.reset()
    guard outbound.requestText.parse(head, limit: .max) == .complete,
      let framing = try? outbound.requestText.framing(in: head)
    else { return .unfit }
    guard let host = outbound.requestText.fields.first(where: { $0.id == .host && !$0.dropped }) else { return .unfit }
    outbound.fields.clear()
    // The static table has these two.
    let isStatic = outbound.requestText.method == .get || outbound.requestText.method == .post
    outbound.fields.append(":method", outbound.requestText.methodText.bytes(in: head), indexed: isStatic)
    outbound.fields.append(":scheme", "https", indexed: true)
    outbound.fields.append(":authority", host.value.bytes(in: head), indexed: !marked.contains(.authority))
    // Without the flag, nghttp2 sends a path as a literal that others may index; with it, none may.
    outbound.fields.append(":path", outbound.requestText.target.bytes(in: head), indexed: !isSecretPath)
    outbound.fields.append(outbound.requestText.fields, of: head, secretFrom: secretFrom, marked: marked)
    guard outbound.fields.size <= SessionLimits.sentHeaderBlock else { return .unfit }
    let id = Int32(bitPattern: nghttp2_session_get_next_stream_id(handle))
    let stream = newStream(id: id)
    stream.isHeadRequest = outbound.requestText.method == .head
    let place = Unmanaged.passUnretained(stream).toOpaque()
    var body = nghttp2_data_provider()
    body.source.ptr = place
    body.read_callback = Callbacks.readData
    if !framing.hasBytes { stream.sending.ends = true }
    let result =
      framing.hasBytes
      ? nghttp2_submit_request(handle, nil, outbound.fields.fields, outbound.fields.count, &body, place)
      : nghttp2_submit_request(handle, nil, outbound.fields.fields, outbound.fields.count, nil, place)
    guard result == id else {
      close(stream)
      release(stream.ticket)
      return .closing
    }
    return .stream(stream.ticket, framing)
  }

  /// Says goodbye: the driver closes the connection when `wantsSend` is false.
  public func close() {
    guard failure == nil else { return }
    nghttp2_submit_goaway(handle, Library.flagsNone, 0, ErrorCode.noError.rawValue, nil, 0)
  }

  // MARK: Answers

  override func released(_ stream: StreamState) {
    if !stream.isOver, !stream.body.isDiscarded, failure == nil { cancelled += 1 }
  }

  /// The driver has the whole answer, as its head says, but the stream's end has not come: many servers send it in a frame of its own. What
  /// comes until then is discarded; `end` or `ended` follow, and then the driver releases the stream. It may do so earlier, if the origin
  /// takes too long: such a stream does not count in `cancelled`.
  /// - Returns: false: nothing more will come, or the request is not sent whole, so that the stream can be released.
  public func awaitEnd(of ticket: StreamTicket) -> Bool {
    guard failure == nil, let stream = stream(ticket), !stream.isOver, !stream.isClosed, stream.section.isFinal,
      stream.sending.ends, stream.sending.body.isEmpty
    else { return false }
    stream.body.isDiscarded = true
    return true
  }

  override func beginSection(_ id: Int32, isTrailer: Bool) -> Bool {
    let begins = withStream(id: id) { stream in
      guard !stream.isOver else { return false }
      inbound.current = Unmanaged.passUnretained(stream)
      stream.section.begin()
      return true
    }
    return begins ?? false
  }

  override func field(
    _ stream: StreamState, _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, neverIndexed: Bool
  ) -> Bool {
    stream.section.size += name.count + value.count + 32
    guard stream.section.size <= limits.headerSection else {
      refuse(stream, .cancel, .headTooLarge)
      return false
    }
    if name.first == UInt8(ascii: ":") { return status(stream, value) }
    let id = FieldName(name)
    switch id {
    case .contentLength: stream.section.length = value.reduce(0) { $0 &* 10 &+ Int($1 &- UInt8(ascii: "0")) }
    case .te:
      refuse(stream, .protocolError, .malformed(.protocolError))
      return false
    default: break
    }
    AnswerText.append(name, id, value, to: &stream.section.text)
    return true
  }

  /// nghttp2 knows that it is one `:status` of three digits, before all others.
  private func status(_ stream: StreamState, _ value: UnsafeRawBufferPointer) -> Bool {
    var status = 0
    for byte in value { status = status * 10 + Int(byte &- UInt8(ascii: "0")) }
    guard 100..<600 ~= status else {
      refuse(stream, .protocolError, .malformed(.protocolError))
      return false
    }
    stream.section.status = status
    AnswerText.append(status: status, to: &stream.section.text)
    return true
  }

  override func endSection(_ stream: StreamState, ends: Bool) {
    guard !stream.isOver else { return }
    let status = stream.section.status
    switch stream.section.kind {
    case .none: return
    case .head where status < 200:
      let text = stream.section.end()
      guard stream.section.interimHeads <= SessionLimits.interimHeads else {
        return refuse(stream, .enhanceYourCalm, .tooManyInterimHeads)
      }
      events.append(.interimHead(stream.ticket, text))
    case .head:
      let mayHaveBody = !stream.isHeadRequest && status != 204 && status != 304
      if mayHaveBody { stream.body.length = stream.section.length }
      if mayHaveBody, stream.section.length == nil {
        stream.section.text.append(ends ? "Content-Length: 0\r\n" : "Transfer-Encoding: chunked\r\n")
      }
      events.append(.head(stream.ticket, stream.section.end(), ends: ends))
    case .trailers: events.append(.trailers(stream.ticket, stream.section.end()))
    }
  }

  /// Where no head came, nghttp2 would end the connection.
  override func beginData(_ id: Int32) {
    withStream(id: id) { stream in
      if !stream.section.isFinal, !stream.isOver { refuse(stream, .protocolError, .malformed(.protocolError)) }
    }
  }

  override func ended(_ stream: StreamState) {
    stream.isOver = true
    events.append(.end(stream.ticket))
    if !stream.sending.isOver, !stream.sending.ends || !stream.sending.body.isEmpty {
      // The origin answered early. Its stream would stay half open for ever, unless a reset of its own follows.
      stream.sending.drop()
      outbound.halfOpen.append(stream.ticket)
    }
  }

}
