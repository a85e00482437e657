import HTTPWire

/// A request's head for the origin as `OutboundRequest.write` wrote it, without the credential and the blank line: what a credential
/// that depends on the request reads. Valid as long as the bytes.
public struct WrittenHead {
  public let bytes: UnsafeRawBufferPointer
  public let method: ByteSlice
  /// Origin-form, or `*`.
  public let target: ByteSlice
  /// The value of Host.
  public let host: ByteSlice
  /// The lines behind Host, each with CRLF.
  public let fields: ByteSlice

  /// nil: this is no such head.
  public init?(_ bytes: UnsafeRawBufferPointer) {
    let host: StaticString = "Host: "
    guard let space = Self.find(UInt8(ascii: " "), bytes, from: 0),
      let end = Self.find(UInt8(ascii: " "), bytes, from: space + 1),
      let lineEnd = Self.find(0x0a, bytes, from: end + 1), lineEnd + 1 + host.utf8CodeUnitCount <= bytes.count,
      let hostEnd = Self.find(0x0d, bytes, from: lineEnd + 1), hostEnd + 2 <= bytes.count
    else { return nil }
    let start = lineEnd + 1 + host.utf8CodeUnitCount
    guard start <= hostEnd, Self.slice(lineEnd + 1, start).equalsIgnoringCase(host, in: bytes) else { return nil }
    self.bytes = bytes
    method = Self.slice(0, space)
    target = Self.slice(space + 1, end)
    self.host = Self.slice(start, hostEnd)
    fields = Self.slice(hostEnd + 2, bytes.count)
  }

  /// The target URI without its query (RFC 9110 section 7.1).
  public func uri(isTLS: Bool) -> [UInt8] {
    let target = target.bytes(in: bytes)
    var uri = Array((isTLS ? "https://" : "http://").utf8)
    uri.reserveCapacity(uri.count + host.count + target.count)
    uri += host.bytes(in: bytes)
    if target.first == UInt8(ascii: "*") { return uri }
    let end = target.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex
    uri += UnsafeRawBufferPointer(rebasing: target[..<end])
    return uri
  }

  private static let chunkedLine: StaticString = "Transfer-Encoding: chunked\r\n"

  /// Replaces the framing line, which `OutboundRequest.write` writes last, as the body's length is known now. A head with another
  /// framing stays as it is. Trailer goes, too: no trailers follow a body with a length.
  public static func replaceChunked(in head: inout [UInt8], withLength length: Int64) {
    let old = UnsafeRawBufferPointer(start: chunkedLine.utf8Start, count: chunkedLine.utf8CodeUnitCount)
    guard head.count >= old.count, head[(head.count - old.count)...].elementsEqual(old) else { return }
    head.removeLast(old.count)
    removeTrailer(from: &head)
    head += Array("Content-Length: \(length)\r\n".utf8)
  }

  private static func removeTrailer(from head: inout [UInt8]) {
    let name = Array("trailer:".utf8)
    var start = 0
    while start < head.count {
      let end = head[start...].firstIndex(of: 0x0a).map { $0 + 1 } ?? head.count
      let isTrailer =
        end - start >= name.count && zip(head[start..<end], name).allSatisfy { $0 &- 0x41 < 26 ? $0 | 0x20 == $1 : $0 == $1 }
      if isTrailer { head.removeSubrange(start..<end) } else { start = end }
    }
  }

  private static func slice(_ start: Int, _ end: Int) -> ByteSlice { ByteSlice(start: start, count: end - start) }

  private static func find(_ byte: UInt8, _ bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
    var index = start
    while index < bytes.count, bytes[index] != byte { index += 1 }
    return index < bytes.count ? index : nil
  }
}
