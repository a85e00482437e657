import HTTPWire

/// A stored answer's head, rendered once: status line and fields, each with CRLF, without what belongs to one message only (framing,
/// Age, Connection, our own members of Cache-Status and Proxy-Status).
public struct StoredHead: Sendable {
  public let bytes: [UInt8]
  public let status: Int

  static let messageFields = FieldSet(
    .age, .connection, .contentLength, .keepAlive, .proxyAuthenticate, .proxyAuthenticationInfo,
    .proxyAuthorization,
    .proxyConnection, .te, .trailer, .transferEncoding, .upgrade)

  /// - Parameters:
  ///   - relayed: a whole head as it would go to an app, with its Date.
  ///   - name: of this proxy.
  /// - Returns: nil: it is no head.
  public init?(relayed: UnsafeRawBufferPointer, name: [UInt8]) {
    var head = ResponseHead()
    // More than most heads have: to grow by doubling costs more than to parse.
    head.fields.reserveCapacity(24)
    guard head.parse(relayed, limit: relayed.count + 1) == .complete else { return nil }
    // Each field and each member of a list may get a blank.
    let limit = relayed.count * 2 + 64
    bytes = withUnsafeTemporaryAllocation(byteCount: limit, alignment: 8) { buffer in
      var writer = ByteWriter(buffer)
      writer.append(statusLineOf: head, in: relayed)
      Self.append(head.fields, in: relayed, name: name, to: &writer)
      return Array(writer.written)
    }
    status = head.status
  }

  /// - Parameter plain: status line and fields as `init(relayed:name:)` would leave them.
  public init(plain: UnsafeRawBufferPointer, status: Int) {
    self.init(rendered: Array(plain), status: status)
  }

  init(rendered: [UInt8], status: Int) {
    bytes = rendered
    self.status = status
  }

  /// End of the status line.
  private var fieldsStart: Int { bytes.withUnsafeBytes { Self.lineEnd($0, from: 0) } }

  /// This head with the fields of a 304 (RFC 9111 section 3.2): they replace all of their name, but those that say what the stored
  /// body is.
  /// - Parameter isDecoded: this head is of the body without its coding, and the newer one of the body with it: the tag stays weak, and
  ///   Vary has Accept-Encoding.
  public func renewed(relayed: UnsafeRawBufferPointer, name: [UInt8], isDecoded: Bool = false) -> StoredHead? {
    StoredHead(relayed: relayed, name: name).flatMap { renewed(by: $0, isDecoded: isDecoded) }
  }

  /// The same, by one that was rendered already.
  func renewed(by newer: StoredHead, isDecoded: Bool) -> StoredHead? {
    newer.bytes.withUnsafeBytes { new in
      bytes.withUnsafeBytes { old in
        let lines = Self.names(new, from: newer.fieldsStart).filter {
          !Self.describesBody($0.id, $0.name) && !(isDecoded && $0.id == .etag)
        }
        var rendered = Array(old[..<fieldsStart])
        for line in Self.names(old, from: fieldsStart) where !lines.contains(where: { equalsIgnoringCase($0.name, line.name) })
        {
          rendered += old[line.range]
        }
        for line in lines { rendered += new[line.range] }
        if isDecoded, lines.contains(where: { $0.id == .vary }) { rendered += Array("Vary: Accept-Encoding\r\n".utf8) }
        return StoredHead(rendered: rendered, status: status)
      }
    }
  }

  // MARK: - Writing

  /// Most bytes that `ByteWriter.append(_:part:size:age:)` writes.
  public var sizeLimit: Int { bytes.count + 160 }

  fileprivate func write(_ part: StoredPart, size: Int, age: Int64, into writer: inout ByteWriter) {
    switch part {
    case .whole:
      bytes.withUnsafeBytes { writer.append($0) }
      // RFC 9110 section 8.6: a 204 has no length.
      if status != 204 { writer.appendField("Content-Length", decimal: Int64(size)) }
    case .part(let range):
      writer.append("HTTP/1.1 206 Partial Content\r\n")
      appendForPart(into: &writer)
      writer.append("Content-Range: bytes ")
      writer.appendDecimal(range.lowerBound)
      writer.append("-")
      writer.appendDecimal(range.upperBound - 1)
      writer.append("/")
      writer.appendDecimal(size)
      writer.append("\r\n")
      writer.appendField("Content-Length", decimal: Int64(range.count))
    case .notModified:
      writer.append("HTTP/1.1 304 Not Modified\r\n")
      appendWithoutRepresentation(into: &writer)
    case .unsatisfiable:
      writer.append("HTTP/1.1 416 Range Not Satisfiable\r\n")
      appendWithoutRepresentation(into: &writer)
      writer.append("Content-Range: bytes */")
      writer.appendDecimal(size)
      writer.append("\r\nContent-Length: 0\r\n")
    }
    writer.appendField("Age", decimal: min(age, CacheDirectives.longest))
  }

