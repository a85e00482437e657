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

  init(_ head: UnsafeRawBufferPointer, status: Int, framing: BodyFraming, keepsUpstream: Bool) {
    self.status = status
    let copy = Block(capacity: head.count)
    copy.append(head)
    self.head = copy
    source = BodySource(framing)
    self.keepsUpstream = keepsUpstream && !source.isUntilClose
  }

  deinit { pausedAt?.resume() }

  /// Enough of the body is there to be read: all of it, or as much as is copied.
  var isReadable: Bool { source.isDone || isBroken || payload.count >= Self.limit }

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
      if isBroken || pausedAt != nil { return .partial }
      guard payload.count <= Self.limit else {
        if isRead { return .partial }
        guard origin.pause(of: capacity) else { return .tooMany }
        pausedAt = origin
        return .partial
      }
      if let block = connection.inbound, !block.isEmpty {
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
