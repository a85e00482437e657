import EventIO
import Forwarding
import HTTPWire
import Signing
import Streams
import Upstreams

/// How far one attempt has sent a request to the origin: its head, then its body, from the app or from the replay tee.
struct Upload {
  enum Outcome {
    /// Waits for an event.
    case blocked
    /// The loop serves others first.
    case turnIsOver
    /// The last byte was sent.
    case sent
    /// The origin's connection broke.
    case broken
    case appLeft
    case malformed(ChunkedError)
    /// The credential's transform takes no more.
    case refused(TransformedBody.Refusal)
  }

  enum State {
    case sending
    /// The body waits for the origin's 100, until the origin has been silent for too long.
    case withheld
    case sent
    /// The rest is not sent, so the connection ends out of step.
    case stopped
  }

  /// Bytes of body that are copied behind the head. For more, another write is cheaper.
  private static let joined = 8 << 10

  private(set) var state = State.sending
  /// The head, and small pieces, that are being sent; never empty.
  private var out: Block?
  /// The part of the app's block that is being sent.
  private var piece = 0..<0
  /// Bytes of the replay tee that this attempt has sent.
  private var replayed = 0
  /// The last chunk is in what is being sent.
  private var isTerminated = false
  /// nil: the body goes on as it comes.
  private var transformed: TransformedBody?
  /// nil: there can be no trailers, or all go on.
  private var dropped: DroppedTrailers?

  var isSent: Bool { state == .sent }
  /// The origin does not wait for the app: it has all of the request, or has not asked for the body.
  var owesAnswer: Bool { state == .sent || state == .withheld }
  /// Nothing more is to be sent.
  var isOver: Bool { state == .sent || state == .stopped }
  /// Bytes are ready for the origin.
  var isPending: Bool { !piece.isEmpty || out != nil }

  // MARK: Head

  /// - Parameter head: the caller completes this block before the first `pump`.
  mutating func begin(_ head: Block) { out = head }

  mutating func drop(_ trailers: DroppedTrailers) { dropped = trailers }

  /// The body goes through this from its beginning.
  mutating func pass(through transform: BodyTransform, _ buffers: LoopBuffers) {
    transformed = TransformedBody(transform, buffers)
  }

  mutating func withhold() { state = .withheld }
  mutating func release() { if state == .withheld { state = .sending } }

  /// Reads a chunked body at once if it arrived with its head. If it is complete there, it can be kept.
  mutating func readChunksAtHand(of body: inout AppBody, from app: AppConnection, _ pulse: Pulse) -> Outcome? {
    guard transformed == nil, body.tee.bytes.isEmpty, let inbound = app.inbound, !inbound.isEmpty,
      inbound.count <= body.tee.capacity
    else {
      return nil
    }
    return read(&body, app, pulse)
  }

  /// Adds a small piece of the body that has already arrived to the head: one write, one TLS record.
  mutating func join(_ body: inout AppBody, to head: Block, from app: AppConnection, _ pulse: Pulse) -> Outcome? {
    guard state == .sending, transformed == nil else { return nil }
    if body.isWhole { joinWhole(body, to: head) }
    guard !body.isDone || !piece.isEmpty, let inbound = app.inbound else { return nil }
    let room = min(head.room - ChunkFraming.front - ChunkFraming.back, Self.joined)
    if piece.isEmpty {
      // What is read must be kept, because the connection may turn out to be stale.
      guard body.tee.bytes.isEmpty, !inbound.isEmpty, inbound.count <= min(room, body.tee.capacity) else { return nil }
      if let outcome = read(&body, app, pulse) { return outcome }
    }
    guard piece.count <= room else { return nil }
    head.append(UnsafeRawBufferPointer(start: inbound.base + piece.lowerBound, count: piece.count))
    piece = 0..<0
    return nil
  }

  private mutating func joinWhole(_ body: borrowing AppBody, to head: Block) {
    let bytes = body.tee.bytes
    guard replayed == 0, bytes.count <= min(head.room, Self.joined) else { return }
    head.append(bytes)
    replayed = bytes.count
  }

  // MARK: Bytes

