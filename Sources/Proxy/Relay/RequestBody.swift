import EventIO
import HTTPWire

extension Request {
  enum BodyPiece {
    /// Where in the client's block the next payload lies; may be empty when only framing was read.
    case piece(Range<Int>)
    /// The app has not sent more yet.
    case blocked
    /// The request is over: it was answered or given up.
    case failed
  }

  /// Reads on in the body, and keeps a copy in the replay tee.
  func readBodyPiece() -> BodyPiece {
    if client.inbound?.isEmpty ?? true {
      switch client.stream.read(into: client.blockForBody().bodySpace) {
      case .bytes(let count):
        client.inbound?.end += count
        summary.bytesReceived += Int64(count)
        progressed()
      case .later:
        client.giveBackEmptyBlock()
        return .blocked
      case .end, .truncated, .failed:
        // The app ended in the middle of its body: nobody is there to be answered.
        clientLeft()
        return .failed
      }
    }
    guard let block = client.inbound else { return .blocked }
    do {
      let range = try body.take(from: block)
      // The end that was seen before is one of a whole message now.
      if body.isDone, client.stream.peerEnded { loop.again(client) }
      tee.append(UnsafeRawBufferPointer(start: block.base + range.lowerBound, count: range.count))
      return .piece(range)
    } catch {
      if case .chunked(let error) = error { refuseUnparsed(.malformedBody(error)) } else { clientLeft() }
      return .failed
    }
  }
}

extension Block {
  @inline(__always)
  func append(_ text: StaticString) {
    append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }
  @inline(__always)
  func append(_ array: [UInt8]) { array.withUnsafeBytes { append($0) } }
}
