// Which trailers pass. `ChunkedDecoder` reads the section behind a chunked body, in both directions, and marks here what does not go on;
// the request's way to the origin also drops the field of the entry's credential (`dropTrailers`). Both ways drop what the entry's rules
// for heads take out or write (`markTrailers`), and an answer's way URLs that a head would have in another form.

extension FieldSet {
  /// Fields that a trailer section must not contain, as they would change framing, routing, authentication or the meaning of
  /// earlier parts (RFC 9110 section 6.5.1).
  fileprivate static let forbiddenInTrailers = FieldSet(
    .acceptEncoding, .altSvc, .authorization, .cacheControl, .connection, .contentEncoding, .contentLength, .contentRange,
    .contentType, .cookie, .expect, .forwarded, .host, .http2Settings, .ifMatch, .ifModifiedSince, .ifNoneMatch, .ifRange,
    .ifUnmodifiedSince, .keepAlive, .location, .maxForwards, .pragma, .proxyAuthenticate, .proxyAuthenticationInfo,
    .proxyAuthorization, .proxyConnection, .proxyStatus, .range, .retryAfter, .setCookie, .te, .trailer, .transferEncoding,
    .upgrade, .vary, .via, .wwwAuthenticate, .xForwardedFor, .xForwardedHost, .xForwardedProto)
}

extension ContiguousArray<Field> {
  mutating func dropForbiddenInTrailers() {
    for index in indices where FieldSet.forbiddenInTrailers.contains(self[index].id) { self[index].dropped = true }
  }
}

extension ChunkedDecoder {
  /// Marks trailers of that name as dropped, ignoring case and `_` against `-`.
  public mutating func dropTrailers(named name: [UInt8]) {
    _ = trailerBytes.withUnsafeBytes { trailers.drop(named: name, in: $0) }
  }

  /// Lets `mark` mark trailers as dropped; it gets the bytes that they refer to.
  public mutating func markTrailers(_ mark: (inout ContiguousArray<Field>, UnsafeRawBufferPointer) -> Void) {
    trailerBytes.withUnsafeBytes { mark(&trailers, $0) }
  }
}

extension ByteWriter {
  /// The end of a chunked body, with the decoder's trailers that are not dropped. Needs `decoder.trailers.keptSize` + 5 bytes.
  public mutating func appendLastChunk(trailersOf decoder: borrowing ChunkedDecoder) {
    append("0\r\n")
    decoder.trailerBytes.withUnsafeBytes { append(fieldsOf: decoder.trailers, in: $0) }
    appendCRLF()
  }
}
