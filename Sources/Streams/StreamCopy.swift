import EventIO

/// One direction between two streams that nobody interprets: bytes, then the end. Confined to the loop.
///
/// Small pieces go through a block. Bulk data between plain sockets goes through a pipe, in which the kernel hands over its own
/// memory, for half of the CPU time.
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
  /// Bytes of one move from which on the next one goes through a pipe. Below, its two calls cost more than the copies.
  private static let bulk = BlockPool.small / 2

  private var block: Block?
  private var pipe: SplicePipe?
  private var isBulk = false
  private var sourceEnded = false
  /// The end was passed on.
  public private(set) var isDone = false
  /// Bytes that were passed on.
  public private(set) var moved: Int64 = 0

  /// Bytes that wait in a pipe; nil: it has none.
  var heldInPipe: Int? { pipe?.count }

  /// - Parameter first: what goes before anything that is read; the copy owns it.
  public init(first: Block? = nil) { block = first }

  public mutating func run(from source: ByteStream, to sink: ByteStream, on loop: EventLoop) -> Progress {
    if isDone { return .ended }
    for _ in 0..<Self.budget {
      if let sent = send(to: sink) {
        switch sent {
        case .bytes(let count):
          moved += Int64(count)
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
      switch take(from: source, for: sink, on: loop) {
      case .bytes(let count): isBulk = count >= Self.bulk
      case .end: sourceEnded = true
      case .later:
        release(on: loop)
        return .waits
      case .truncated, .failed: return .broken
      }
    }
    return .turnIsOver
  }

  /// - Returns: nil: nothing is held.
  private func send(to sink: ByteStream) -> ByteStream.Write? {
    // What was read first: a pipe is filled only when the block is empty.
    if let block, !block.isEmpty {
      let written = sink.write(block.bytes)
      if case .bytes(let count) = written { block.consume(count) }
      return written
    }
    if let pipe, pipe.count > 0 { return sink.move(from: pipe) }
    return nil
  }

  /// Fills the pipe or the block; both are empty.
  private mutating func take(from source: ByteStream, for sink: ByteStream, on loop: EventLoop) -> ByteStream.Read {
    if isBulk, source.canMove, sink.canMove, let pipe = pipe ?? loop.pipes.borrow() {
      self.pipe = pipe
      if let moved = source.move(into: pipe) { return moved }
    }
    let block = block ?? loop.blocks.borrow()
    self.block = block
    block.clear()
    let read = source.read(into: block.space)
    if case .bytes(let count) = read { block.end = count }
    return read
  }

  /// Gives its memory and its pipe back.
  public mutating func release(on loop: EventLoop) {
    if let block { loop.blocks.giveBack(block) }
    block = nil
    if let pipe { loop.pipes.giveBack(pipe) }
    pipe = nil
  }
}
