import HTTPWire

/// The header sections of one stream's incoming message, as HTTP/1.1 text.
struct HeaderSection: ~Copyable {
  enum Kind { case none, head, trailers }

  /// Heads and trailers, one behind the other: events have slices of it.
  var text = ByteQueue()
  /// What is arriving.
  var kind = Kind.none
  /// Decoded size of what is arriving: name, value and 32 for each field (RFC 9113 section 6.5.2). Interim heads count together.
  var size = 0
  /// Of the arriving head; 0: none yet.
  var status = 0
  /// Value of Content-Length among the fields, which nghttp2 has checked; nil: there is none.
  var length: Int?
  private(set) var interimHeads = 0
  /// A final head has arrived.
  private(set) var isFinal = false
  /// Some head has arrived.
  var hasBegun: Bool { isFinal || interimHeads > 0 }
  private var start = 0
  private var interimSize = 0

  mutating func begin() {
    kind = isFinal ? .trailers : .head
    start = text.count
    size = isFinal ? 0 : interimSize
    status = 0
    length = nil
  }

  /// Ends the section that was arriving.
  /// - Returns: its text.
  mutating func end() -> ByteSlice {
    text.append("\r\n")
    if kind == .head {
      if status != 0, status < 200 {
        interimHeads += 1
        interimSize = size
      } else {
        isFinal = true
      }
    }
    kind = .none
    return ByteSlice(start: start, count: text.count - start)
  }

  mutating func clear() {
    text.clear()
    kind = .none
    interimHeads = 0
    interimSize = 0
    isFinal = false
  }
}
