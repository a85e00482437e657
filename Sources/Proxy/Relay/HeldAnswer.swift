import EventIO
import Forwarding
import HTTPWire
import Streams
import Upstreams

/// An answer that refused the credential, held until the proxy knows whether it can send the request again. A small one is
/// copied, and its connection returns to the pool at once. A larger one waits on its connection.
final class HeldAnswer {
  /// A body up to this size is copied. Of a larger one this is copied, and at most one block more.
  static let limit = 16 << 10
  /// Bytes of the body that are not counted in `limits.buffers`: a request takes several times as much for itself.
  private static let uncounted = 1 << 10

  enum Progress {
    /// All of it was read.
    case whole
    /// The rest has not arrived, or waits on the connection.
    case partial
    /// It is too large, and too many large ones are held: it must not wait.
    case tooMany
  }

  let head: Block
  let status: Int
  /// It is held for what its body says; whether it is a refusal is not known yet.
  var isRead = false
  /// When its head arrived, in nanoseconds of the loop's clock.
  var arrived: Int64 = 0
  let keepsUpstream: Bool
  private(set) var source: BodySource
  private(set) var payload: [UInt8] = []
  /// The connection broke inside the body.
  private(set) var isBroken = false
  private var pausedAt: OriginLimit?
  /// What the copy is taken from; lives as long as the loop.
  private unowned(unsafe) let buffers: LoopBuffers
  /// Taken from them.
  private var taken = 0
  /// There is no memory for more of the copy.
  private var isStarved = false

  init(_ head: UnsafeRawBufferPointer, status: Int, framing: BodyFraming, keepsUpstream: Bool, in buffers: LoopBuffers) {
    self.buffers = buffers
    self.status = status
    let copy = Block(capacity: head.count)
    copy.append(head)
    self.head = copy
    source = BodySource(framing)
    self.keepsUpstream = keepsUpstream && !source.isUntilClose
  }

  deinit {
    pausedAt?.resume()
    buffers.giveBack(taken)
  }

  /// Enough of the body is there to be read: all of it, or as much as is copied.
  var isReadable: Bool { source.isDone || isBroken || isStarved || payload.count >= Self.limit }

  /// Takes memory for so many bytes more.
  /// - Returns: false: there is not enough; nothing was taken.
  private func reserve(_ more: Int) -> Bool {
    let count = payload.count + more
    if count <= max(taken, Self.uncounted) { return true }
    let wanted = max(count, min(2 * payload.capacity, Self.limit))
    guard buffers.take(wanted - taken) else { return false }
    taken = wanted
    payload.reserveCapacity(wanted)
    return true
  }

  /// The rest waits on its connection.
  private func pause(at origin: OriginLimit, _ capacity: Int) -> Progress {
    if isRead { return .partial }
    guard origin.pause(of: capacity) else { return .tooMany }
    pausedAt = origin
    return .partial
  }

  /// The beginning of the body as a reader without codings would get it.
  func beginning(_ parsed: borrowing ResponseHead) -> [UInt8] {
    let plain = Array(payload.prefix(Self.limit))
    guard let coding = ContentCoding(of: parsed, in: head.bytes), let inflater = Inflater(coding) else { return plain }
    let block = Block(capacity: plain.count)
    block.append(plain)
    inflater.feed(block.start..<block.end, of: block)
    var result: [UInt8] = []
    while result.count < Self.limit, let piece = try? inflater.next() { result.append(contentsOf: piece.bytes) }
    return Array(result.prefix(Self.limit))
  }

  /// Reads the body, up to the limit.
  /// - Parameters:
  ///   - origin: counts the connections that wait.
  ///   - capacity: the limit of the origin's connections.
  func collect(_ connection: UpstreamConnection, of origin: OriginLimit, capacity: Int) -> Progress {
    while !source.isDone {
      if isBroken || isStarved || pausedAt != nil { return .partial }
      guard payload.count <= Self.limit else { return pause(at: origin, capacity) }
      if let block = connection.inbound, !block.isEmpty {
        guard reserve(block.count) else {
          isStarved = true
          return pause(at: origin, capacity)
        }
        do {
          let range = try source.take(from: block)
          payload.append(contentsOf: UnsafeRawBufferPointer(start: block.base + range.lowerBound, count: range.count))
        } catch { isBroken = true }
        continue
      }
      switch connection.stream.read(into: connection.blockForBody(isBulk: false).bodySpace) {
      case .bytes(let count): connection.inbound?.end += count
      case .later:
        connection.rest()
        return .partial
      // Only a close-delimited body ends like this.
      case .end: if (try? source.end()) == nil { isBroken = true }
      case .truncated, .failed: isBroken = true
      }
    }
    return .whole
  }
}
