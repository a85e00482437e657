import Cache
import EventIO
import Forwarding
import HTTPWire
import Upstreams

/// How a body comes that goes into blocks, and how the app gets it that asked for it.
struct AnswerSource {
  let source: BodySource
  /// For the app.
  let framing: BodyFraming
  let keepsClient: Bool
  /// The origin keeps the connection after this answer.
  let keepsUpstream: Bool
  let inflater: Inflater?
  /// Bytes of interim responses before the head in the outbound block.
  let interim: Int
  /// They hold for trailers, too; nil: for none.
  let trailerRules: ForwardingRules?
  /// See `ForwardingRules.markTrailers`.
  let isElsewhere: Bool

  init(
    _ source: BodyFraming, _ framing: BodyFraming, _ keepsClient: Bool, _ keepsUpstream: Bool, _ inflater: Inflater?,
    behind interim: Int, rules: ForwardingRules, isElsewhere: Bool
  ) {
    self.interim = interim
    trailerRules = rules.marksTrailers || isElsewhere ? rules : nil
    self.isElsewhere = isElsewhere
    self.source = BodySource(source)
    self.framing = framing
    self.keepsClient = keepsClient
    self.keepsUpstream = keepsUpstream && !self.source.isUntilClose
    self.inflater = inflater
  }
}

/// Reads the body of an answer from its exchange into blocks, without regard to who reads them.
struct Fill {
  enum Outcome {
    /// Waits for the origin.
    case blocked
    /// The store has no room for what has been read.
    case noRoom
    /// All of it is in the blocks.
    case whole
    /// The origin broke off, or sent an invalid body.
    case broken
  }

  /// With less room than this, in bytes, another read waits until the block has been emptied.
  private static let worthReading = 16 << 10

  private let loop: EventLoop
  private let exchange: Exchange
  let writer: BodyWriter
  private var source: BodySource
  private let inflater: Inflater?
  private let keepsUpstream: Bool
  private let trailerRules: ForwardingRules?
  private let isElsewhere: Bool
  /// The part of the connection's block that is still to be written.
  private var piece = 0..<0
  /// What was inflated, and is still to be written.
  private var inflated: EventIO.Block?
  private var isBulk: Bool

  init(_ exchange: Exchange, _ answer: AnswerSource, into writer: BodyWriter, on loop: EventLoop) {
    self.loop = loop
    self.exchange = exchange
    self.writer = writer
    source = answer.source
    inflater = answer.inflater
    keepsUpstream = answer.keepsUpstream
    trailerRules = answer.trailerRules
    isElsewhere = answer.isElsewhere
    isBulk = source.expected > BlockPool.small && source.expected < Int.max
  }

  var hasTrailers: Bool { source.hasTrailers }

  /// The end of the body for apps that get it in chunks: with its trailers, as far as they may pass.
  func lastChunk() -> [UInt8] {
    if let trailerRules { source.dropTrailers(ofAnswerBy: trailerRules, isElsewhere: isElsewhere) }
    return withExtendedLifetime(source.lastChunk()) { Array($0.bytes) }
  }

  private struct Broken: Error {}

  mutating func pump() -> Outcome {
    do throws(Broken) { return try move() } catch { return .broken }
  }

  private mutating func move() throws(Broken) -> Outcome {
    // Reads in one turn.
    var budget = 16
    while true {
      guard deliver() else { return .noRoom }
      if let inflater, inflater.hasWork {
        do { inflated = try inflater.next() } catch { throw Broken() }
        continue
      }
      if source.isDone { return .whole }
      guard let connection = exchange.connection else { throw Broken() }
      if let block = connection.inbound, !block.isEmpty {
        try take(block)
        continue
      }
      budget -= 1
      if budget == 0 {
        loop.again(connection)
        return .blocked
      }
      guard try read(connection) else {
        connection.rest()
        return .blocked
      }
    }
  }

  /// - Returns: false: not all of it found room.
  private mutating func deliver() -> Bool {
    if let block = inflated {
      block.consume(writer.append(block.bytes))
      guard block.isEmpty else { return false }
      inflated = nil
    }
    guard !piece.isEmpty, let block = exchange.connection?.inbound else { return true }
    let taken = writer.append(UnsafeRawBufferPointer(start: block.base + piece.lowerBound, count: piece.count))
    piece = piece.lowerBound + taken..<piece.upperBound
    return piece.isEmpty
  }

  private mutating func take(_ block: EventIO.Block) throws(Broken) {
    let payload: Range<Int>
    do { payload = try source.take(from: block) } catch { throw Broken() }
    guard let inflater else {
      piece = payload
      return
    }
    inflater.feed(payload, of: block)
    if source.isDone { inflater.end() }
  }

  /// Fills the connection's block until the origin has no more data, the block is full, or the body is in it.
  /// - Returns: false if neither data nor the body's end came.
  private mutating func read(_ connection: UpstreamConnection) throws(Broken) -> Bool {
    var hasRead = false
    while true {
      if hasRead, let block = connection.inbound,
        block.bodySpace.count < Self.worthReading || block.count >= source.expected
      {
        break
      }
      let space = hasRead ? connection.inbound?.bodySpace : nil
      switch connection.stream.read(into: space ?? connection.blockForBody(isBulk: isBulk).bodySpace) {
      case .bytes(let count):
        connection.inbound?.end += count
        hasRead = true
        continue
      case .later: break
      case .end: return try ended(connection, isClean: true)
      case .truncated, .failed: return try ended(connection, isClean: false)
      }
      break
    }
    if hasRead, let block = connection.inbound { isBulk = block.bodySpace.count < Self.worthReading }
    return hasRead
  }

  /// The origin has sent its last byte.
  /// - Parameter isClean: false if the stream broke. A TLS end without close_notify is a break: RFC 8446 section 6.1.
  private mutating func ended(_ connection: UpstreamConnection, isClean: Bool) throws(Broken) -> Bool {
    if let block = connection.inbound, !block.isEmpty {
      // What came before a break is passed on.
      try take(block)
      _ = deliver()
    }
    if source.isDone { return true }
    guard isClean, (try? source.end()) != nil else { throw Broken() }
    inflater?.end()
    return true
  }

  /// Ends the exchange. Its connection is closed, unless it has ended as it should.
  func end() { exchange.abort() }

  /// The exchange has ended as it should.
  func finish() { exchange.finish(inStep: keepsUpstream) }
}
