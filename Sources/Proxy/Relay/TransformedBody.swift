import EventIO
import Signing

/// A body that a credential changes on its way to the origin: what of it is ready to be sent. One for each attempt.
final class TransformedBody {
  enum Refusal {
    case transform(BodyTransformError)
    /// All bodies that are kept fill `limits.buffers`.
    case noMemory
  }

  private let transform: BodyTransform
  private unowned(unsafe) let buffers: LoopBuffers
  private var output: [UInt8] = []
  private var sent = 0
  /// Bytes that came, and that are ready or gone: the length does not change.
  private var came = 0
  private var made = 0
  /// Taken from the buffers.
  private var taken = 0
  /// The transform has the whole body.
  private(set) var hasEnded = false

  init(_ transform: BodyTransform, _ buffers: LoopBuffers) {
    self.transform = transform
    self.buffers = buffers
  }

  deinit { buffers.giveBack(taken) }

  /// - Returns: why the body cannot go on. Nothing of this piece may be sent then.
  func take(_ piece: UnsafeRawBufferPointer, isLast: Bool) -> Refusal? {
    let before = output.count
    do { try transform.take(piece, isLast: isLast, into: &output) } catch { return .transform(error) }
    hasEnded = isLast
    came += piece.count
    made += output.count - before
    guard made == came || made < came && !isLast else {
      return .transform(.malformed("its length would change"))
    }
    return settle() ? nil : .noMemory
  }

  /// Takes from the buffers what the body occupies, or gives back what it no longer does.
  /// - Returns: false: there is not enough.
  private func settle() -> Bool {
    let kept = transform.held + output.capacity
    if kept > taken {
      guard buffers.take(kept - taken) else { return false }
    } else {
      buffers.giveBack(taken - kept)
    }
    taken = kept
    return true
  }

  /// What one large chunk has left behind is not kept for the rest of a slow upload.
  private func clear() {
    output.removeAll(keepingCapacity: output.capacity <= BlockPool.small)
    sent = 0
    // Less than before.
    _ = settle()
  }

  /// The next block of it, framed if the body goes in chunks; nil: nothing is ready.
  func next(from loop: EventLoop, isChunked: Bool) -> Block? {
    guard sent < output.count else { return nil }
    let count = min(output.count - sent, BlockPool.small - ChunkFraming.front - ChunkFraming.back)
    let block = loop.blocks.borrow()
    block.clearForBody()
    output.withUnsafeBytes { block.append(UnsafeRawBufferPointer(rebasing: $0[sent..<sent + count])) }
    sent += count
    if sent == output.count { clear() }
    if isChunked {
      let framed = ChunkFraming.frame(block.start..<block.end, in: block, isLast: false)
      block.start = framed.lowerBound
      block.end = framed.upperBound
    }
    return block
  }
}
