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
    let transport = client.transport
    var block = client.inbound ?? loop.blocks.borrow()
    if block.isEmpty, block.capacity < BlockPool.small { block = loop.blocks.borrow() }
    client.inbound = block
    if block.isEmpty {
      block.clearForBody()
      guard transport.readable else {
        client.inbound = nil
        loop.blocks.giveBack(block)
        return .blocked
      }
      let count = transport.read(into: block.bodySpace)
      if count == Transport.Result.blocked {
        client.inbound = nil
        loop.blocks.giveBack(block)
        return .blocked
      }
      guard count > 0 else {
        // The app ended in the middle of its body: nobody is there to be answered.
        clientLeft()
        return .failed
      }
      block.end += count
      summary.bytesReceived += Int64(count)
      progressed()
    }
    do {
      let range = try body.take(from: block)
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
