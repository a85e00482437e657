import HTTPWire

/// What a session knows of the bytes that it receives.
struct Inbound {
  var scanner: FrameScanner
  var budget: FrameBudget
  /// The stream whose header section arrives. The session holds all of its streams.
  var current: Unmanaged<StreamState>?
  /// The peer's first SETTINGS came.
  var hasSettings = false
  /// The peer has acknowledged our SETTINGS.
  var knowsOurs = false
  var windowGrowth: WindowGrowth
  /// What may still come for streams that we have reset: what was left of their windows.
  var lateBytes = 0

  init(isServer: Bool, limits: SessionLimits, windows: (any WindowBudget)?, now: Int64) {
    windowGrowth = WindowGrowth(windows)
    // A server gets the client's preface first.
    scanner = FrameScanner(preface: isServer ? 24 : 0, blockLimit: limits.headerSection * 4)
    budget = FrameBudget(now: now)
  }
}

/// What a session needs to write frames.
struct Outbound: ~Copyable {
  var buffer = OutputBuffer()
  /// nghttp2's bytes of a frame that did not fit into the last buffer.
  var rest = UnsafeRawBufferPointer(start: nil, count: 0)
  var fields = FieldList()
  /// Streams whose answer was whole before the request.
  var halfOpen = ContiguousArray<StreamTicket>()
  /// For heads and trailers that the driver wrote as HTTP/1.1 text.
  var requestText = RequestHead()
  var answerText = ResponseHead()
  /// After a failure: nothing more is to be written.
  var saidGoAway = false
}

/// The PING that waits for its answer.
struct PendingPing {
  /// nil: none waits.
  private(set) var payload: UInt64?
  private var last: UInt64 = 0

  mutating func begin() -> UInt64 {
    last += 1
    payload = last
    return last
  }

  /// Whether this is the answer.
  mutating func end(_ payload: UInt64) -> Bool {
    guard payload == self.payload else { return false }
    self.payload = nil
    return true
  }
}
