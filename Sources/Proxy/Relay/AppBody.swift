import Crypto
import EventIO
import Forwarding
import HTTPWire
import Upstreams

/// A request's body as it arrives from the app, and the copy that is kept for sending it again. Outlives attempts.
struct AppBody {
  enum Piece {
    /// Where in the app's block the next payload is; may be empty if only framing was read.
    case piece(Range<Int>)
    /// The app has not sent more yet.
    case blocked
    /// The app closed in the middle of its body: no answer would be read.
    case appLeft
    case malformed(ChunkedError)
  }

  let framing: BodyFraming
  private var source: BodySource
  private(set) var tee: ReplayTee
  /// It is read whole before it is sent, and leaves with its length.
  private var whole: WholeBody?

  /// No body.
  init() {
    framing = .none
    source = BodySource(.none)
    tee = ReplayTee()
  }

  /// - Parameters:
  ///   - capacity: how many bytes to keep for sending them again.
  ///   - buffers: what they are taken from.
  init(_ framing: BodyFraming, capacity: Int, from buffers: LoopBuffers) {
    self.framing = framing
    source = BodySource(framing)
    tee = ReplayTee(capacity: capacity, from: buffers)
  }

  // MARK: Whole

  /// From now on the body is kept whole, whatever the capacity was before. Valid while all that was read is kept.
  /// - Returns: why it cannot be; nil: it is.
  mutating func keepWhole(
    upTo limit: Int, digest: RunningDigest.Algorithm?, of account: ClientAccount?, from buffers: LoopBuffers
  ) -> WholeBody.Refusal? {
    if let whole, whole.algorithm == digest { return nil }
    var length = 0
    if case .length(let known) = framing {
      guard known <= limit else { return .tooLarge }
      length = Int(known)
    }
    guard tee.bytes.count <= limit else { return .tooLarge }
    guard let whole = WholeBody(digest, of: account, in: buffers) else { return .noMemory }
    var before = tee
    tee = ReplayTee(wholeUpTo: limit, length: length, from: buffers)
    self.whole = whole
    let kept = before.bytes
    before.discard()
    return kept.withUnsafeBytes { keep($0) }
  }

  /// Keeps the next piece of a whole body.
  private mutating func keep(_ bytes: UnsafeRawBufferPointer) -> WholeBody.Refusal? {
    guard let whole else { return nil }
    guard tee.bytes.count + bytes.count <= tee.capacity else {
      tee.discard()
      return .tooLarge
    }
    guard whole.add(bytes) else {
      tee.discard()
      return .noMemory
    }
    tee.append(bytes)
    return tee.isIntact ? nil : .noMemory
  }

  /// Why it cannot be kept whole; nil: it is, or need not be.
  private(set) var refusal: WholeBody.Refusal?
  var isWhole: Bool { whole != nil }
  /// - Parameter digest: nil: none is needed.
  func isWhole(with digest: RunningDigest.Algorithm?) -> Bool { whole.map { digest == nil || $0.algorithm == digest } ?? false }
  /// Of the whole body, if it was asked for.
  var digest: [UInt8]? { isDone ? whole?.digest : nil }

  /// Gives the memory back: nothing of the body is sent again.
  @inline(__always)
  mutating func giveBack() { if tee.isHolding || whole != nil { release() } }

  private mutating func release() {
    tee.discard()
    whole = nil
  }

  // MARK: Reading

  /// Bytes of the body that were read, without framing.
  var received: Int64 { source.count }
  /// The whole body was read.
  var isDone: Bool { source.isDone }
  /// All that was read can be sent again.
  var canReplay: Bool { source.count == 0 || tee.isIntact }
  /// It goes to the origin in chunks.
  var isChunked: Bool { source.isChunked && whole == nil }
  /// Trailers follow the last piece.
  var hasTrailers: Bool { source.hasTrailers }
  func lastChunk() -> Block { source.lastChunk() }
  func drop(_ trailers: DroppedTrailers) { source.drop(trailers) }

  /// Whether more than the tee holds will or may come. Valid before anything was read.
  /// - Parameter isLast: the request is not sent again after this attempt, so a body of unknown size need not be kept.
  func mayExceedTee(isLast: Bool) -> Bool {
    switch framing {
    case .length(let length): length > tee.capacity
    case .chunked: !isLast
    case .none, .untilClose: false
    }
  }

  /// Reads the next piece from the app, and keeps a copy of it.
  mutating func read(from app: AppConnection, _ pulse: Pulse) -> Piece {
    if app.inbound?.isEmpty ?? true {
      switch app.stream.read(into: app.blockForBody().bodySpace) {
      case .bytes(let count):
        app.inbound?.end += count
        pulse.moved()
      case .later:
        app.giveBackEmptyBlock()
        return .blocked
      case .end, .truncated, .failed: return .appLeft
      }
    }
    guard let block = app.inbound else { return .blocked }
    do {
      let range = try source.take(from: block)
      // The app's FIN was seen before. Now that the body is complete it has another meaning, so the event is repeated.
      if source.isDone, app.stream.peerEnded { app.loop.again(app) }
      let bytes = UnsafeRawBufferPointer(start: block.base + range.lowerBound, count: range.count)
      if isWhole { refusal = keep(bytes) } else { tee.append(bytes) }
      return .piece(range)
    } catch {
      if case .chunked(let error) = error { return .malformed(error) }
      return .appLeft
    }
  }

  /// Reads on while the answer to what was sent is held, as long as the body can be kept.
  /// - Returns: nil if the request goes on, else why it ends.
  mutating func readWhileHeld(from app: AppConnection, _ pulse: Pulse) -> Piece? {
    while !isDone, tee.isIntact {
      if case .length(let length) = framing, length > tee.capacity { return nil }
      if isChunked, tee.bytes.count + BlockPool.small > tee.capacity { return nil }
      let piece = read(from: app, pulse)
      switch piece {
      case .piece: continue
      case .blocked: return nil
      case .appLeft, .malformed: return piece
      }
    }
    return nil
  }
}
