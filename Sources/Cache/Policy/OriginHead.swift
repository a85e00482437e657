import HTTPWire

/// A stored answer's head as the origin sent it, without what belongs to that one message. What an app gets of it depends on more than
/// its request for it where redirects led there: each of those apps gets a head of its own, made from this one.
public final class OriginHead: Sendable {
  private let head: StoredHead
  /// It was received over HTTP/2.
  public let isHTTP2: Bool

  /// - Parameters:
  ///   - received: a whole head.
  ///   - date: `Date: ...\r\n` of its receipt, if it has none.
  /// - Returns: nil: it is no head.
  public init?(received: UnsafeRawBufferPointer, date: @autoclosure () -> [UInt8], isHTTP2: Bool) {
    var head = ResponseHead()
    guard head.parse(received, limit: received.count + 1) == .complete else { return nil }
    head.markHopByHop(in: received, keepUpgrade: false)
    let limit = received.count * 2 + 128
    let bytes = withUnsafeTemporaryAllocation(byteCount: limit, alignment: 8) { buffer in
      var writer = ByteWriter(buffer)
      writer.append(statusLineOf: head, in: received)
      var lines = FieldLines(of: received)
      for field in head.fields where !field.dropped && !StoredHead.messageFields.contains(field.id) {
        lines.append(field, to: &writer)
      }
      lines.end(in: &writer)
      if !head.contains(.date) { writer.append(date()) }
      return Array(writer.written)
    }
    self.head = StoredHead(rendered: bytes, status: head.status)
    self.isHTTP2 = isHTTP2
  }

  private init(_ head: StoredHead, isHTTP2: Bool) {
    self.head = head
    self.isHTTP2 = isHTTP2
  }

  public var status: Int { head.status }
  /// Bytes that it occupies.
  var size: Int { head.bytes.count }

  /// With the fields of a 304 (RFC 9111 section 3.2).
  public func renewed(by newer: OriginHead) -> OriginHead? {
    head.renewed(by: newer.head, isDecoded: false).map { OriginHead($0, isHTTP2: newer.isHTTP2) }
  }

  /// Calls `body` with a whole head.
  public func withHead<Result>(_ body: (inout ResponseHead, UnsafeRawBufferPointer) -> Result) -> Result? {
    (head.bytes + [13, 10]).withUnsafeBytes { bytes in
      var parsed = ResponseHead()
      guard parsed.parse(bytes, limit: bytes.count + 1) == .complete else { return nil }
      return body(&parsed, bytes)
    }
  }
}
