import HTTPWire

/// A content coding that the proxy decodes for an app that did not ask for it.
public enum ContentCoding: Sendable { case gzip, deflate }

/// Whether the proxy may ask the origin for a coded response: not if the app asks for a range, or wants no transformation (RFC
/// 9110 section 7.7).
func mayBeCoded(_ head: borrowing RequestHead, in bytes: UnsafeRawBufferPointer) -> Bool {
  !head.fields.has(range, in: bytes) && !head.fields.hasMember("no-transform", in: .cacheControl, of: bytes)
}

private let range = Array("range".utf8)

extension ForwardingRules {
  /// The coding to decode in this response; nil: none.
  @inlinable @inline(__always)
  public func codingToRemove(
    from head: borrowing ResponseHead, in bytes: UnsafeRawBufferPointer, answering request: OutboundRequest
  ) -> ContentCoding? {
    head.contains(.contentEncoding) ? unwantedCoding(head, bytes, request) : nil
  }

  @usableFromInline
  func unwantedCoding(
    _ head: borrowing ResponseHead, _ bytes: UnsafeRawBufferPointer, _ request: OutboundRequest
  ) -> ContentCoding? {
    // RFC 9110 section 7.7.
    guard decompresses, !request.acceptsGzip, head.status != 206,
      !head.fields.hasMember("no-transform", in: .cacheControl, of: bytes),
      let coding = ContentCoding(of: head, in: bytes)
    else { return nil }
    return coding
  }
}

extension ContentCoding {
  /// The coding of a response that has only one, which the proxy can decode; else nil.
  public init?(of head: borrowing ResponseHead, in bytes: UnsafeRawBufferPointer) {
    guard head.fields.count(of: .contentEncoding) == 1, let field = head.fields.first(.contentEncoding) else { return nil }
    if field.value.equalsIgnoringCase("gzip", in: bytes) || field.value.equalsIgnoringCase("x-gzip", in: bytes) {
      self = .gzip
    } else if field.value.equalsIgnoringCase("deflate", in: bytes) {
      self = .deflate
    } else {
      return nil
    }
  }
}

extension ResponseHead {
  /// RFC 9110 section 8.4: without its coding it is another representation.
  mutating func dropCodedFields() {
    fields.drop(.contentEncoding)
    fields.drop(.etag)
  }
}

extension ByteWriter {
  /// - Parameter keepsETag: false: `response_headers` takes it out, or replaces it.
  mutating func append(decodedFieldsOf head: borrowing ResponseHead, in bytes: UnsafeRawBufferPointer, keepsETag: Bool) {
    if let etag = head.fields.first(.etag), keepsETag {
      let value = etag.value.bytes(in: bytes)
      append("ETag: ")
      if value.first != UInt8(ascii: "W") { append("W/") }
      append(value)
      appendCRLF()
    }
    let variesAlready = head.fields.hasMember("accept-encoding", in: .vary, of: bytes)
    if !variesAlready, !head.fields.hasMember("*", in: .vary, of: bytes) { appendField("Vary", "Accept-Encoding") }
  }
}
