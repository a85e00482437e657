import EventIO
import HTTPWire
import Streams

/// The way of an answer from its upstream to the app, once its head has been taken: one block, decoded and framed in place.
final class Download {
  /// Small bodies leave with their head in one write.
  private static let joined = 8 << 10
  /// Below this much room another read is not worth it before what is there has been sent.
  private static let worthReading = 16 << 10

  // Both outlive this: it is the attempt's, and runs only inside of its methods.
  private unowned(unsafe) let attempt: Attempt
  private unowned(unsafe) let request: Request
  private var source: BodySource
  private let isChunked: Bool
  let endsByClose: Bool
  let keepsClient: Bool
  private let keepsUpstream: Bool
  /// What of the upstream's block is on its way.
  private var piece = 0..<0
  private var isTerminated: Bool
  /// The last byte has gone to the app.
  private var isFinished = false
  /// The last read filled its block, or the length says that one will: a larger one is worth its memory.
  private var isBulk: Bool
  private var inflater: Inflater?

  /// What was settled when the head was written.
  struct Plan {
    var source: BodyFraming
    /// How it goes to the app.
    var sink: BodyFraming
    var keepsClient: Bool
    var keepsUpstream: Bool
    var inflater: Inflater?
  }

  init(_ attempt: Attempt, _ plan: Plan) {
    self.attempt = attempt
    request = attempt.request
    source = BodySource(plan.source)
    isBulk = source.expected > BlockPool.small && source.expected < Int.max
    isChunked = plan.sink == .chunked
    isTerminated = plan.sink != .chunked
    endsByClose = plan.sink == .untilClose
    keepsClient = plan.keepsClient
    keepsUpstream = plan.keepsUpstream && !source.isUntilClose
    inflater = plan.inflater
  }

  private var client: ClientConnection { request.client }
  private var loop: EventLoop { request.loop }

  /// - Parameter block: the upstream's, its start behind the head.
  func begin(_ block: Block) {
    if block.isEmpty { block.clearForBody() }
    request.progressed()
    pump()
  }

