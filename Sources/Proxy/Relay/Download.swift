import EventIO
import Forwarding
import HTTPWire
import Streams
import Upstreams

/// Sends an answer from its origin to the app, once its head is in the outbound block. Uses one block, decoded and framed in
/// place.
struct Download {
  enum Outcome {
    /// Waits for an event.
    case blocked
    /// The last byte was sent to the app.
    case whole
    /// The origin broke off, or sent an invalid body.
    case broken
    case appLeft
  }

  /// Bytes of body that may leave with the head in one write.
  private static let joined = 8 << 10
  /// Turns of the loop for which a head may wait for a body that fits in with it: what is left of this one, and the next. The loop
  /// does not sleep before their end.
  private static let patience: UInt8 = 2
  /// With less room than this, in bytes, another read must wait until the block has been sent.
  private static let worthReading = 16 << 10

  let keepsClient: Bool
  /// The origin keeps the connection after this answer.
  let keepsUpstream: Bool
  /// The app cannot tell a cut from the end, because the connection's close ends the body.
  let endsByClose: Bool
  private let isChunked: Bool
  private var source: BodySource
  /// The part of the upstream's block that is being sent.
  private var piece = 0..<0
  private var isTerminated: Bool
  /// The last read filled its block, or the length says that one will: a larger block is worth its memory.
  private var isBulk: Bool
  private var turnsToWait = Self.patience
  private let inflater: Inflater?
  /// They hold for trailers, too; nil: for none.
  private let trailerRules: ForwardingRules?
  private let isElsewhere: Bool
  /// Bytes of interim responses that are not sent yet.
  private(set) var interim: Int
  /// Bytes sent to the app.
  private(set) var sent: Int64 = 0
  /// Bytes of the final answer were sent.
  private(set) var hasBegun = false

  /// Takes what was decided when the head was written.
  /// - Parameters:
  ///   - sink: the framing towards the app.
  ///   - rules: of the entry.
  ///   - isElsewhere: redirects have led to another host or entry than the one that the app asked.
  ///   - interim: bytes of interim responses before the head.
  init(
    from framing: BodyFraming, to sink: BodyFraming, keepsClient: Bool, keepsUpstream: Bool, inflater: Inflater?,
    rules: ForwardingRules, isElsewhere: Bool, behind interim: Int
  ) {
    source = BodySource(framing)
    isBulk = source.expected > BlockPool.small && source.expected < Int.max
    isChunked = sink == .chunked
    isTerminated = sink != .chunked
    endsByClose = sink == .untilClose
    self.keepsClient = keepsClient
    self.keepsUpstream = keepsUpstream && !source.isUntilClose
    self.inflater = inflater
    trailerRules = rules.marksTrailers || isElsewhere ? rules : nil
    self.isElsewhere = isElsewhere
    self.interim = interim
  }

