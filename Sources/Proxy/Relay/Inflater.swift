import CZlib
import CZlibShims
import EventIO

/// Takes gzip or deflate off a body as it streams, and guards against bombs: what would swell more than 200-fold beyond the
/// first MiB is refused.
final class Inflater {
  struct Failure: Error {}
  private static let ratio = 200
  private static let allowance = 1 << 20
  private static let pieceSize = 32 << 10

  private var stream = z_stream()
  private var taken = 0
  private var given = 0
  private var isDone = false

  init?() {
    // 32 + 15: gzip and zlib headers are told apart by zlib itself.
    guard czlib_inflate_init(&stream, 47) == Z_OK else { return nil }
  }
  deinit { inflateEnd(&stream) }

  /// - Parameter deliver: takes chunk-framed pieces.
  func inflate(_ bytes: UnsafeRawBufferPointer, isLast: Bool, deliver: (Block) -> Void) throws(Failure) {
    taken += bytes.count
    stream.next_in = UnsafeMutablePointer(mutating: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
    stream.avail_in = UInt32(bytes.count)
    while stream.avail_in > 0 || !isDone {
      if isDone {
        // More after the end: another gzip member (RFC 1952 section 2.2).
        guard inflateReset(&stream) == Z_OK else { throw Failure() }
        isDone = false
      }
      let block = Block(capacity: Self.pieceSize + ChunkFraming.front + ChunkFraming.back)
      block.clearForBody()
      stream.next_out = block.bodySpace.baseAddress?.assumingMemoryBound(to: UInt8.self)
      stream.avail_out = UInt32(Self.pieceSize)
      let status = czlib_inflate(&stream)
      let count = Self.pieceSize - Int(stream.avail_out)
      given += count
      guard given <= Self.allowance + taken * Self.ratio else { throw Failure() }
      if count > 0 {
        block.end += count
        let framed = ChunkFraming.frame(block.start..<block.end, in: block, isLast: false)
        block.start = framed.lowerBound
        block.end = framed.upperBound
        deliver(block)
      }
      switch status {
      case Z_STREAM_END: isDone = true
      case Z_OK: if stream.avail_in == 0, stream.avail_out > 0 { return try end(isLast) }
      case Z_BUF_ERROR: return try end(isLast)
      default: throw Failure()
      }
      if isDone, stream.avail_in == 0 { return }
    }
  }

  private func end(_ isLast: Bool) throws(Failure) {
    if isLast, !isDone { throw Failure() }
  }
}
