import HTTPWire

/// What an origin says in the fields of WWW-Authenticate about SPNEGO (RFC 4559 sections 4 and 5), or a proxy in its own.
public enum NegotiateAnswer: Sendable, Hashable {
  /// Nothing.
  case absent
  /// `Negotiate`.
  case bare
  /// `Negotiate` and a token in base64, as a range over the head.
  case token(ByteSlice)
  /// `Negotiate` and something else.
  case malformed
  /// It offers NTLM, and not Negotiate.
  case onlyNTLM

  public init(
    _ head: borrowing ResponseHead, in bytes: UnsafeRawBufferPointer, named name: FieldName = .wwwAuthenticate
  ) {
    self = .absent
    guard head.contains(name) else { return }
    for field in head.fields where field.id == name {
      // Other challenges' quotation marks may hide commas; what is behind one of those names no scheme of ours in practice, and would
      // be a malformed token at worst.
      var members = ListMembers(field.value, in: bytes)
      while let member = members.next() {
        guard let found = Self.read(member, bytes) else { continue }
        if case .onlyNTLM = found {
          if self == .absent { self = .onlyNTLM }
        } else {
          self = found
          return
        }
      }
    }
  }

  /// Takes all tokens out of a 401's challenges, and leaves `Negotiate` and all other challenges: they are for who authenticated, which the
  /// app did not.
  public static func hideToken(in head: inout ResponseHead, _ bytes: UnsafeRawBufferPointer) {
    var index = -1
    // Fields that are appended here are read as well.
    while index + 1 < head.fields.count {
      index += 1
      guard head.fields[index].id == .wwwAuthenticate else { continue }
      let field = head.fields[index]
      var members = ListMembers(field.value, in: bytes)
      while let member = members.next() {
        guard case .token? = read(member, bytes) else { continue }
        head.fields[index].value = ByteSlice(
          start: field.value.start, count: member.start + "Negotiate".utf8.count - field.value.start)
        // What follows goes behind a field name of its own.
        if let next = members.next() {
          var rest = field
          rest.value = ByteSlice(start: next.start, count: field.value.start + field.value.count - next.start)
          head.fields.append(rest)
        }
        break
      }
    }
  }

  private static func read(_ member: ByteSlice, _ bytes: UnsafeRawBufferPointer) -> NegotiateAnswer? {
    let value = member.bytes(in: bytes)
    let end = value.firstIndex { $0 == 0x20 || $0 == 0x09 } ?? value.count
    let scheme = ByteSlice(start: member.start, count: end)
    if scheme.equalsIgnoringCase("ntlm", in: bytes) { return .onlyNTLM }
    guard scheme.equalsIgnoringCase("negotiate", in: bytes) else { return nil }
    var start = end
    while start < value.count, value[start] == 0x20 || value[start] == 0x09 { start += 1 }
    if start == value.count { return .bare }
    guard value[start...].allSatisfy(isBase64) else { return .malformed }
    return .token(ByteSlice(start: member.start + start, count: value.count - start))
  }

  private static func isBase64(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="): true
    default: false
    }
  }
}
