import CZlib
import CZlibShims
import EventIO
import Forwarding
import Streams

/// Inflates gzip or deflate as a body streams, one piece at a time, so that the output waits for its reader. Refuses bombs:
/// beyond the first MiB, the output may be at most 200 times the input.
final class Inflater {
  struct Failure: Error {}
  private static let ratio = 200
  private static let allowance = 1 << 20
  private static let pieceSize = 32 << 10

  private let coding: ContentCoding
  private var stream = z_stream()
  /// The input block, and the range in it that is left.
  private var block: Block?
  private var rest = 0..<0
  private var taken = 0
  private var given = 0
  /// The last piece was full, so zlib may hold more output.
  private var mayHoldBack = false
  private var memberEnded = false
  private var inputEnded = false
  private var isDone = false

  init?(_ coding: ContentCoding) {
    self.coding = coding
    // 32 + 15: zlib itself tells gzip and zlib headers apart.
    guard czlib_inflate_init(&stream, 47) == Z_OK else { return nil }
  }
  deinit { inflateEnd(&stream) }

  /// Whether there is more to do without more input. While it is true, the block that was fed must not be changed.
  var hasWork: Bool { !rest.isEmpty || mayHoldBack || inputEnded && !isDone }

  /// Feeds the next part of the body. All input before must be used up.
  func feed(_ range: Range<Int>, of block: Block) {
    self.block = block
    rest = range
  }

  /// No more input follows.
  func end() { inputEnded = true }

  /// The next piece, with room around it for framing; nil if there is none.
  func next() throws(Failure) -> Block? {
    guard !rest.isEmpty || mayHoldBack else {
      // An empty body has no coding to check.
      if inputEnded, !memberEnded, taken > 0 { throw Failure() }
      isDone = inputEnded
      return nil
    }
    try beginMember()
    let output = Block(capacity: Self.pieceSize + ChunkFraming.front + ChunkFraming.back)
    output.clearForBody()
    stream.next_in = block.map { ($0.base + rest.lowerBound).assumingMemoryBound(to: UInt8.self) }
    stream.avail_in = UInt32(rest.count)
    stream.next_out = output.bodySpace.baseAddress?.assumingMemoryBound(to: UInt8.self)
    stream.avail_out = UInt32(Self.pieceSize)
    let status = czlib_inflate(&stream)
    guard status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR else { throw Failure() }
    let used = rest.count - Int(stream.avail_in)
    let count = Self.pieceSize - Int(stream.avail_out)
    rest = rest.lowerBound + used..<rest.upperBound
    taken += used
    given += count
    memberEnded = status == Z_STREAM_END
    mayHoldBack = !memberEnded && stream.avail_out == 0
    // zlib neither takes nor gives anything, and never will.
    if used == 0, count == 0, !rest.isEmpty { throw Failure() }
    guard given <= Self.allowance + taken * Self.ratio else { throw Failure() }
    if rest.isEmpty, !mayHoldBack { block = nil }
    output.end += count
    return count > 0 ? output : nil
  }

  private func beginMember() throws(Failure) {
    if taken == 0, coding == .deflate, let block, !rest.isEmpty {
      // Some servers send deflate without the zlib wrapper that RFC 9110 section 8.4.1.2 requires. The first byte tells.
      let first = block.base.load(fromByteOffset: rest.lowerBound, as: UInt8.self)
      let isWrapped = first & 15 == 8 && first >> 4 <= 7
      if !isWrapped { guard inflateReset2(&stream, -15) == Z_OK else { throw Failure() } }
    } else if memberEnded, !rest.isEmpty {
      // Input after the end is another gzip member (RFC 1952 section 2.2).
      guard inflateReset(&stream) == Z_OK else { throw Failure() }
    }
  }
}