  /// Sends what was read of a held answer first; its head is in the outbound block. If the answer was read completely, its
  /// connection is already back in the pool.
  mutating func take(_ held: HeldAnswer, for app: AppConnection) {
    source = held.source
    let block = Block(capacity: ChunkFraming.front + held.payload.count + ChunkFraming.back)
    block.clearForBody()
    block.append(held.payload)
    if let inflater {
      // Inflated piece by piece as the app reads, because the held bytes may become megabytes.
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

  mutating func pump(_ connection: UpstreamConnection?, to app: AppConnection, _ pulse: Pulse) -> Outcome {
    do throws(Stop) { return try move(connection, app, pulse) } catch {
      return error == .broken ? .broken : .appLeft
    }
  }

  private mutating func move(_ connection: UpstreamConnection?, _ app: AppConnection, _ pulse: Pulse) throws(Stop) -> Outcome {
    var budget = 16
    while true {
      let inflates = inflater?.hasWork ?? false
      if let count = app.outbound?.count, count <= Self.joined, piece.isEmpty, !inflates {
        if !source.isDone { try gather(connection, app, pulse) }
        if let connection, !connection.isCarried, waits(app) {
          app.loop.again(connection)
          return .blocked
        }
      }
      // A small body is inflated before its head is sent: one write, and if the body is broken nothing has been sent.
      if inflater?.hasWork ?? false, let count = app.outbound?.count, count <= Self.joined {
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
        // Chunked, and the last chunk did not fit in with the last piece: the origin sent trailers, or used another framing.
        if let trailerRules { source.dropTrailers(ofAnswerBy: trailerRules, isElsewhere: isElsewhere) }
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
      if passesOn, !app.isStream {
        let arrived = connection.stream.arrived
        if !arrived.isEmpty {
          guard try passOn(arrived, of: connection, app, pulse) else { return .blocked }
          continue
        }
      }
      guard try read(connection, app, pulse) else {
        connection.rest()
        return .blocked
      }
    }
  }

  /// Nothing is decoded or framed.
  private var passesOn: Bool { inflater == nil && !isChunked && !source.isChunked }

  /// Sends what lies in a layer's memory, without a block. All that came before was sent.
  /// - Returns: false if the app takes no more now.
  private mutating func passOn(
    _ arrived: UnsafeRawBufferPointer, of connection: UpstreamConnection, _ app: AppConnection, _ pulse: Pulse
  ) throws(Stop) -> Bool {
    let bytes = UnsafeRawBufferPointer(rebasing: arrived.prefix(source.expected))
    if let place = app.clientPlace, bytes.count == source.expected { place.leave() }
    switch app.stream.write(bytes) {
    case .bytes(let count):
      connection.stream.consume(count)
      source.pass(count)
      note(sent: count, pulse)
      if count < bytes.count { app.clientPlace?.comeBack() }
      return true
    case .later:
      app.clientPlace?.comeBack()
      return false
    case .failed: throw .appLeft
    }
  }

  /// Before a head is sent, adds what has arrived of the body, so that a small answer is one write. Many origins send head and
  /// body as two TLS records, which are in the TLS layer together.
  private mutating func gather(_ connection: UpstreamConnection?, _ app: AppConnection, _ pulse: Pulse) throws(Stop) {
    guard let connection else { return }
    if connection.inbound?.isEmpty ?? true {
      // Only an event in one of the turns can have brought more than is in the TLS layer.
      let isFirstLook = turnsToWait == Self.patience
      guard try read(connection, app, pulse, bufferedOnly: isFirstLook) else { return connection.rest() }
    }
    // At the stream's end, what was read with it has been taken.
    if !source.isDone, let block = connection.inbound, !block.isEmpty { try take(block, app) }
  }

  /// Whether a small answer, of which nothing was sent, is better sent later. A whole one leaves at the end of a busy turn. Many origins
  /// send a head and its small body in two segments, of which the second one comes while a busy loop sees to others: then both leave in
  /// one write. An origin that pauses between them delays its head by no more than two turns.
  private mutating func waits(_ app: AppConnection) -> Bool {
    guard turnsToWait > 0 else { return false }
    let isBusy = app.loop.isBusy
    let isFirstLook = turnsToWait == Self.patience
    if !source.isDone, piece.isEmpty, source.expected <= Self.joined, isBusy || !isFirstLook {
      turnsToWait -= 1
      return true
    }
    turnsToWait = 0
    return source.isDone && isBusy && !app.isStream && piece.count <= Self.joined
  }

  /// Sends what is ready.
  /// - Returns: false if the app takes no more now.
  private mutating func flush(_ connection: UpstreamConnection?, _ app: AppConnection, _ pulse: Pulse) throws(Stop) -> Bool {
    if app.isStream, source.isDone, !isChunked, let lines = connection?.trailersBehindLength, !lines.isEmpty {
      app.take(trailers: BodySource.trailers(lines, ofAnswerBy: trailerRules, isElsewhere: isElsewhere))
    }
    while app.outbound != nil || !piece.isEmpty {
      var rest = UnsafeRawBufferPointer(start: nil, count: 0)
      if !piece.isEmpty, let base = connection?.inbound?.base {
        rest = UnsafeRawBufferPointer(start: base + piece.lowerBound, count: piece.count)
      }
      if let room = app.outbound?.room, rest.count <= Self.joined, rest.count <= room {
        app.outbound?.append(rest)
        rest = UnsafeRawBufferPointer(start: nil, count: 0)
        piece = 0..<0
      }
      let head = app.outbound?.bytes ?? UnsafeRawBufferPointer(start: nil, count: 0)
      if let place = app.clientPlace, source.isDone, isTerminated, !(inflater?.hasWork ?? false) { place.leave() }
      let count: Int
      switch app.stream.write(head, rest) {
      case .bytes(let sent): count = sent
      case .later:
        isBulk = false
        app.clientPlace?.comeBack()
        return false
      case .failed: throw .appLeft
      }
      note(sent: count, pulse)
      app.outbound?.consume(min(count, head.count))
      if app.outbound?.isEmpty == true { app.giveBackOutbound() }
      if count > head.count { piece = piece.lowerBound + (count - head.count)..<piece.upperBound }
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

  /// Decodes what was read, and frames it for the app.
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

  /// Inflates one piece into the outbound block. The next one follows once that has been sent.
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

  /// Fills a block until the upstream has no more data, the block is full, or the body is in it.
  /// - Returns: false if neither data nor the body's end came.
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
  /// - Parameter isClean: false if the stream broke. A TLS end without close_notify is a break: RFC 8446 section 6.1.
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
    // What came before the break is passed on. No last chunk follows, so the app does not take the body for complete.
    _ = try flush(connection, app, pulse)
    throw .broken
  }
}
