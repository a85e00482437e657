import HTTP2
import HTTPWire
import Streams

/// A message that arrives on an HTTP/2 stream, read as HTTP/1.1: its heads, then the body, in chunks if nobody has said how long it is.
public struct ArrivingMessage {
  /// Heads that are not read yet, and at the end the last chunk.
  private var text: [UInt8] = []
  private var textRead = 0
  /// The final head has come.
  public private(set) var hasHead = false
  private var isChunked = false
  /// Lines with CRLF, and a blank one; empty: none have come.
  private(set) var trailers: [UInt8] = []
  /// Bytes of the body that are still to be read, if the head says how many there are.
  private var left: Int?
  /// Its last byte waits for the message's end: trailers may follow it.
  public var awaitsTrailers = false
  /// It is whole; bytes of it may be unread.
  public var hasEnded = false
  private var hasEndedChunks = false

  public init() {}

  public mutating func take(interim head: UnsafeRawBufferPointer) { text += head }

  /// - Parameter length: the value of its Content-Length; nil: it has none.
  public mutating func take(head: UnsafeRawBufferPointer, length: Int? = nil) {
    hasHead = true
    left = length
    let end = Self.chunkedEnd.utf8CodeUnitCount
    isChunked =
      head.count >= end
      && equalBytes(
        UnsafeRawBufferPointer(rebasing: head[(head.count - end)...]),
        UnsafeRawBufferPointer(start: Self.chunkedEnd.utf8Start, count: end))
    text += head
  }

  /// Of the head of a body whose length its sender does not say. The sender's own fields can have no such line.
  private static let chunkedEnd: StaticString = "\r\nTransfer-Encoding: chunked\r\n\r\n"

  /// What followed a body with a length. HTTP/1.1 has no place for it, so it is not among what is read.
  public var trailersBehindLength: [UInt8] { isChunked ? [] : trailers }

  /// - Parameter lines: each with CRLF, and a blank one.
  public mutating func take(trailers lines: UnsafeRawBufferPointer) { trailers = Array(lines) }

  /// - Parameter failed: nothing more will come.
  public mutating func read(
    into space: UnsafeMutableRawBufferPointer, from session: Session, _ ticket: StreamTicket, failed: Bool
  ) -> ByteStream.Read {
    let count = moveText(into: space)
    if count > 0 { return .bytes(count) }
    guard hasHead else { return failed ? .failed : .later }
    let body = session.body(of: ticket)
    if body.isEmpty { return atEnd(into: space, failed) }
    guard isChunked else {
      let count = readable(min(body.count, space.count))
      guard count > 0 else { return failed ? .failed : .later }
      left = left.map { $0 - count }
      move(body, count, to: space, session, ticket)
      return .bytes(count)
    }
    return .bytes(moveChunk(body, to: space, session, ticket))
  }

  /// What `read` would give next, where it lies; empty: that is to be read.
  func arrived(from session: Session, _ ticket: StreamTicket) -> UnsafeRawBufferPointer {
    let body = session.body(of: ticket)
    guard hasHead, !isChunked, text.isEmpty, !body.isEmpty else { return UnsafeRawBufferPointer(start: nil, count: 0) }
    return UnsafeRawBufferPointer(rebasing: body[..<readable(body.count)])
  }

  /// Takes bytes off the front of `arrived`.
  mutating func consume(_ count: Int, from session: Session, _ ticket: StreamTicket) {
    left = left.map { $0 - count }
    session.consumed(ticket, count)
  }

  /// How many of so many bytes of a body may be read now.
  private func readable(_ count: Int) -> Int { awaitsTrailers && count == left && !hasEnded ? count - 1 : count }

  private mutating func moveText(into space: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(text.count - textRead, space.count)
    guard count > 0 else { return 0 }
    text.withUnsafeBytes { space.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[textRead..<textRead + count])) }
    textRead += count
    if textRead == text.count {
      text.removeAll(keepingCapacity: text.count <= 1024)
      textRead = 0
    }
    return count
  }

  private mutating func atEnd(into space: UnsafeMutableRawBufferPointer, _ failed: Bool) -> ByteStream.Read {
    guard hasEnded else { return failed ? .failed : .later }
    if !isChunked || hasEndedChunks { return .end }
    hasEndedChunks = true
    text = Array("0\r\n".utf8) + (trailers.isEmpty ? Array("\r\n".utf8) : trailers)
    return .bytes(moveText(into: space))
  }

  private func move(
    _ body: UnsafeRawBufferPointer, _ count: Int, to space: UnsafeMutableRawBufferPointer, _ session: Session,
    _ ticket: StreamTicket
  ) {
    space.copyMemory(from: UnsafeRawBufferPointer(rebasing: body[..<count]))
    session.consumed(ticket, count)
  }

  /// Room for the size of a chunk, its line ends and a last chunk without trailers.
  private static let framing = 8 + 2 + 2 + 5

  private mutating func moveChunk(
    _ body: UnsafeRawBufferPointer, to space: UnsafeMutableRawBufferPointer, _ session: Session, _ ticket: StreamTicket
  ) -> Int {
    guard space.count > Self.framing else {
      // The rest of a block: a byte is a chunk, too.
      text = [0x31, 0x0d, 0x0a, body[0], 0x0d, 0x0a]
      session.consumed(ticket, 1)
      return moveText(into: space)
    }
    let size = min(body.count, space.count - Self.framing)
    let isLast = hasEnded && size == body.count && trailers.isEmpty
    var count = Self.writeSize(size, into: space)
    move(body, size, to: UnsafeMutableRawBufferPointer(rebasing: space[count...]), session, ticket)
    count += size
    count += Self.write("\r\n", into: space, at: count)
    if isLast {
      hasEndedChunks = true
      count += Self.write("0\r\n\r\n", into: space, at: count)
    }
    return count
  }

  private static func writeSize(_ size: Int, into space: UnsafeMutableRawBufferPointer) -> Int {
    var shift = (Int.bitWidth - size.leadingZeroBitCount - 1) / 4 * 4
    var count = 0
    while shift >= 0 {
      let digit = UInt8(truncatingIfNeeded: size >> shift & 15)
      space[count] = digit < 10 ? 0x30 + digit : 0x57 + digit
      count += 1
      shift -= 4
    }
    return count + write("\r\n", into: space, at: count)
  }

  private static func write(_ text: StaticString, into space: UnsafeMutableRawBufferPointer, at position: Int) -> Int {
    let count = text.utf8CodeUnitCount
    UnsafeMutableRawBufferPointer(rebasing: space[position..<position + count])
      .copyMemory(from: UnsafeRawBufferPointer(start: text.utf8Start, count: count))
    return count
  }
}
