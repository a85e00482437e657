extension RequestHead {
  /// Marks what must not go further than this hop (RFC 9110 section 7.6.1): see `markHopByHopFields`. Content-Length and
  /// Transfer-Encoding go too: the writer states the framing anew.
  /// - Parameter keepUpgrade: leaves Upgrade in; the caller then writes `Connection: upgrade` itself.
  public mutating func markHopByHop(in bytes: UnsafeRawBufferPointer, keepUpgrade: Bool) {
    markHopByHopFields(&fields, present, in: bytes, keepUpgrade: keepUpgrade)
  }

  /// Whether the client's connection may serve another request. HTTP/1.0 never: a proxy must not keep such a connection, as a
  /// `keep-alive` may have come through a proxy that did not understand it (RFC 9112 section 9.3).
  public func persists(in bytes: UnsafeRawBufferPointer) -> Bool {
    guard minorVersion == 1 else { return false }
    if contains(.connection), fields.hasMember("close", in: .connection, of: bytes) { return false }
    return !(contains(.proxyConnection) && fields.hasMember("close", in: .proxyConnection, of: bytes))
  }
}

extension ResponseHead {
  /// As for requests; Alt-Svc goes too, as it would lead clients around the proxy.
  public mutating func markHopByHop(in bytes: UnsafeRawBufferPointer, keepUpgrade: Bool) {
    markHopByHopFields(&fields, present, in: bytes, keepUpgrade: keepUpgrade)
    if contains(.altSvc) { fields.drop(.altSvc) }
  }

  /// Whether the origin's connection may carry another request (RFC 9112 section 9.3), the framing aside: a body delimited by the
  /// connection's end rules it out too.
  public func persists(in bytes: UnsafeRawBufferPointer) -> Bool {
    guard contains(.connection) else { return minorVersion == 1 }
    if fields.hasMember("close", in: .connection, of: bytes) { return false }
    return minorVersion == 1 || fields.hasMember("keep-alive", in: .connection, of: bytes)
  }
}

private let hopByHop = FieldSet(
  .connection, .contentLength, .keepAlive, .proxyAuthenticate, .proxyAuthenticationInfo, .proxyAuthorization,
  .proxyConnection, .te, .transferEncoding, .upgrade)

/// What a sender's Connection must not take out of the message (RFC 9110 section 7.6.1: fields meant for all recipients). Without
/// the exceptions a client could strip what the origin's decisions rest on, X-Forwarded-For for one [CVE-2022-31813].
private let endToEnd = FieldSet(
  .authorization, .cacheControl, .contentEncoding, .contentLength, .contentRange, .contentType, .cookie, .date, .expect,
  .forwarded, .host, .location, .maxForwards, .proxyStatus, .range, .setCookie, .te, .trailer, .vary, .via,
  .wwwAuthenticate, .xForwardedFor, .xForwardedHost, .xForwardedProto)

/// Dropped: Connection, Keep-Alive, Proxy-Connection, Proxy-Authorization, Proxy-Authenticate and Proxy-Authentication-Info,
/// Content-Length, Transfer-Encoding, TE unless all it says is `trailers`, Upgrade unless it is kept, and what Connection names but for
/// the exceptions above.
private func markHopByHopFields(
  _ fields: inout ContiguousArray<Field>, _ present: FieldSet, in bytes: UnsafeRawBufferPointer, keepUpgrade: Bool
) {
  guard present.intersects(hopByHop) else { return }
  for index in fields.indices {
    let id = fields[index].id
    guard hopByHop.contains(id) else { continue }
    switch id {
    case .upgrade: fields[index].dropped = !keepUpgrade
    case .te: fields[index].dropped = !fields[index].value.equalsIgnoringCase("trailers", in: bytes)
    default: fields[index].dropped = true
    }
  }
  guard present.contains(.connection) else { return }
  for index in fields.indices where fields[index].id == .connection {
    var options = ListMembers(fields[index].value, in: bytes)
    while let option = options.next() { drop(nominated: option, from: &fields, present, in: bytes) }
  }
}

private func drop(
  nominated option: ByteSlice, from fields: inout ContiguousArray<Field>, _ present: FieldSet, in bytes: UnsafeRawBufferPointer
) {
  let name = option.bytes(in: bytes)
  let id = FieldName(name)
  if id != .other {
    guard present.contains(id), !endToEnd.contains(id), !hopByHop.contains(id) else { return }
    fields.drop(id)
    return
  }
  guard !equalsIgnoringCase(name, "close") else { return }
  for index in fields.indices where fields[index].id == .other {
    if equalsIgnoringCase(fields[index].name.bytes(in: bytes), name) { fields[index].dropped = true }
  }
}

extension FieldSet {
  /// What a trailer section must not bring in, as it would change framing, routing, authentication or the meaning of what has gone before
  /// (RFC 9110 section 6.5.1).
  static let forbiddenInTrailers = FieldSet(
    .acceptEncoding, .altSvc, .authorization, .cacheControl, .connection, .contentEncoding, .contentLength, .contentRange,
    .contentType, .cookie, .expect, .forwarded, .host, .ifMatch, .ifNoneMatch, .ifRange, .keepAlive, .location,
    .maxForwards, .proxyAuthenticate, .proxyAuthenticationInfo, .proxyAuthorization, .proxyConnection, .proxyStatus, .range,
    .retryAfter, .setCookie, .te, .trailer, .transferEncoding, .upgrade, .vary, .via, .wwwAuthenticate, .xForwardedFor,
    .xForwardedHost, .xForwardedProto)
}
