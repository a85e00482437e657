import EventIO
import Signing

/// A body that a credential changes on its way to the origin: what of it is ready to be sent. One for each attempt.
final class TransformedBody {
  private let transform: BodyTransform
  private var output: [UInt8] = []
  private var sent = 0
  /// The transform has the whole body.
  private(set) var hasEnded = false

  init(_ transform: BodyTransform) { self.transform = transform }

  /// - Returns: why the body cannot go on.
  func take(_ piece: UnsafeRawBufferPointer, isLast: Bool) -> BodyTransformError? {
    if sent == output.count {
      output.removeAll(keepingCapacity: true)
      sent = 0
    }
    do { try transform.take(piece, isLast: isLast, into: &output) } catch { return error }
    hasEnded = isLast
    return nil
  }

  /// The next block of it, framed if the body goes in chunks; nil: nothing is ready.
  func next(from loop: EventLoop, isChunked: Bool) -> Block? {
    guard sent < output.count else { return nil }
    let count = min(output.count - sent, BlockPool.small - ChunkFraming.front - ChunkFraming.back)
    let block = loop.blocks.borrow()
    block.clearForBody()
    output.withUnsafeBytes { block.append(UnsafeRawBufferPointer(rebasing: $0[sent..<sent + count])) }
    sent += count
    if isChunked {
      let framed = ChunkFraming.frame(block.start..<block.end, in: block, isLast: false)
      block.start = framed.lowerBound
      block.end = framed.upperBound
    }
    return block
  }
}
