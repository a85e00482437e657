/// Takes the payload out of a chunked body as `ChunkFraming` frames it, piece by piece.
struct SentChunks {
  enum Step {
    /// Payload at the front of what was offered.
    case payload(count: Int)
    /// Framing.
    case framing(count: Int)
    /// The body has ended, behind so much framing. `trailers` are complete.
    case end(count: Int)
    /// All that was offered is the beginning of a line.
    case more
    case invalid
  }

  private enum State {
    case size
    case payload(Int)
    case payloadEnd
    case trailers
    case ended
  }
  private var state = State.size
  /// Lines with CRLF, without the blank one.
  private(set) var trailers: [UInt8] = []

  /// What the offered bytes begin with.
  func next(_ bytes: UnsafeRawBufferPointer) -> Step {
    switch state {
    case .payload(let left): return bytes.isEmpty ? .more : .payload(count: min(left, bytes.count))
    case .size, .trailers, .payloadEnd:
      guard let end = bytes.firstIndex(of: 0x0a) else { return .more }
      if case .trailers = state, end == 1 { return .end(count: 2) }
      return .framing(count: end + 1)
    case .ended: return .invalid
    }
  }

  /// Moves on by what `next` returned, or by a part of the payload.
  /// - Returns: false: that is no chunked body.
  mutating func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
    switch state {
    case .payload(let left): state = left == bytes.count ? .payloadEnd : .payload(left - bytes.count)
    case .payloadEnd: state = .size
    case .size:
      var size = 0
      for byte in bytes {
        guard let digit = Self.digit(byte) else { break }
        size = size << 4 | digit
      }
      state = size == 0 ? .trailers : .payload(size)
    case .trailers: if bytes.count == 2 { state = .ended } else { trailers += bytes }
    case .ended: return false
    }
    return true
  }

  private static func digit(_ byte: UInt8) -> Int? {
    switch byte {
    case 0x30...0x39: Int(byte) - 0x30
    case 0x61...0x66: Int(byte) - 0x57
    case 0x41...0x46: Int(byte) - 0x37
    default: nil
    }
  }
}
