import EventIO
import HTTPWire
import Streams
import Upstreams

/// An answer that refused the credential, kept back until it is known whether the request can be sent again. A small one is
/// copied, and its connection goes back to the pool at once; a larger one waits on its connection.
final class HeldAnswer {
  /// Bytes of body that are copied.
  private static let limit = 16 << 10

  enum Progress {
    /// All of it is here.
    case whole
    /// The rest is on its way, or waits on the connection.
    case partial
    /// It is too large, and too many of that kind are held: not to be waited with.
    case tooMany
  }

  let head: Block
  let keepsUpstream: Bool
  private(set) var source: BodySource
  private(set) var payload: [UInt8] = []
  /// The connection broke inside the body.
  private(set) var isBroken = false
  private(set) var isWhole = false
  private var pausedAt: OriginLimit?

  init(_ head: UnsafeRawBufferPointer, framing: BodyFraming, keepsUpstream: Bool) {
    let copy = Block(capacity: head.count)
    copy.append(head)
    self.head = copy
    source = BodySource(framing)
    self.keepsUpstream = keepsUpstream && !source.isUntilClose
  }

  deinit { pausedAt?.resume() }

  /// Takes what has come of the body, up to the limit.
  /// - Parameter origin: where connections that wait are counted; `capacity`: how many there may be in all.
  func collect(_ connection: UpstreamConnection, of origin: OriginLimit, capacity: Int) -> Progress {
    while !source.isDone {
      if isBroken || pausedAt != nil { return .partial }
      guard payload.count <= Self.limit else {
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
      // A close-delimited body ends so, and only so.
      case .end: if (try? source.end()) == nil { isBroken = true }
      case .truncated, .failed: isBroken = true
      }
    }
    isWhole = true
    return .whole
  }
}