  /// What was read of a held answer goes first; its head is in the outbound block. If all of it was read, its connection has gone
  /// back to the pool already.
  func begin(with held: HeldAnswer) {
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
      if !block.isEmpty { appendToHead(block) }
    }
    request.progressed()
    pump()
  }

  func pump() {
    var budget = 16
    while attempt.download === self, !isFinished {
      let inflates = inflater?.hasWork ?? false
      if client.outbound != nil, piece.isEmpty, !source.isDone, !inflates, !gather() { return }
      // What is small is inflated before its head leaves: one write, and if it turns out broken nothing has gone out.
      if inflater?.hasWork ?? false, let head = client.outbound, head.count <= Self.joined {
        guard inflate() else { return }
        continue
      }
      if !flush() { return }
      if inflater?.hasWork ?? false {
        budget -= 1
        if budget == 0 { return loop.again(client) }
        guard inflate() else { return }
        continue
      }
      if source.isDone, isTerminated { return finish() }
      if source.isDone {
        // Chunked, and what closes it did not fit in with the last piece: trailers, or a body that was delimited otherwise.
        appendToHead(source.lastChunk())
        isTerminated = true
        continue
      }
      guard let connection = attempt.connection else { return }
      if let block = connection.inbound, !block.isEmpty {
        guard take(block) else { return }
        continue
      }
      budget -= 1
      if budget == 0 { return loop.again(connection) }
      switch read(connection) {
      case .more: continue
      case .later: return connection.rest()
      case .over: return
      }
    }
  }

  /// Before a head leaves: what is here already of the body goes along, so that a small answer is one write. Many origins send
  /// head and body as two TLS records, which lie in the TLS layer together.
  /// - Returns: false where the exchange has ended.
  private func gather() -> Bool {
    guard let connection = attempt.connection else { return true }
    if connection.inbound?.isEmpty ?? true {
      switch read(connection, bufferedOnly: true) {
      case .more: break
      case .later:
        connection.rest()
        return true
      case .over: return false
      }
    }
    if let block = connection.inbound, !block.isEmpty { return take(block) }
    return true
  }

  /// Sends what is ready. False: the app's side is full, or gone.
  private func flush() -> Bool {
    let client = client
    while client.outbound != nil || !piece.isEmpty {
      let block = piece.isEmpty ? nil : attempt.connection?.inbound
      var rest = UnsafeRawBufferPointer(start: nil, count: 0)
      if let block { rest = UnsafeRawBufferPointer(start: block.base + piece.lowerBound, count: piece.count) }
      let head = client.outbound
      if let head, rest.count <= Self.joined, rest.count <= head.room {
        head.append(rest)
        rest = UnsafeRawBufferPointer(start: nil, count: 0)
        piece = 0..<0
      }
      let headCount = head?.count ?? 0
      let count: Int
      switch head.map({ client.stream.write($0.bytes, rest) }) ?? client.stream.write(rest) {
      case .bytes(let sent): count = sent
      case .later:
        isBulk = false
        return false
      case .failed:
        request.clientLeft()
        return false
      }
      request.sentOfAnswer(count)
      if let head {
        head.consume(min(count, headCount))
        if head.isEmpty {
          client.outbound = nil
          loop.blocks.giveBack(head)
        }
      }
      if count > headCount { piece = piece.lowerBound + (count - headCount)..<piece.upperBound }
    }
    return true
  }

  /// Decodes what has been read, and frames it for the app.
  private func take(_ block: Block) -> Bool {
    do {
      let payload = try source.take(from: block)
      if let inflater {
        inflater.feed(payload, of: block)
        if source.isDone { inflater.end() }
        return inflate()
      }
      guard isChunked else {
        piece = payload
        return true
      }
      let isLast = source.isDone && !source.hasTrailers
      piece = ChunkFraming.frame(payload, in: block, isLast: isLast)
      isTerminated = isLast
      return true
    } catch {
      request.fail(.bodyBroken)
      return false
    }
  }

  /// Decompresses one piece into the block that goes out before any other: the next one when that has gone.
  /// - Returns: false where the exchange has ended.
  private func inflate() -> Bool {
    do {
      guard let piece = try inflater?.next() else { return true }
      if isChunked {
        let framed = ChunkFraming.frame(piece.start..<piece.end, in: piece, isLast: false)
        piece.start = framed.lowerBound
        piece.end = framed.upperBound
      }
      appendToHead(piece)
      return true
    } catch {
      request.fail(.bodyBroken)
      return false
    }
  }

  private func appendToHead(_ addition: Block) {
    guard let head = client.outbound else {
      client.outbound = addition
      return
    }
    if addition.count <= head.room {
      head.append(addition.bytes)
    } else {
      let joined = Block(capacity: head.count + addition.count)
      joined.append(head.bytes)
      joined.append(addition.bytes)
      loop.blocks.giveBack(head)
      client.outbound = joined
    }
  }

  private enum Reading {
    /// Something came, or the body's end.
    case more
    case later
    /// The exchange has ended.
    case over
  }

  /// Fills a block until the upstream's side is dry, the block is full or the body is in it.
  private func read(_ connection: UpstreamConnection, bufferedOnly: Bool = false) -> Reading {
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
      case .end, .truncated, .failed:
        if case .end = result { return ended(connection, isClean: true) }
        return ended(connection, isClean: false)
      }
    }
    guard hasRead, let block = connection.inbound else { return .later }
    isBulk = block.bodySpace.count < Self.worthReading
    return .more
  }

  private func space(_ connection: UpstreamConnection, _ goesOn: Bool) -> UnsafeMutableRawBufferPointer {
    if goesOn, let block = connection.inbound { return block.bodySpace }
    return connection.blockForBody(isBulk: isBulk).bodySpace
  }

  /// The upstream has sent its last byte. What was read with it is passed on first.
  /// - Parameter isClean: false where the stream broke. A TLS end without close_notify is a break: RFC 8446 section 6.1.
  private func ended(_ connection: UpstreamConnection, isClean: Bool) -> Reading {
    do {
      if let block = connection.inbound, !block.isEmpty {
        guard take(block) else { return .over }
        guard source.isDone || source.isUntilClose else { throw BodySource.Failure.cut }
      }
      guard isClean || source.isDone else { throw BodySource.Failure.cut }
      try source.end()
      inflater?.end()
      return .more
    } catch {
      // What came before the break is passed on: no chunk ends the body, so nobody takes it for whole.
      _ = flush()
      request.fail(.bodyBroken)
      return .over
    }
  }

  private func finish() {
    isFinished = true
    let isUploaded = attempt.upload.isDone
    attempt.complete(reusable: keepsUpstream)
    request.relayed(keepAlive: keepsClient && isUploaded)
  }
}
