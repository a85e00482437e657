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
  /// How many bytes its head says that there will be; nil: it does not say.
  var length: Int?

  mutating func clear() {
    bytes.clear()
    isAnnounced = false
    isWhole = false
    isDiscarded = false
    length = nil
  }
}

/// The message that we send on one stream: its body waits here for the peer's windows.
struct OutgoingMessage: ~Copyable {
  var body = ByteQueue()
  /// As an HTTP/1.1 head with only these fields; empty: none.
  var trailers = ByteQueue()
  /// The head was written.
  private(set) var hasHead = false
  /// When a part of it was last written; 0: never.
  private(set) var lastWritten: Int64 = 0
  /// Server: the driver gave the final head.
  var hasFinalHead = false
  /// The driver gives nothing more.
  var ends = false
  /// What was given is not the whole message, and nothing more will be: a reset follows it.
  var isCut = false
  /// Heads that nghttp2 has not written yet.
  private(set) var heldHeads = 0
  /// END_STREAM was written, or nothing more will be.
  var isOver = false
  /// nghttp2 asked for body bytes when there were none.
  var isDeferred = false
  /// `append` took less than it got.
  var wantsRoom = false

  /// nghttp2 has a head, which it will write.
  mutating func gaveHead() { heldHeads += 1 }

  mutating func wroteHead(at now: Int64) {
    hasHead = true
    lastWritten = now
    heldHeads = max(heldHeads - 1, 0)
  }

  mutating func wroteBody(_ count: Int, at now: Int64) {
    body.removeFirst(count)
    lastWritten = now
  }

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
    lastWritten = 0
    hasFinalHead = false
    ends = false
    isCut = false
    heldHeads = 0
    isOver = false
    isDeferred = false
    wantsRoom = false
  }
}
