import EventIO

/// One direction between two streams that nobody interprets: bytes, then the end. Confined to the loop.
public struct StreamCopy {
  public enum Progress {
    /// It goes on at the next event of either stream.
    case waits
    /// More can be moved; others have their turn first.
    case turnIsOver
    /// The end was passed on.
    case ended
    case broken
  }

  /// Moves of one turn.
  private static let budget = 16

  private var block: Block?
  private var sourceEnded = false
  /// The end was passed on.
  public private(set) var isDone = false
  /// Bytes that were passed on.
  public private(set) var moved: Int64 = 0

  /// - Parameter first: what goes before anything that is read; the copy owns it.
  public init(first: Block? = nil) { block = first }

  public mutating func run(from source: ByteStream, to sink: ByteStream, on loop: EventLoop) -> Progress {
    if isDone { return .ended }
    for _ in 0..<Self.budget {
      if let block, !block.isEmpty {
        switch sink.write(block.bytes) {
        case .bytes(let count):
          moved += Int64(count)
          block.consume(count)
          continue
        case .later: return .waits
        case .failed: return .broken
        }
      }
      if sourceEnded {
        sink.endWriting()
        isDone = true
        release(on: loop)
        return .ended
      }
      let block = block ?? loop.blocks.borrow()
      self.block = block
      block.clear()
      switch source.read(into: block.space) {
      case .bytes(let count): block.end = count
      case .end: sourceEnded = true
      case .later:
        release(on: loop)
        return .waits
      case .truncated, .failed: return .broken
      }
    }
    return .turnIsOver
  }

  /// Gives its memory back.
  public mutating func release(on loop: EventLoop) {
    if let block { loop.blocks.giveBack(block) }
    block = nil
  }
}