  mutating func pump(_ exchange: Exchange, _ body: inout AppBody, from app: AppConnection, _ pulse: Pulse) -> Outcome {
    guard exchange.connection != nil else { return .blocked }
    var budget = 32
    while !isOver {
      // Its last byte, with which the message ends, is still to be written.
      if body.isDone, let dropped, !dropped.areGiven { giveTrailers(behind: body, without: dropped, from: app, to: exchange) }
      if let bytes = out?.bytes {
        guard let count = write(bytes, exchange, pulse) else { return state == .stopped ? .broken : .blocked }
        out?.consume(count)
        // An app that stalls in its body must not hold the block of a head that was sent.
        if out?.isEmpty == true { giveBack(to: app.loop) }
      } else if state == .withheld {
        return .blocked
      } else if !piece.isEmpty, let base = app.inbound?.base {
        let bytes = UnsafeRawBufferPointer(start: base + piece.lowerBound, count: piece.count)
        guard let count = write(bytes, exchange, pulse) else { return state == .stopped ? .broken : .blocked }
        piece = piece.lowerBound + count..<piece.upperBound
      } else if let block = transformed?.next(from: app.loop, isChunked: body.isChunked) {
        out = block
      } else if replayed < body.tee.bytes.count, !isTerminated {
        budget -= 1
        if budget == 0 { return .turnIsOver }
        if let refusal = replay(body, app.loop) { return .refused(refusal) }
      } else if !body.isDone {
        budget -= 1
        if budget == 0 { return .turnIsOver }
        if let outcome = read(&body, app, pulse) { return outcome }
      } else if let transformed, !transformed.hasEnded {
        if let refusal = transformed.take(UnsafeRawBufferPointer(start: nil, count: 0), isLast: true) {
          return .refused(refusal)
        }
      } else if body.isChunked, !isTerminated {
        if let dropped { body.drop(dropped) }
        out = body.lastChunk()
        isTerminated = true
      } else {
        state = .sent
        app.giveBackEmptyBlock()
        return .sent
      }
    }
    return .blocked
  }

  /// - Returns: how many bytes were sent. nil if the origin takes none now, or if its connection broke: then `state` is
  ///   `stopped`.
  private mutating func write(_ bytes: UnsafeRawBufferPointer, _ exchange: Exchange, _ pulse: Pulse) -> Int? {
    switch exchange.write(bytes) {
    case .bytes(let count):
      pulse.moved()
      return count
    case .later: return nil
    case .failed:
      state = .stopped
      return nil
    }
  }

  private func giveTrailers(
    behind body: borrowing AppBody, without dropped: DroppedTrailers, from app: AppConnection, to exchange: Exchange
  ) {
    dropped.areGiven = true
    guard let connection = exchange.connection, connection.isCarried, app.isStream, !body.isChunked, transformed == nil else {
      return
    }
    let lines = app.trailersBehindLength
    guard !lines.isEmpty else { return }
    connection.take(trailers: BodySource.trailers(lines, dropping: dropped))
  }

  /// Sends what an earlier attempt already read of the body.
  private mutating func replay(_ body: borrowing AppBody, _ loop: EventLoop) -> TransformedBody.Refusal? {
    let bytes = body.tee.bytes
    let count = min(bytes.count - replayed, BlockPool.small - ChunkFraming.front - ChunkFraming.back)
    if let transformed {
      let from = replayed
      replayed += count
      // The end is known with the last byte: a body that is not what it says must not reach the origin whole.
      let isLast = body.isDone && replayed == bytes.count
      return bytes.withUnsafeBytes {
        transformed.take(UnsafeRawBufferPointer(rebasing: $0[from..<from + count]), isLast: isLast)
      }
    }
    let block = loop.blocks.borrow()
    block.clearForBody()
    bytes.withUnsafeBytes { block.append(UnsafeRawBufferPointer(rebasing: $0[replayed..<replayed + count])) }
    replayed += count
    if body.isChunked {
      let framed = ChunkFraming.frame(block.start..<block.end, in: block, isLast: false)
      block.start = framed.lowerBound
      block.end = framed.upperBound
    }
    out = block
    return nil
  }

  /// Takes the next piece of the body from the app.
  /// - Returns: nil if it is in `piece`, else why there is none.
  private mutating func read(_ body: inout AppBody, _ app: AppConnection, _ pulse: Pulse) -> Outcome? {
    switch body.read(from: app, pulse) {
    case .piece(let range):
      // Everything read before was sent. So the tee holds exactly what this attempt has sent, and this piece.
      replayed = body.tee.bytes.count
      if let transformed, let block = app.inbound {
        let bytes = UnsafeRawBufferPointer(start: block.base + range.lowerBound, count: range.count)
        return transformed.take(bytes, isLast: body.isDone).map { .refused($0) }
      }
      guard body.isChunked, let block = app.inbound else {
        piece = range
        return nil
      }
      let isLast = body.isDone && !body.hasTrailers
      piece = ChunkFraming.frame(range, in: block, isLast: isLast)
      isTerminated = isLast
      return nil
    case .blocked: return .blocked
    case .appLeft: return .appLeft
    case .malformed(let error): return .malformed(error)
    }
  }

  // MARK: End

  /// Ends the upload: the rest is never sent.
  mutating func stop(on loop: EventLoop) {
    if state != .sent { state = .stopped }
    giveBack(to: loop)
  }

  mutating func giveBack(to loop: EventLoop) {
    if let block = out.take() { loop.blocks.giveBack(block) }
  }
}

/// Trailers that do not go to the origin. An object, as few requests have any.
final class DroppedTrailers {
  /// Names of fields. A server that merges trailers into the head would have two credentials.
  let names: [[UInt8]]
  /// The entry's rules of fields hold for trailers, too.
  let rules: HeaderRules?
  /// What follows a body with a length was given to the connection.
  var areGiven = false

  init(named names: [[UInt8]], by rules: HeaderRules?) {
    self.names = names
    self.rules = rules
  }
}