  /// All fields but a Content-Range that the origin sent with the whole: the part has its own.
  private func appendForPart(into writer: inout ByteWriter) {
    bytes.withUnsafeBytes { bytes in
      for line in Self.names(bytes, from: fieldsStart) where line.id != .contentRange {
        writer.append(UnsafeRawBufferPointer(rebasing: bytes[line.range]))
      }
    }
  }

  /// All fields but those that are not for a 304.
  private func appendWithoutRepresentation(into writer: inout ByteWriter) {
    bytes.withUnsafeBytes { bytes in
      let lines = Self.names(bytes, from: fieldsStart)
      let hasTag = lines.contains { $0.id == .etag }
      for line in lines where !Self.isRepresentation(line.id, line.name, hasTag: hasTag) {
        writer.append(UnsafeRawBufferPointer(rebasing: bytes[line.range]))
      }
    }
  }

  // MARK: - Fields

  private static func append(
    _ fields: ContiguousArray<Field>, in head: UnsafeRawBufferPointer, name: [UInt8], to writer: inout ByteWriter
  ) {
    var lines = FieldLines(of: head)
    for field in fields {
      if field.id == .proxyStatus || field.id == .cacheStatus {
        lines.end(in: &writer)
        writer.append(listField: field, without: name, in: head)
      } else if !messageFields.contains(field.id) {
        lines.append(field, to: &writer)
      }
    }
    lines.end(in: &writer)
  }

  private struct Line {
    let id: FieldName
    let name: UnsafeRawBufferPointer
    let range: Range<Int>
  }

  /// Lines of a head that this type has written.
  private static func names(_ bytes: UnsafeRawBufferPointer, from: Int) -> [Line] {
    var lines: [Line] = []
    var start = from
    while start < bytes.count {
      let end = lineEnd(bytes, from: start)
      var colon = start
      while bytes[colon] != UInt8(ascii: ":") { colon += 1 }
      let name = UnsafeRawBufferPointer(rebasing: bytes[start..<colon])
      lines.append(Line(id: FieldName(name), name: name, range: start..<end))
      start = end
    }
    return lines
  }

  private static func lineEnd(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
    var index = start
    while bytes[index] != 0x0a { index += 1 }
    return index + 1
  }

  /// Section 3.2: a 304 may have these for a body that it does not send, and they would be wrong for the stored one.
  private static func describesBody(_ id: FieldName, _ name: UnsafeRawBufferPointer) -> Bool {
    id == .contentLength || id == .contentEncoding || id == .contentType || id == .contentRange
  }

  /// RFC 9110 section 15.4.5: a 304 has no metadata but what selects the representation. Other fields stay: a browser checks
  /// Access-Control-Allow-Origin of the 304 itself.
  private static func isRepresentation(_ id: FieldName, _ name: UnsafeRawBufferPointer, hasTag: Bool) -> Bool {
    switch id {
    case .contentLocation: return false
    case .lastModified: return hasTag
    case .acceptRanges: return true
    default:
      let prefix: StaticString = "Content-"
      guard name.count > prefix.utf8CodeUnitCount else { return false }
      // Policies are about the page, not about the bytes, and a browser takes newer ones from a 304.
      if equalsIgnoringCase(name, "Content-Security-Policy") { return false }
      return equalsIgnoringCase(UnsafeRawBufferPointer(rebasing: name[..<prefix.utf8CodeUnitCount]), prefix)
    }
  }
}

extension ByteWriter {
  /// The head of an answer whose body is still coming, without its framing and the empty line.
  public mutating func append(_ head: StoredHead, age: Int64) {
    append(head.bytes)
    if age > 0 { appendField("Age", decimal: min(age, CacheDirectives.longest)) }
  }

  /// The head of a stored answer for an app, without the empty line: the caller adds Cache-Status and Connection.
  /// - Parameters:
  ///   - size: bytes of the stored body.
  ///   - age: seconds.
  public mutating func append(_ head: StoredHead, part: StoredPart, size: Int, age: Int64) {
    head.write(part, size: size, age: age, into: &self)
  }
}
