import CSystem
import Cache
import EventIO
import HTTPWire
import Streams

/// Sends a stored body, or one that is still being fetched, to an app: at its own pace, from the blocks in which it is. Its head is in
/// the outbound block.
struct BodyReading {
  enum Outcome {
    /// Waits for the app, or for more of the body.
    case blocked
    case whole
    /// The fetch has broken off.
    case broken
    case appLeft
  }

  /// A piece up to this size is copied behind the head: one range is cheaper than two.
  private static let joined = 8 << 10

  private var reader: BodyReader
  /// Bytes of the body that are still to be sent; nil: nobody knows how many.
  private var left: Int?
  private let isChunked: Bool
  /// Bytes of the current chunk that are still to be sent.
  private var chunk = 0
  private var hasChunks = false
  private var isTerminated: Bool
  let keepsClient: Bool
  /// The app cannot tell a cut from the end.
  let endsByClose: Bool
  /// Bytes of interim responses before the head that are not sent yet.
  private(set) var interim: Int
  /// Bytes of the head or the body were sent.
  private(set) var hasBegun = false

  /// - Parameters:
  ///   - range: nil: all of it.
  ///   - framing: for the app.
  ///   - interim: bytes of interim responses before the head.
  init(_ reader: BodyReader, range: Range<Int>?, framing: BodyFraming, keepsClient: Bool, behind interim: Int = 0) {
    self.reader = reader
    self.interim = interim
    left = range?.count
    // The fetch may end later than its body is sent.
    if left == nil, case .length(let length) = framing { left = Int(length) }
    isChunked = framing == .chunked
    isTerminated = !isChunked
    endsByClose = framing == .untilClose
    self.keepsClient = keepsClient
    if let range { skip(range.lowerBound) }
  }

  /// Bytes of the body that were passed.
  var position: Int { reader.position }

  private mutating func skip(_ count: Int) {
    var rest = count
    while rest > 0, case .bytes(let bytes) = reader.next() {
      reader.advance(min(rest, bytes.count))
      rest -= min(rest, bytes.count)
    }
  }

  mutating func pump(_ app: AppConnection, _ pulse: Pulse, sent total: inout Int64) -> Outcome {
    while true {
      var end: Outcome?
      var body = UnsafeRawBufferPointer(start: nil, count: 0)
      if left != 0 {
        switch reader.next() {
        case .bytes(let bytes): body = left.map { UnsafeRawBufferPointer(rebasing: bytes.prefix($0)) } ?? bytes
        case .later: end = .blocked
        case .complete: end = left == nil ? .whole : .broken
        case .broken: end = .broken
        }
      } else {
        end = .whole
      }
      if case .broken = end { return .broken }
      if isChunked { frame(&body, isEnd: end != nil && end != .blocked, app) }
      if body.isEmpty, app.outbound == nil { return end ?? .blocked }
      // As of other answers: before the last bytes leave.
      if left == body.count || (isChunked && isTerminated && body.isEmpty) { app.clientPlace?.leave() }
      switch isChunked || body.count < BodyBlock.size / 8 || left == body.count ? write(body, app) : writeBlocks(app) {
      case .bytes(let count):
        total += Int64(count)
        if count > interim { hasBegun = true }
        interim = max(interim - count, 0)
        pulse.moved()
      case .later:
        app.clientPlace?.comeBack()
        return .blocked
      case .failed: return .appLeft
      }
    }
  }

  /// Puts the framing of the next chunk into the outbound block, and limits `body` to the chunk.
  private mutating func frame(_ body: inout UnsafeRawBufferPointer, isEnd: Bool, _ app: AppConnection) {
    if chunk > 0 {
      body = UnsafeRawBufferPointer(rebasing: body.prefix(chunk))
      return
    }
    if body.isEmpty {
      guard isEnd, !isTerminated else { return }
      isTerminated = true
      let last = reader.lastChunk
      let block = app.outbound(with: (last?.count ?? 5) + 2)
      if hasChunks { block.append("\r\n") }
      if let last { block.append(last) } else { block.append("0\r\n\r\n") }
      return
    }
    let block = app.outbound(with: 24)
    if hasChunks { block.append("\r\n") }
    block.append(Array(String(body.count, radix: 16).utf8))
    block.append("\r\n")
    chunk = body.count
    hasChunks = true
  }

  private mutating func write(_ body: UnsafeRawBufferPointer, _ app: AppConnection) -> ByteStream.Write {
    var body = body
    if let head = app.outbound, body.count <= Self.joined, body.count <= head.room {
      head.append(body)
      passed(body.count)
      body = UnsafeRawBufferPointer(start: nil, count: 0)
    }
    guard let head = app.outbound else { return note(app.stream.write(body), head: 0, app) }
    if body.isEmpty { return note(app.stream.write(head.bytes), head: head.count, app) }
    return note(app.stream.write(head.bytes, body), head: head.count, app)
  }

  /// Most blocks of one call.
  private static let together = 8

  /// Sends the head and several blocks in one call.
  private mutating func writeBlocks(_ app: AppConnection) -> ByteStream.Write {
    let head = app.outbound?.bytes
    return withUnsafeTemporaryAllocation(of: iovec.self, capacity: Self.together + 1) { ranges in
      var count = 0
      var rest = left ?? .max
      func add(_ bytes: UnsafeRawBufferPointer) {
        ranges[count] = iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
        count += 1
      }
      if let head, !head.isEmpty { add(head) }
      reader.forEachReady { bytes in
        guard count <= Self.together, rest > 0 else { return false }
        let bytes = UnsafeRawBufferPointer(rebasing: bytes.prefix(rest))
        rest -= bytes.count
        add(bytes)
        return true
      }
      if rest == 0 { app.clientPlace?.leave() }
      return note(app.stream.write(UnsafeBufferPointer(rebasing: ranges[..<count])), head: head?.count ?? 0, app)
    }
  }

  private mutating func note(_ result: ByteStream.Write, head: Int, _ app: AppConnection) -> ByteStream.Write {
    guard case .bytes(let count) = result else { return result }
    if let block = app.outbound {
      block.consume(min(count, head))
      if block.isEmpty { app.giveBackOutbound() }
    }
    if count > head { passed(count - head) }
    return result
  }

  private mutating func passed(_ count: Int) {
    reader.advance(count)
    if let left { self.left = left - count }
    if chunk > 0 { chunk -= count }
  }
}
