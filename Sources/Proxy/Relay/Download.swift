import EventIO
import HTTPWire
import Streams
import Upstreams

/// The way of an answer from its origin to the app, once its head stands in the outbound block: one block, decoded and framed in place.
struct Download {
  enum Outcome {
    /// Waits for an event.
    case blocked
    /// The last byte has gone to the app.
    case whole
    /// The origin's side broke off, or what came is no body.
    case broken
    case appLeft
  }

  /// Small bodies leave with their head in one write.
  private static let joined = 8 << 10
  /// Below this much room another read is not worth it before what is there has been sent.
  private static let worthReading = 16 << 10

  let keepsClient: Bool
  /// The origin keeps the connection after this answer.
  let keepsUpstream: Bool
  /// The app can take a cut for the end.
  let endsByClose: Bool
  private let isChunked: Bool
  private var source: BodySource
  /// What of the upstream's block is on its way.
  private var piece = 0..<0
  private var isTerminated: Bool
  /// The last read filled its block, or the length says that one will: a larger one is worth its memory.
  private var isBulk: Bool
  private let inflater: Inflater?
  /// Bytes of interim responses that are still to be sent.
  private(set) var interim: Int
  /// Bytes that the app was sent.
  private(set) var sent: Int64 = 0
  /// Bytes of the final answer have gone.
  private(set) var hasBegun = false

  /// What was settled when the head was written.
  /// - Parameters:
  ///   - sink: how it goes to the app.
  ///   - interim: bytes of interim responses that stand before the head.
  init(
    from framing: BodyFraming, to sink: BodyFraming, keepsClient: Bool, keepsUpstream: Bool, inflater: Inflater?,
    behind interim: Int
  ) {
    source = BodySource(framing)
    isBulk = source.expected > BlockPool.small && source.expected < Int.max
    isChunked = sink == .chunked
    isTerminated = sink != .chunked
    endsByClose = sink == .untilClose
    self.keepsClient = keepsClient
    self.keepsUpstream = keepsUpstream && !source.isUntilClose
    self.inflater = inflater
    self.interim = interim
  }

  /// What was read of a held answer goes first; its head is in the outbound block. If all of it was read, its connection has gone
  /// back to the pool already.
  mutating func take(_ held: HeldAnswer, for app: AppConnection) {
    source = held.source
    let block = Block(capacity: ChunkFraming.front + held.payload.count + ChunkFraming.back)
    block.clearForBody()
    block.append(held.payload)
    if let inflater {
      // Inflated piece by piece as the app takes it: what was held may become a thousand times larger.
      inflater.feed(block.start..<block.end, of: block)
      if source.isDone { inflater.end() }
    } else {
      if isChunked {
        let framed = ChunkFraming.frame(block.start..<block.end, in: block, isLast: false)
        block.start = framed.lowerBound
        block.end = framed.upperBound
      }
      if !block.isEmpty { appendToHead(block, app) }
    }
  }

  /// Why a step of `pump` cannot go on.
  private enum Stop: Error { case broken, appLeft }

  mutating func pump(_ exchange: Exchange?, to app: AppConnection, _ pulse: Pulse) -> Outcome {
    do throws(Stop) { return try move(exchange?.connection, app, pulse) } catch {
      return error == .broken ? .broken : .appLeft
    }
  }

  private mutating func move(_ connection: UpstreamConnection?, _ app: AppConnection, _ pulse: Pulse) throws(Stop) -> Outcome {
    var budget = 16
    while true {
      let inflates = inflater?.hasWork ?? false
      if app.outbound != nil, piece.isEmpty, !source.isDone, !inflates { try gather(connection, app, pulse) }
      // What is small is inflated before its head leaves: one write, and if it turns out broken nothing has gone out.
      if inflater?.hasWork ?? false, let head = app.outbound, head.count <= Self.joined {
        try inflate(app)
        continue
      }
      guard try flush(connection, app, pulse) else { return .blocked }
      if inflater?.hasWork ?? false {
        budget -= 1
        if budget == 0 {
          app.loop.again(app)
          return .blocked
        }
        try inflate(app)
        continue
      }
      if source.isDone, isTerminated { return .whole }
      if source.isDone {
        // Chunked, and what closes it did not fit in with the last piece: trailers, or a body that was delimited otherwise.
        appendToHead(source.lastChunk(), app)
        isTerminated = true
        continue
      }
      guard let connection else { return .blocked }
      if let block = connection.inbound, !block.isEmpty {
        try take(block, app)
        continue
      }
      budget -= 1
      if budget == 0 {
        app.loop.again(connection)
        return .blocked
      }
      guard try read(connection, app, pulse) else {
        connection.rest()
        return .blocked
      }
    }
  }

  /// Before a head leaves: what is here already of the body goes along, so that a small answer is one write. Many origins send
  /// head and body as two TLS records, which lie in the TLS layer together.
  private mutating func gather(_ connection: UpstreamConnection?, _ app: AppConnection, _ pulse: Pulse) throws(Stop) {
    guard let connection else { return }
    if connection.inbound?.isEmpty ?? true {
      guard try read(connection, app, pulse, bufferedOnly: true) else { return connection.rest() }
    }
    if let block = connection.inbound, !block.isEmpty { try take(block, app) }
  }

