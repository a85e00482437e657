import CNGHTTP2
import HTTPWire

/// One HTTP/2 connection, without its transport, timers and thread: it takes received bytes and the time, and gives events and bytes to
/// send. Frames and header compression are nghttp2's; what nghttp2 1.52 does not bound is bounded here.
///
/// A driver calls `receive` with what it read, then takes all events, then `send` while `wantsSend`, and takes events again: nghttp2
/// ends some streams when it writes their RST_STREAM. It may call every method while it handles an event. Not thread-safe.
///
/// Time is of any monotonic clock, in ns.
public class Session {
  final let limits: SessionLimits
  private let isServer: Bool
  final let handle: OpaquePointer
  private let memory = FrameMemory()
  final var now: Int64
  /// When the last byte came.
  public final internal(set) var lastReceived: Int64

  /// By `StreamTicket.index`; those with id 0 are free.
  final private(set) var streams = ContiguousArray<StreamState>()
  private var free = ContiguousArray<UInt32>()
  final var events = EventQueue()
  /// Streams that count against a limit of streams at once.
  public final internal(set) var openStreams = 0

  final var inbound: Inbound
  final var outbound = Outbound()
  final var pings = PendingPing()

  /// Why the connection is finished; nil: it is not.
  public final internal(set) var failure: SessionFailure?
  /// The peer's last GOAWAY.
  public final internal(set) var goAway: GoAway?
  /// Debug data of the peer's GOAWAY: at most 128 bytes, others than printable ones as dots.
  public final internal(set) var goAwayText: [UInt8] = []

  init(isServer: Bool, limits: SessionLimits, windows: (any WindowBudget)?, now: Int64) {
    self.limits = limits
    self.isServer = isServer
    self.now = now
    lastReceived = now
    inbound = Inbound(isServer: isServer, limits: limits, windows: windows, now: now)
    handle = Library.session(isServer: isServer, limits: limits, memory: memory)
    nghttp2_session_set_user_data(handle, Unmanaged.passUnretained(self).toOpaque())
    Library.submitFirstFrames(handle, isServer: isServer, limits: limits)
  }

  deinit {
    inbound.windowGrowth.end()
    nghttp2_session_del(handle)
  }

  // MARK: Events

  /// The next event, in the order of the wire; nil: none is left. None is of a stream that was released.
  public final func nextEvent() -> SessionEvent? {
    while let event = events.next() {
      guard let ticket = event.ticket else { return event }
      guard let stream = stream(ticket) else { continue }
      if case .data = event { stream.body.isAnnounced = false }
      return event
    }
    return nil
  }

  /// Text of an event's slice. Valid until the next `receive`, `dropHeads` or `release`.
  public final func bytes(of ticket: StreamTicket, _ slice: ByteSlice) -> UnsafeRawBufferPointer {
    stream(ticket).map { slice.bytes(in: $0.section.text.bytes) } ?? UnsafeRawBufferPointer(start: nil, count: 0)
  }

  /// Forgets heads and trailers whose events were read. Call it after the last of several events, if at all: `release` does it, too.
  public final func dropHeads(of ticket: StreamTicket) {
    guard let stream = stream(ticket), stream.section.kind == .none, events.isEmpty else { return }
    stream.section.text.clear()
  }

  // MARK: Streams

  final func stream(_ ticket: StreamTicket) -> StreamState? {
    guard Int(ticket.index) < streams.count else { return nil }
    let stream = streams[Int(ticket.index)]
    return stream.id == ticket.id && ticket.id != 0 ? stream : nil
  }

  final func newStream(id: Int32) -> StreamState {
    let stream: StreamState
    if let index = free.popLast() {
      stream = streams[Int(index)]
    } else {
      stream = StreamState(index: UInt32(streams.count))
      streams.append(stream)
    }
    stream.begin(id: id)
    openStreams += 1
    return stream
  }

  /// The stream with this number, unless it was released.
  @inline(__always)
  final func stream(id: Int32) -> StreamState? {
    guard let data = nghttp2_session_get_stream_user_data(handle, id) else { return nil }
    let stream = Unmanaged<StreamState>.fromOpaque(data).takeUnretainedValue()
    return stream.id == id ? stream : nil
  }

  /// What `body` says of that stream, without retaining it: the session holds it, and each request takes a dozen looks.
  /// - Returns: nil: it was released.
  @inline(__always) @discardableResult
  final func withStream<Result>(id: Int32, _ body: (StreamState) -> Result) -> Result? {
    guard let data = nghttp2_session_get_stream_user_data(handle, id) else { return nil }
    return Unmanaged<StreamState>.fromOpaque(data)._withUnsafeGuaranteedRef { $0.id == id ? body($0) : nil }
  }

  /// Gives the stream back; its ticket is void afterwards. Required once for each stream, also after `end`, `ended` and `failed`. A
  /// stream that is not over is reset: with CANCEL, or with `code`.
  public final func release(_ ticket: StreamTicket, code: ErrorCode = .cancel) {
    guard let stream = stream(ticket) else { return }
    if !stream.isClosed {
      if !isFinished(stream) { abandon(stream, !isServer && stream.body.isWhole ? .noError : code) }
      nghttp2_session_set_stream_user_data(handle, stream.id, nil)
      close(stream)
    }
    if isServer { openStreams -= 1 }
    // The rest of a section that is half here must not reach the slot's next stream.
    if inbound.current?.toOpaque() == Unmanaged.passUnretained(stream).toOpaque() { inbound.current = nil }
    stream.body.window.end(growth: &inbound.windowGrowth)
    released(stream)
    stream.clear()
    free.append(stream.index)
  }

  /// nghttp2 knows the stream no more, or should not.
  final func close(_ stream: StreamState) {
    stream.isClosed = true
    stream.sending.isOver = true
    // An app's request counts until the work for it has ended.
    if !isServer { openStreams -= 1 }
  }

  /// Both messages are whole.
  private final func isFinished(_ stream: StreamState) -> Bool { stream.body.isWhole && stream.sending.isOver }

  final func abandon(_ stream: StreamState, _ code: ErrorCode) {
    guard failure == nil, !stream.isClosed else { return }
    stream.sending.isOver = true
    if !stream.isAbandoned, !stream.body.isWhole {
      inbound.lateBytes += max(Int(nghttp2_session_get_stream_local_window_size(handle, stream.id)), 0)
    }
    stream.isAbandoned = true
    nghttp2_submit_rst_stream(handle, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream.id, code.rawValue)
  }

  // MARK: What the roles do

  func released(_ stream: StreamState) {}
  func beginSection(_ id: Int32, isTrailer: Bool) -> Bool { false }
  func field(_ stream: StreamState, _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, neverIndexed: Bool) -> Bool
  { false }
  func endSection(_ stream: StreamState, ends: Bool) {}
  /// A frame of DATA begins.
  func beginData(_ id: Int32) {}
  /// The peer's message is whole.
  func ended(_ stream: StreamState) {}
  /// Ours was written whole.
  func answered(_ stream: StreamState) {}
  /// nghttp2 closed a stream; nil: one that was released.
  func closed(_ stream: StreamState?, _ code: ErrorCode) {}
  func sentReset(_ code: ErrorCode) {}
}
