/// Follows the frames of received bytes by their headers alone, and counts what nghttp2 1.52 does not show: it calls back for no frame
/// that it ignores.
struct FrameScanner {
  enum Finding: Equatable {
    case end, push, headerBlock
    /// DATA of this stream: its header ends where scanning stopped, and so many bytes follow.
    case data(Int32, Int)
  }

  private var frames = 0
  /// Bytes to skip before the next frame's header: of a payload, or of the client's preface.
  private var skip: Int
  /// The bytes so far of a header that arrives.
  private var prefix: UInt64 = 0
  private var stream: UInt32 = 0
  private var headerCount = 0
  /// Bytes on the wire of the header block that is arriving.
  private var block = 0
  private let blockLimit: Int
  /// CONTINUATION frames of the header block that is arriving.
  private var continuations = 0
  private static let continuationLimit = 8

  /// - Parameters:
  ///   - preface: bytes before the first frame.
  ///   - blockLimit: the most bytes of a header block.
  init(preface: Int, blockLimit: Int) {
    skip = preface
    self.blockLimit = blockLimit
  }

  /// Looks at bytes from `index` on, up to the next thing to be found, or to their end.
  mutating func scan(_ bytes: UnsafeRawBufferPointer, _ index: inout Int) -> Finding {
    let count = bytes.count
    while index < count {
      if skip > 0 {
        let step = min(skip, count - index)
        skip -= step
        index += step
        continue
      }
      // Length, type and flags, then the stream.
      while headerCount < 9, index < count {
        if headerCount < 5 { prefix = prefix << 8 | UInt64(bytes[index]) } else { stream = stream << 8 | UInt32(bytes[index]) }
        headerCount += 1
        index += 1
      }
      guard headerCount == 9 else { break }
      let finding = begin(length: Int(prefix >> 16), type: UInt8(prefix >> 8 & 0xff), flags: UInt8(prefix & 0xff))
      prefix = 0
      headerCount = 0
      if finding != .end { return finding }
    }
    return .end
  }

  /// The number of frames begun since the last call.
  mutating func takeFrames() -> Int {
    defer { frames = 0 }
    return frames
  }

  private mutating func begin(length: Int, type: UInt8, flags: UInt8) -> Finding {
    frames += 1
    skip = length
    switch type {
    case 0x0: return .data(Int32(bitPattern: stream & 0x7fff_ffff), length)
    case 0x1:
      block = length
      continuations = 0
    case 0x9:
      block += length
      continuations += 1
    case 0x5: return .push
    default: return .end
    }
    if block > blockLimit || continuations > Self.continuationLimit { return .headerBlock }
    if flags & 0x4 != 0 { block = 0 }
    return .end
  }
}