  /// Sends what is ready.
  /// - Returns: false: the app's side is full.
  private mutating func flush(_ connection: UpstreamConnection?, _ app: AppConnection, _ pulse: Pulse) throws(Stop) -> Bool {
    while app.outbound != nil || !piece.isEmpty {
      let block = piece.isEmpty ? nil : connection?.inbound
      var rest = UnsafeRawBufferPointer(start: nil, count: 0)
      if let block { rest = UnsafeRawBufferPointer(start: block.base + piece.lowerBound, count: piece.count) }
      let head = app.outbound
      if let head, rest.count <= Self.joined, rest.count <= head.room {
        head.append(rest)
        rest = UnsafeRawBufferPointer(start: nil, count: 0)
        piece = 0..<0
      }
      let headCount = head?.count ?? 0
      let count: Int
      switch head.map({ app.stream.write($0.bytes, rest) }) ?? app.stream.write(rest) {
      case .bytes(let sent): count = sent
      case .later:
        isBulk = false
        return false
      case .failed: throw .appLeft
      }
      note(sent: count, pulse)
      if let head {
        head.consume(min(count, headCount))
        if head.isEmpty { app.giveBackOutbound() }
      }
      if count > headCount { piece = piece.lowerBound + (count - headCount)..<piece.upperBound }
    }
    return true
  }

  @inline(__always)
  private mutating func note(sent count: Int, _ pulse: Pulse) {
    sent += Int64(count)
    if !hasBegun {
      if count > interim { hasBegun = true }
      interim = max(interim - count, 0)
    }
    pulse.moved()
  }

  /// Decodes what has been read, and frames it for the app.
  private mutating func take(_ block: Block, _ app: AppConnection) throws(Stop) {
    let payload: Range<Int>
    do { payload = try source.take(from: block) } catch { throw .broken }
    if let inflater {
      inflater.feed(payload, of: block)
      if source.isDone { inflater.end() }
      return try inflate(app)
    }
    guard isChunked else {
      piece = payload
      return
    }
    let isLast = source.isDone && !source.hasTrailers
    piece = ChunkFraming.frame(payload, in: block, isLast: isLast)
    isTerminated = isLast
  }

  /// Decompresses one piece into the block that goes out before any other: the next one when that has gone.
  private func inflate(_ app: AppConnection) throws(Stop) {
    let inflated: Block?
    do { inflated = try inflater?.next() } catch { throw .broken }
    guard let piece = inflated else { return }
    if isChunked {
      let framed = ChunkFraming.frame(piece.start..<piece.end, in: piece, isLast: false)
      piece.start = framed.lowerBound
      piece.end = framed.upperBound
    }
    appendToHead(piece, app)
  }

  private func appendToHead(_ addition: Block, _ app: AppConnection) {
    guard app.outbound != nil else {
      app.outbound = addition
      return
    }
    app.outbound(with: addition.count).append(addition.bytes)
  }

  /// Fills a block until the upstream's side is dry, the block is full or the body is in it.
  /// - Returns: false: nothing came, nor the body's end.
  private mutating func read(
    _ connection: UpstreamConnection, _ app: AppConnection, _ pulse: Pulse, bufferedOnly: Bool = false
  ) throws(Stop) -> Bool {
    let stream = connection.stream
    let wanted = source.expected
    var hasRead = false
    reading: while true {
      if hasRead, let block = connection.inbound, block.bodySpace.count < Self.worthReading || block.count >= wanted { break }
      let result =
        bufferedOnly
        ? stream.readBuffered(into: space(connection, hasRead)) : stream.read(into: space(connection, hasRead))
      switch result {
      case .bytes(let count):
        connection.inbound?.end += count
        hasRead = true
      case .later: break reading
      case .end:
        try ended(connection, app, pulse, isClean: true)
        return true
      case .truncated, .failed:
        try ended(connection, app, pulse, isClean: false)
        return true
      }
    }
    guard hasRead, let block = connection.inbound else { return false }
    isBulk = block.bodySpace.count < Self.worthReading
    return true
  }

  private func space(_ connection: UpstreamConnection, _ goesOn: Bool) -> UnsafeMutableRawBufferPointer {
    if goesOn, let block = connection.inbound { return block.bodySpace }
    return connection.blockForBody(isBulk: isBulk).bodySpace
  }

  /// The upstream has sent its last byte. What was read with it is passed on first.
  /// - Parameter isClean: false where the stream broke. A TLS end without close_notify is a break: RFC 8446 section 6.1.
  private mutating func ended(
    _ connection: UpstreamConnection, _ app: AppConnection, _ pulse: Pulse, isClean: Bool
  ) throws(Stop) {
    var isWhole = isClean || source.isDone
    if let block = connection.inbound, !block.isEmpty {
      try take(block, app)
      isWhole = (isClean || source.isDone) && (source.isDone || source.isUntilClose)
    }
    if isWhole, (try? source.end()) != nil {
      inflater?.end()
      return
    }
    // What came before the break is passed on: no chunk ends the body, so nobody takes it for whole.
    _ = try flush(connection, app, pulse)
    throw .broken
  }
}
