extension RequestHead {
  /// Marks the fields that belong to this hop as dropped (RFC 9110 section 7.6.1): see `markHopByHopFields`. Also
  /// Content-Length and Transfer-Encoding, as the writer adds new framing.
  /// - Parameter keepUpgrade: keeps Upgrade; the caller then writes `Connection: upgrade`.
  public mutating func markHopByHop(in bytes: UnsafeRawBufferPointer, keepUpgrade: Bool) {
    markHopByHopFields(&fields, present, in: bytes, keepUpgrade: keepUpgrade)
  }

  /// Whether the client's connection may serve another request. Never for HTTP/1.0: a proxy must not keep such a connection, as
  /// `keep-alive` may come from another proxy that does not understand it (RFC 9112 section 9.3).
  public func persists(in bytes: UnsafeRawBufferPointer) -> Bool {
    guard minorVersion == 1 else { return false }
    if contains(.connection), fields.hasMember("close", in: .connection, of: bytes) { return false }
    return !(contains(.proxyConnection) && fields.hasMember("close", in: .proxyConnection, of: bytes))
  }
}

extension ResponseHead {
  /// Like the function for requests. Also drops Alt-Svc, which would lead clients around the proxy.
  public mutating func markHopByHop(in bytes: UnsafeRawBufferPointer, keepUpgrade: Bool) {
    markHopByHopFields(&fields, present, in: bytes, keepUpgrade: keepUpgrade)
    if contains(.altSvc) { fields.drop(.altSvc) }
  }

  /// Whether the origin's connection may carry another request (RFC 9112 section 9.3), apart from framing: a body that the
  /// connection's end delimits also forbids it.
  public func persists(in bytes: UnsafeRawBufferPointer) -> Bool {
    guard contains(.connection) else { return minorVersion == 1 }
    if fields.hasMember("close", in: .connection, of: bytes) { return false }
    return minorVersion == 1 || fields.hasMember("keep-alive", in: .connection, of: bytes)
  }
}

private let hopByHop = FieldSet(
  .connection, .contentLength, .http2Settings, .keepAlive, .proxyAuthenticate, .proxyAuthenticationInfo, .proxyAuthorization,
  .proxyConnection, .te, .transferEncoding, .upgrade)

/// Fields that a sender's Connection cannot remove (RFC 9110 section 7.6.1: fields meant for all recipients). Without this list
/// a client could remove fields that an origin's decisions depend on, such as X-Forwarded-For [CVE-2022-31813].
private let endToEnd = FieldSet(
  .authorization, .cacheControl, .contentEncoding, .contentLength, .contentRange, .contentType, .cookie, .date, .expect,
  .forwarded, .host, .location, .maxForwards, .proxyStatus, .range, .setCookie, .te, .trailer, .vary, .via,
  .wwwAuthenticate, .xForwardedFor, .xForwardedHost, .xForwardedProto)

/// Drops Connection, Keep-Alive, Proxy-Connection, Proxy-Authorization, Proxy-Authenticate, Proxy-Authentication-Info, HTTP2-Settings,
/// Content-Length and Transfer-Encoding; TE unless it is just `trailers`; Upgrade unless the caller keeps it; and the fields
/// that Connection names, with the exceptions above.
private func markHopByHopFields(
  _ fields: inout ContiguousArray<Field>, _ present: FieldSet, in bytes: UnsafeRawBufferPointer, keepUpgrade: Bool
) {
  guard present.intersects(hopByHop) else { return }
  // One check of the array's owners, instead of one for each field.
  fields.withUnsafeMutableBufferPointer { fields in
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
      while let option = options.next() { drop(nominated: option, from: fields, present, in: bytes) }
    }
  }
}

private func drop(
  nominated option: ByteSlice, from fields: UnsafeMutableBufferPointer<Field>, _ present: FieldSet,
  in bytes: UnsafeRawBufferPointer
) {
  let name = option.bytes(in: bytes)
  let id = FieldName(name)
  if id != .other {
    guard present.contains(id), !endToEnd.contains(id), !hopByHop.contains(id) else { return }
    for index in fields.indices where fields[index].id == id { fields[index].dropped = true }
    return
  }
  guard !equalsIgnoringCase(name, "close") else { return }
  for index in fields.indices where fields[index].id == .other {
    if equalsIgnoringCase(fields[index].name.bytes(in: bytes), name) { fields[index].dropped = true }
  }
}
