/// The body that the peer sends on one stream.
struct IncomingBody: ~Copyable {
  /// What the driver has not consumed.
  var bytes = ByteQueue()
  var window = StreamWindow()
  /// The event `data` was not read yet.
  var isAnnounced = false
  /// The peer's message is whole: nothing follows.
  var isWhole = false
  /// Nothing of it is kept.
  var isDiscarded = false

  mutating func clear() {
    bytes.clear()
    isAnnounced = false
    isWhole = false
    isDiscarded = false
  }
}

/// The message that we send on one stream: its body waits here for the peer's windows.
struct OutgoingMessage: ~Copyable {
  var body = ByteQueue()
  /// As an HTTP/1.1 head with only these fields; empty: none.
  var trailers = ByteQueue()
  /// The head was written.
  var hasHead = false
  /// Server: the driver gave the final head.
  var hasFinalHead = false
  /// The driver gives nothing more.
  var ends = false
  /// END_STREAM was written, or nothing more will be.
  var isOver = false
  /// nghttp2 asked for body bytes when there were none.
  var isDeferred = false
  /// `append` took less than it got.
  var wantsRoom = false

  /// The peer does not want the rest.
  mutating func drop() {
    body.clear()
    ends = true
    wantsRoom = false
  }

  mutating func clear() {
    body.clear()
    trailers.clear()
    hasHead = false
    hasFinalHead = false
    ends = false
    isOver = false
    isDeferred = false
    wantsRoom = false
  }
}
