import EventIO

/// Adds chunked framing to a payload in place: the size before it, CRLF behind it. Every block that a body is read into keeps
/// `front` bytes free before the body and `back` bytes behind it for that.
enum ChunkFraming {
  /// Room for eight hexadecimal digits and CRLF, or for a last chunk.
  static var front: Int { Block.frontMargin }
  /// Room for CRLF and a last chunk.
  static var back: Int { Block.backMargin }

  /// - Parameters:
  ///   - payload: its range in the block. The bytes of the sender's own framing behind it are free.
  ///   - isLast: whether the body ends here, without trailers.
  /// - Returns: the framed range; empty if there is nothing to send yet.
  static func frame(_ payload: Range<Int>, in block: Block, isLast: Bool) -> Range<Int> {
    var start = payload.lowerBound
    var end = payload.upperBound
    if payload.isEmpty {
      guard isLast else { return start..<start }
      start -= 5
      store("0\r\n\r\n", at: start, in: block)
      return start..<end
    }
    start -= 2
    store("\r\n", at: start, in: block)
    var size = payload.count
    repeat {
      start -= 1
      let digit = UInt8(truncatingIfNeeded: size & 15)
      block.base.storeBytes(of: digit < 10 ? 48 + digit : 87 + digit, toByteOffset: start, as: UInt8.self)
      size >>= 4
    } while size != 0
    store("\r\n", at: end, in: block)
    end += 2
    if isLast {
      store("0\r\n\r\n", at: end, in: block)
      end += 5
    }
    return start..<end
  }

  private static func store(_ text: StaticString, at offset: Int, in block: Block) {
    precondition(offset >= 0 && offset + text.utf8CodeUnitCount <= block.capacity)
    (block.base + offset).copyMemory(from: text.utf8Start, byteCount: text.utf8CodeUnitCount)
  }
}
