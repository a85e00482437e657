/// `host [":" port]` of a Host field, of CONNECT and of an absolute target. Strict, as every decision depends on a single
/// reading of it.
///
/// A name has letters, digits, `-`, `_` and dots; labels of 1 to 63 bytes, 253 bytes in all. Percent-encoding and everything
/// else that RFC 3986 allows is refused, as resolvers disagree about it. A name that ends in a number must be an IPv4 address
/// of four plain decimal parts: the decimal, octal, hexadecimal and shortened spellings of `inet_aton` could evade rules for
/// addresses.
public struct Authority: Sendable, Hashable {
  public enum HostKind: UInt8, Sendable, Hashable { case name, ipv4, ipv6 }
  public var kind: HostKind
  /// Without the brackets of an IPv6 literal and without a trailing dot; case as received.
  public var host: ByteSlice
  /// nil if absent or empty.
  public var port: UInt16?
  /// The whole authority as received.
  public var text: ByteSlice

  /// `host[:port]`, without a default port; IPv6 in brackets.
  public static func text(host: String, port: UInt16, defaultPort: UInt16) -> String {
    let name = host.utf8.contains(ASCII.colon) ? "[\(host)]" : host
    return port == defaultPort ? name : "\(name):\(port)"
  }

  /// - Throws: `userinfo`, `hostName`, `hostAddress` or `port`.
  public init(_ text: ByteSlice, in head: UnsafeRawBufferPointer) throws(HeadError) {
    let bytes = text.bytes(in: head)
    self.text = text
    guard !bytes.isEmpty else { throw .hostName }
    if firstIndex(of: ASCII.at, in: bytes) != nil { throw .userinfo }
    guard let hostEnd = Self.hostEnd(of: bytes) else { throw .hostAddress }
    if bytes[0] == ASCII.openBracket {
      guard isIPv6Literal(UnsafeRawBufferPointer(rebasing: bytes[1..<(hostEnd - 1)])) else { throw .hostAddress }
      kind = .ipv6
      host = ByteSlice(start: text.start + 1, count: hostEnd - 2)
    } else {
      var length = hostEnd
      if length > 1, bytes[length - 1] == ASCII.dot { length -= 1 }
      kind = try hostKind(UnsafeRawBufferPointer(rebasing: bytes[..<length]))
      host = ByteSlice(start: text.start, count: length)
    }
    port = nil
    if hostEnd < bytes.count {
      guard bytes[hostEnd] == ASCII.colon else { throw .hostName }
      port = try parsePort(UnsafeRawBufferPointer(rebasing: bytes[(hostEnd + 1)...]))
    }
  }
}

extension Authority {
  /// The same authority at another place of the head: `text` has equal bytes.
  func moved(to text: ByteSlice) -> Authority {
    var moved = self
    moved.host = ByteSlice(start: host.start - self.text.start + text.start, count: host.count)
    moved.text = text
    return moved
  }

  /// Where the host of `host[:port]` ends: after the bracket of an IPv6 literal, or at the first colon.
  /// - Parameter bytes: not empty.
  /// - Returns: nil if a bracket is not closed.
  @inline(__always)
  public static func hostEnd(of bytes: UnsafeRawBufferPointer) -> Int? {
    if bytes[0] == ASCII.openBracket { return bytes.firstIndex(of: ASCII.closeBracket).map { $0 + 1 } }
    return firstIndex(of: ASCII.colon, in: bytes) ?? bytes.count
  }
}

/// nil for an empty port, which means the scheme's port (RFC 3986 section 3.2.3). Port 0 is invalid.
private func parsePort(_ digits: UnsafeRawBufferPointer) throws(HeadError) -> UInt16? {
  guard !digits.isEmpty else { return nil }
  guard digits.count <= 5 else { throw .port }
  var value: UInt32 = 0
  for byte in digits {
    guard ASCII.isDigit(byte) else { throw .port }
    value = value * 10 + UInt32(byte - ASCII.zero)
  }
  guard let port = UInt16(exactly: value), port > 0 else { throw .port }
  return port
}

private func hostKind(_ host: UnsafeRawBufferPointer) throws(HeadError) -> Authority.HostKind {
  guard 1...253 ~= host.count else { throw .hostName }
  var labelStart = 0
  while true {
    var end = labelStart
    while end < host.count, isHostByte(host[end]) { end &+= 1 }
    guard 1...63 ~= end - labelStart else { throw .hostName }
    if end == host.count { break }
    guard host[end] == ASCII.dot else { throw .hostName }
    labelStart = end + 1
  }
  guard isNumber(UnsafeRawBufferPointer(rebasing: host[labelStart...])) else { return .name }
  guard isIPv4Literal(host) else { throw .hostAddress }
  return .ipv4
}

@inline(__always)
private func isHostByte(_ byte: UInt8) -> Bool {
  ASCII.isLetter(byte) || ASCII.isDigit(byte) || byte == ASCII.hyphen || byte == ASCII.underscore
}

/// Whether `inet_aton` accepts the label as a number: decimal, octal or 0x.
private func isNumber(_ label: UnsafeRawBufferPointer) -> Bool {
  if label.allSatisfy(ASCII.isDigit) { return true }
  guard label.count >= 2, label[0] == ASCII.zero, label[1] | 0x20 == UInt8(ascii: "x") else { return false }
  return label[2...].allSatisfy { ASCII.hexValue($0) != nil }
}

/// Four decimal numbers of 0...255 without leading zeros (RFC 3986 section 3.2.2).
func isIPv4Literal(_ text: UnsafeRawBufferPointer) -> Bool {
  var parts = 0
  var index = 0
  while true {
    let start = index
    var value = 0
    while index < text.count, ASCII.isDigit(text[index]), index - start < 4 {
      value = value * 10 + Int(text[index] - ASCII.zero)
      index += 1
    }
    guard 1...3 ~= index - start, value <= 255, index - start == 1 || text[start] != ASCII.zero else { return false }
    parts += 1
    if index == text.count { return parts == 4 }
    guard text[index] == ASCII.dot, parts < 4 else { return false }
    index += 1
  }
}

/// The address between the brackets (RFC 3986 section 3.2.2); no zone, no IPvFuture.
func isIPv6Literal(_ text: UnsafeRawBufferPointer) -> Bool {
  var groups = 0
  var compressed = false
  var index = 0
  guard text.count >= 2 else { return false }
  if text[0] == ASCII.colon {
    guard text[1] == ASCII.colon else { return false }
    compressed = true
    index = 2
    if index == text.count { return true }
  }
  while true {
    let start = index
    while index < text.count, index - start < 5, ASCII.hexValue(text[index]) != nil { index += 1 }
    if index < text.count, text[index] == ASCII.dot {
      guard isIPv4Literal(UnsafeRawBufferPointer(rebasing: text[start...])) else { return false }
      groups += 2
      break
    }
    guard 1...4 ~= index - start else { return false }
    groups += 1
    if index == text.count { break }
    guard text[index] == ASCII.colon else { return false }
    index += 1
    guard index < text.count else { return false }
    if text[index] == ASCII.colon {
      guard !compressed else { return false }
      compressed = true
      index += 1
      if index == text.count { break }
    }
  }
  return compressed ? groups <= 7 : groups == 8
}
