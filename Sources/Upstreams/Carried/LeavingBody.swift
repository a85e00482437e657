import HTTP2
import HTTPWire

/// The body of a message that was written for HTTP/1.1 and leaves on an HTTP/2 stream.
public struct LeavingBody {
  private enum State {
    /// Bytes that are still to come.
    case length(Int64)
    case chunked(SentChunks)
    /// Until the writer closes.
    case open
    case whole
  }
  private var state: State
  /// What follows a body with a length: lines with CRLF.
  public var trailers: [UInt8] = []

  public init(_ framing: BodyFraming, trailers: [UInt8] = []) {
    self.trailers = trailers
    switch framing {
    case .none, .length(0): state = .whole
    case .length(let length): state = .length(length)
    case .chunked: state = .chunked(SentChunks())
    case .untilClose: state = .open
    }
  }

  /// Nothing of it is missing.
  public var isWhole: Bool { if case .whole = state { true } else { false } }

  /// - Returns: how many bytes were taken; nil: they are no body.
  public mutating func send(_ bytes: UnsafeRawBufferPointer, to session: Session, _ ticket: StreamTicket) -> Int? {
    if bytes.isEmpty { return 0 }
    switch state {
    case .length(let left):
      guard bytes.count <= left else { return nil }
      let count = session.append(bytes, to: ticket)
      state = .length(left - Int64(count))
      if count == left { end(session, ticket, trailers) }
      return count
    case .chunked(var chunks):
      let count = send(bytes, through: &chunks, session, ticket)
      if !isWhole { state = .chunked(chunks) }
      return count
    case .open: return session.append(bytes, to: ticket)
    case .whole: return nil
    }
  }

  /// The writer has closed: that ends a body without framing.
  public mutating func close(_ session: Session, _ ticket: StreamTicket) {
    if case .open = state { end(session, ticket, []) }
  }

  private mutating func end(_ session: Session, _ ticket: StreamTicket, _ trailers: [UInt8]) {
    state = .whole
    let lines = trailers.isEmpty ? [] : trailers + [0x0d, 0x0a]
    lines.withUnsafeBytes { session.endBody(of: ticket, trailers: $0) }
  }

  private mutating func send(
    _ bytes: UnsafeRawBufferPointer, through chunks: inout SentChunks, _ session: Session, _ ticket: StreamTicket
  ) -> Int? {
    var position = 0
    while position < bytes.count {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[position...])
      switch chunks.next(rest) {
      case .payload(let count):
        let taken = session.append(UnsafeRawBufferPointer(rebasing: rest[..<count]), to: ticket)
        guard taken > 0 else { return position }
        guard chunks.take(UnsafeRawBufferPointer(rebasing: rest[..<taken])) else { return nil }
        position += taken
      case .framing(let count):
        guard chunks.take(UnsafeRawBufferPointer(rebasing: rest[..<count])) else { return nil }
        position += count
      case .end(let count):
        end(session, ticket, chunks.trailers)
        position += count
      case .more: return position > 0 ? position : nil
      case .invalid: return nil
      }
    }
    return position
  }
}
