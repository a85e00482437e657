import EventIO
import HTTP2
import Streams

/// Moves bytes between an HTTP/2 session and the stream of its connection. Belongs to one loop.
public struct SessionPipe {
  public enum Received {
    /// Nothing before the next event.
    case blocked
    /// The session has taken bytes, and may have events.
    case bytes
    /// The other end sends nothing more, as its close_notify says.
    case ended
    /// The other end is gone.
    case lost
  }
  public enum Sent {
    case all
    /// The other end takes no more now.
    case blocked
    case lost
  }

  private let session: Session
  private let stream: ByteStream
  private let loop: EventLoop
  private var out: Block?

  public init(_ session: Session, over stream: ByteStream, on loop: EventLoop) {
    self.session = session
    self.stream = stream
    self.loop = loop
  }

  /// Something is to be sent.
  public var hasWork: Bool { out != nil || session.wantsSend }

  /// One read.
  public func receive(through block: Block) -> Received {
    switch stream.read(into: block.space) {
    case .bytes(let count):
      session.receive(UnsafeRawBufferPointer(start: block.base + block.end, count: count), now: loop.now)
      return .bytes
    case .later: return .blocked
    case .end: return .ended
    case .truncated, .failed: return .lost
    }
  }

  /// Sends what the session has. Frames of a turn leave in one write.
  public mutating func send() -> Sent {
    while true {
      let block = out ?? loop.blocks.borrowLarge()
      out = block
      if block.isEmpty { block.clear() }
      if block.space.count >= 4096 { block.end += session.send(into: block.space, now: loop.now) }
      guard !block.isEmpty else { break }
      switch stream.write(block.bytes) {
      case .bytes(let count): block.consume(count)
      case .later: return .blocked
      case .failed: return .lost
      }
    }
    giveBack()
    return .all
  }

  public mutating func giveBack() {
    if let out { loop.blocks.giveBack(out) }
    out = nil
  }
}
