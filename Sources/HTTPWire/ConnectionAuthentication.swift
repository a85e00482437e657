/// NTLM and Negotiate authenticate a connection, not a request (RFC 4559 section 6): an authentication applies to all later
/// requests on the connection.

extension RequestHead {
  /// Whether a forwarded Authorization uses NTLM or Negotiate.
  @inlinable @inline(__always)
  public func authenticatesConnection(in bytes: UnsafeRawBufferPointer) -> Bool {
    present.contains(.authorization) && offersIdentity(in: bytes)
  }

  @usableFromInline
  func offersIdentity(in bytes: UnsafeRawBufferPointer) -> Bool {
    fields.contains { $0.id == .authorization && !$0.dropped && speaksOfConnection($0.value, in: bytes) }
  }
}

extension ResponseHead {
  /// Whether a challenge, or the final message after one, belongs to NTLM or Negotiate. One that was dropped is the proxy's own.
  @inlinable @inline(__always)
  public func authenticatesConnection(in bytes: UnsafeRawBufferPointer) -> Bool {
    present.contains(.wwwAuthenticate) && asksForIdentity(in: bytes)
  }

  @usableFromInline
  func asksForIdentity(in bytes: UnsafeRawBufferPointer) -> Bool {
    for field in fields where field.id == .wwwAuthenticate && !field.dropped {
      // Ignores quotation marks, so that they hide no member: one challenge too many costs a reuse, one too few leaks another
      // client's identity.
      var members = ListMembers(field.value, in: bytes)
      while let member = members.next() {
        if speaksOfConnection(member, in: bytes) { return true }
      }
    }
    return false
  }
}

/// `scheme` or `scheme token`.
private func speaksOfConnection(_ value: ByteSlice, in head: UnsafeRawBufferPointer) -> Bool {
  let bytes = value.bytes(in: head)
  let end = bytes.firstIndex { !ASCII.isToken($0) } ?? bytes.count
  let scheme = UnsafeRawBufferPointer(rebasing: bytes[..<end])
  return equalsIgnoringCase(scheme, "ntlm") || equalsIgnoringCase(scheme, "negotiate")
}
