import EventIO
import HTTPWire
import Streams

/// How far a request has gone to the origin.
struct UploadProgress {
  /// Head and small pieces on their way; never empty.
  var out: Block?
  /// What of the client's block is on its way.
  var piece = 0..<0
  /// How much of the replay tee this attempt has sent.
  var replayed = 0
  /// The last chunk stands in what is on its way.
  var isTerminated = false
  var isDone = false
  var isBroken = false

  /// Bytes stand ready for the origin.
  var isPending: Bool { !piece.isEmpty || out != nil }
}

/// The way of a request to the origin: its head, then its body as it comes from the app, or from the replay tee.
extension Attempt {
  /// More is not worth a copy.
  private static let joined = 8 << 10

  /// Whether a chunked body is too large to be kept shows when it is whole in what was read with its head. It is asked for
  /// beforehand otherwise, which only a request with a credential has reason to.
  func readChunksAtHand() {
    guard request.bodyFraming == .chunked, request.authorization != nil, !request.expectsContinue,
      request.tee.bytes.isEmpty, let inbound = client.inbound, !inbound.isEmpty, inbound.count <= request.tee.capacity
    else { return }
    _ = readBody()
  }

  /// A small piece of the body that is here already leaves with the head: one write, one TLS record.
  func joinBody(to block: Block) {
    guard !awaitsContinue, !request.body.isDone || !upload.piece.isEmpty, let inbound = client.inbound else { return }
    let room = min(block.room - ChunkFraming.front - ChunkFraming.back, Self.joined)
    if upload.piece.isEmpty {
      guard request.tee.bytes.isEmpty, !inbound.isEmpty,
        // What is read must be kept: the connection may turn out to be stale.
        inbound.count <= min(room, request.tee.capacity), readBody()
      else { return }
    }
    guard upload.piece.count <= room else { return }
    block.append(UnsafeRawBufferPointer(start: inbound.base + upload.piece.lowerBound, count: upload.piece.count))
    upload.piece = 0..<0
  }

  func pumpUp() {
    var budget = 32
    while let connection, !upload.isDone, !upload.isBroken {
      if let out = upload.out {
        guard let count = wrote(connection.stream.write(out.bytes), on: connection) else { return }
        out.consume(count)
        // An app that stalls in its body must not hold a block for a head that has gone.
        if out.isEmpty { giveBackOut() }
      } else if awaitsContinue {
        return
      } else if !upload.piece.isEmpty, let block = client.inbound {
        let bytes = UnsafeRawBufferPointer(start: block.base + upload.piece.lowerBound, count: upload.piece.count)
        guard let count = wrote(connection.stream.write(bytes), on: connection) else { return }
        upload.piece = upload.piece.lowerBound + count..<upload.piece.upperBound
      } else if upload.replayed < request.tee.bytes.count, !upload.isTerminated {
        replay()
      } else if request.body.isDone {
        if request.bodyFraming == .chunked, !upload.isTerminated {
          terminate()
        } else {
          uploaded()
        }
      } else {
        budget -= 1
        if budget == 0 { return loop.again(client) }
        guard readBody() else { return }
      }
    }
  }

  /// - Returns: how many bytes went out; nil where there is nothing to go on with.
  private func wrote(_ result: ByteStream.Write, on connection: UpstreamConnection) -> Int? {
    switch result {
    case .bytes(let count):
      request.progressed()
      if !upload.isDone, let entry = request.entry { loop.arm(connection, at: loop.now + entry.timeouts.responseHead) }
      return count
    case .later: return nil
    case .failed:
      // It may have answered before it closed (413, say): what it said is read first.
      upload.isBroken = true
      connection.stream.readLastWords()
      if connection.wroteNothing { fail(.connectionLost(connection.stream.error)) } else { loop.again(connection) }
      return nil
    }
  }

  private func uploaded() {
    upload.isDone = true
    request.summary.sent = loop.now
    if let block = client.inbound, block.isEmpty {
      client.inbound = nil
      loop.blocks.giveBack(block)
    }
  }

  /// Sends what an earlier attempt read of the body already.
  private func replay() {
    let bytes = request.tee.bytes
    let count = min(bytes.count - upload.replayed, BlockPool.small - ChunkFraming.front - ChunkFraming.back)
    let block = loop.blocks.borrow()
    block.clearForBody()
    bytes.withUnsafeBytes { block.append(UnsafeRawBufferPointer(rebasing: $0[upload.replayed..<upload.replayed + count])) }
    upload.replayed += count
    if request.bodyFraming == .chunked {
      let framed = ChunkFraming.frame(block.start..<block.end, in: block, isLast: false)
      block.start = framed.lowerBound
      block.end = framed.upperBound
    }
    upload.out = block
  }

  private func terminate() {
    // A server that merges trailers into the head would have two credentials.
    if let entry = request.entry, request.outbound.sendsCredential {
      request.body.dropTrailers(named: entry.rules.credentialField)
    }
    upload.out = request.body.lastChunk()
    upload.isTerminated = true
  }

  /// Takes the next piece of the body from the app.
  /// - Returns: false where there is nothing to go on with.
  private func readBody() -> Bool {
    switch request.readBodyPiece() {
    case .piece(let range):
      // Everything read before was sent, so the tee holds exactly what this attempt has sent, and now this piece.
      upload.replayed = request.tee.bytes.count
      guard request.bodyFraming == .chunked, let block = client.inbound else {
        upload.piece = range
        return true
      }
      let isLast = request.body.isDone && !request.body.hasTrailers
      upload.piece = ChunkFraming.frame(range, in: block, isLast: isLast)
      upload.isTerminated = isLast
      return true
    case .blocked, .failed: return false
    }
  }

  /// What was not sent of the body is not sent any more: the connection ends out of step.
  func stopUploading() {
    stopWaitingForContinue()
    if !upload.isDone { upload.isBroken = true }
    giveBackOut()
  }

  func giveBackOut() {
    if let out = upload.out { loop.blocks.giveBack(out) }
    upload.out = nil
  }
}
