import EventIO
import HTTPWire

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

  /// What was read of a held answer, and where its body stands; its head is in the outbound block.
  /// - Returns: false where the request has failed.
  func take(payload: [UInt8], source: BodySource) -> Bool {
    self.source = source
    let block = Block(capacity: ChunkFraming.front + payload.count + ChunkFraming.back)
    block.clearForBody()
    block.append(payload)
    if let inflater {
      inflater.feed(block.start..<block.end, of: block)
      if source.isDone { inflater.end() }
      // Held answers are small, and so, by the inflater's ratio, is what becomes of them.
      while inflater.hasWork { guard inflate() else { return false } }
    } else {
      if isChunked {
        let framed = ChunkFraming.frame(block.start..<block.end, in: block, isLast: false)
        block.start = framed.lowerBound
        block.end = framed.upperBound
      }
      if !block.isEmpty { appendToHead(block) }
    }
    if source.isDone, !isTerminated {
      appendToHead(self.source.lastChunk())
      isTerminated = true
    }
    return !request.hasEnded
  }

  func pump() {
    var budget = 16
    while let connection = attempt.connection {
      let inflates = inflater?.hasWork ?? false
      if client.outbound != nil, piece.isEmpty, !source.isDone, !inflates, !gather(connection) { return }
      if !flush(connection) { return }
      if inflater?.hasWork ?? false {
        budget -= 1
        if budget == 0 { return loop.again(connection) }
        guard inflate() else { return }
        continue
      }
      if source.isDone, isTerminated { return finish(connection) }
      if source.isDone {
        // Chunked, and what closes it did not fit in with the last piece: trailers, or a body that was delimited otherwise.
        appendToHead(source.lastChunk())
        isTerminated = true
        continue
      }
      if let block = connection.inbound, !block.isEmpty {
        guard take(block) else { return }
        continue
      }
      guard connection.transport.readable || connection.transport.hasPending else { return connection.rest() }
      budget -= 1
      if budget == 0 { return loop.again(connection) }
      guard read(connection) else { return }
    }
  }

  /// Before a head leaves: what is here already of the body goes along, so that a small answer is one write. Many origins send
  /// head and body as two TLS records, which lie in the TLS layer together.
  /// - Returns: false where the exchange has ended.
  private func gather(_ connection: UpstreamConnection) -> Bool {
    if connection.inbound?.isEmpty ?? true, connection.transport.hasPending, !read(connection) { return false }
    if let block = connection.inbound, !block.isEmpty { return take(block) }
    return true
  }

  /// Sends what is ready. False: the app's side is full, or gone.
  private func flush(_ connection: UpstreamConnection) -> Bool {
    let client = client
    while client.outbound != nil || !piece.isEmpty {
      let block = piece.isEmpty ? nil : connection.inbound
      var rest = UnsafeRawBufferPointer(start: nil, count: 0)
      if let block { rest = UnsafeRawBufferPointer(start: block.base + piece.lowerBound, count: piece.count) }
      let head = client.outbound
      if let head, rest.count <= Self.joined, rest.count <= head.room {
        head.append(rest)
        rest = UnsafeRawBufferPointer(start: nil, count: 0)
        piece = 0..<0
      }
      let headCount = head?.count ?? 0
      let count = head.map { client.transport.write($0.bytes, rest) } ?? client.transport.write(rest)
      guard count > 0 else {
        if count == Transport.Result.blocked {
          isBulk = false
        } else {
          request.clientLeft()
        }
        return false
      }
      request.summary.bytesSent += Int64(count)
      request.progressed()
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

  /// Fills a block until the upstream's side is dry, the block is full or the body is in it.
  private func read(_ connection: UpstreamConnection) -> Bool {
    let block = connection.blockForBody(isBulk: isBulk)
    let transport = connection.transport
    let wanted = source.expected
    while transport.readable || transport.hasPending {
      let space = block.bodySpace
      if space.count < Self.worthReading || block.count >= wanted { break }
      let count = transport.read(into: space)
      if count > 0 {
        block.end += count
        continue
      }
      if count == Transport.Result.blocked { break }
      return ended(connection, count, block)
    }
    isBulk = block.bodySpace.count < Self.worthReading
    return true
  }

  /// The upstream has sent its last byte. What was read with it is passed on first.
  private func ended(_ connection: UpstreamConnection, _ result: Int, _ block: Block) -> Bool {
    do {
      if !block.isEmpty {
        guard take(block) else { return false }
        guard source.isDone || source.isUntilClose else { throw BodySource.Failure.cut }
      }
      // A TLS end without close_notify is a cut, not an end: RFC 8446 section 6.1.
      guard result == Transport.Result.end || source.isDone else { throw BodySource.Failure.cut }
      try source.end()
      inflater?.end()
      return true
    } catch {
      // What came before the break is passed on: no chunk ends the body, so nobody takes it for whole.
      _ = flush(connection)
      request.fail(.bodyBroken)
      return false
    }
  }

  private func finish(_ connection: UpstreamConnection) {
    let isClean = connection.inbound?.isEmpty ?? true
    let isUploaded = attempt.upload.isDone
    attempt.complete(reusable: keepsUpstream && isClean)
    request.relayed(keepAlive: keepsClient && isUploaded)
  }
}
