/// Parses single fields.

public enum Expectation: UInt8, Sendable, Hashable {
  case none
  /// Exactly `100-continue`.
  case `continue`
  /// The answer is 417 (RFC 9110 section 10.1.1).
  case unknown
}

extension RequestHead {
  public func expectation(in bytes: UnsafeRawBufferPointer) -> Expectation {
    guard contains(.expect) else { return .none }
    var result = Expectation.none
    for field in fields where field.id == .expect {
      var members = ListMembers(field.value, in: bytes)
      while let member = members.next() {
        if !member.equalsIgnoringCase("100-continue", in: bytes) { return .unknown }
        // RFC 9110 section 10.1.1: in HTTP/1.0 the expectation is ignored.
        if minorVersion == 1 { result = .continue }
      }
    }
    return result
  }

  /// The first protocol of Upgrade, if Connection names Upgrade and the request is HTTP/1.1 (RFC 9110 section 7.8); else nil.
  public func upgradeToken(in bytes: UnsafeRawBufferPointer) -> ByteSlice? {
    guard minorVersion == 1, contains(.upgrade), fields.hasMember("upgrade", in: .connection, of: bytes) else { return nil }
    return firstUpgrade(fields, in: bytes)
  }

  /// Whether Upgrade has more protocols than one.
  public func offersSeveralUpgrades(in bytes: UnsafeRawBufferPointer) -> Bool {
    var count = 0
    for field in fields where field.id == .upgrade {
      var members = ListMembers(field.value, in: bytes)
      while members.next() != nil { count += 1 }
    }
    return count > 1
  }

  /// Whether the client accepts trailers (TE: trailers).
  public func acceptsTrailers(in bytes: UnsafeRawBufferPointer) -> Bool {
    contains(.te) && fields.hasMember("trailers", in: .te, of: bytes)
  }

  /// Max-Forwards (RFC 9110 section 7.6.2); nil if absent or not a number. For TRACE and OPTIONS only.
  public func maxForwards(in bytes: UnsafeRawBufferPointer) -> Int? {
    guard contains(.maxForwards), let field = fields.first(.maxForwards) else { return nil }
    return decimal(field.value.bytes(in: bytes)).map(Int.init)
  }

  /// Whether a Via field says that the message has passed `pseudonym` (RFC 9110 section 7.6.3).
  public func passed(_ pseudonym: [UInt8], in bytes: UnsafeRawBufferPointer) -> Bool {
    guard contains(.via) else { return false }
    for field in fields where field.id == .via {
      var members = ListMembers(field.value, in: bytes)
      while let member = members.next() {
        if receivedBy(member, in: bytes).equalsIgnoringCase(pseudonym, in: bytes) { return true }
      }
    }
    return false
  }
}

extension ResponseHead {
  /// The protocol that a 101 switches to.
  public func upgradeToken(in bytes: UnsafeRawBufferPointer) -> ByteSlice? {
    guard contains(.upgrade) else { return nil }
    return firstUpgrade(fields, in: bytes)
  }

  /// `text/event-stream`, with parameters or without.
  public func isEventStream(in bytes: UnsafeRawBufferPointer) -> Bool {
    guard contains(.contentType), let field = fields.first(.contentType) else { return false }
    return field.value.hasMediaType("text/event-stream", in: bytes)
  }

  /// Seconds from `now` (Unix time, seconds) until the time in Retry-After; 0 for a date in the past; nil if absent or
  /// malformed (RFC 9110 section 10.2.3).
  public func retryAfter(now: Int64, in bytes: UnsafeRawBufferPointer) -> Int64? {
    guard contains(.retryAfter), let field = fields.first(.retryAfter) else { return nil }
    let text = field.value.bytes(in: bytes)
    if let seconds = decimal(text) { return seconds }
    guard let date = parseHTTPDate(text, now: now) else { return nil }
    return max(0, date - now)
  }
}

extension ByteSlice {
  /// Whether a Content-Type value has this media type, ignoring parameters.
  public func hasMediaType(_ type: StaticString, in head: UnsafeRawBufferPointer) -> Bool {
    let text = bytes(in: head)
    var end = type.utf8CodeUnitCount
    guard text.count >= end, HTTPWire.equalsIgnoringCase(UnsafeRawBufferPointer(rebasing: text[..<end]), type) else {
      return false
    }
    while end < text.count, ASCII.isBlank(text[end]) { end += 1 }
    return end == text.count || text[end] == ASCII.semicolon
  }

  /// Whether a member of a list of named items (Proxy-Status, Cache-Status) is `name`, written as a token or as a quoted
  /// string, ignoring parameters and case: the reading that finds the most.
  public func isListItem(named name: [UInt8], in head: UnsafeRawBufferPointer) -> Bool {
    let text = bytes(in: head)
    var index = 0
    let quoted = text.first == ASCII.quote
    if quoted { index = 1 }
    var matched = 0
    while index < text.count {
      var byte = text[index]
      if quoted {
        if byte == ASCII.quote { break }
        if byte == ASCII.backslash, index + 1 < text.count {
          index += 1
          byte = text[index]
        }
      } else if byte == ASCII.semicolon || ASCII.isBlank(byte) {
        break
      }
      guard matched < name.count, ASCII.lower(byte) == ASCII.lower(name[matched]) else { return false }
      matched += 1
      index += 1
    }
    return matched == name.count
  }
}

private func firstUpgrade(_ fields: ContiguousArray<Field>, in bytes: UnsafeRawBufferPointer) -> ByteSlice? {
  for field in fields where field.id == .upgrade {
    var members = ListMembers(field.value, in: bytes)
    if let first = members.next() { return first }
  }
  return nil
}

/// `received-by` of a Via member: the second word.
private func receivedBy(_ member: ByteSlice, in bytes: UnsafeRawBufferPointer) -> ByteSlice {
  var start = member.start
  while start < member.end, !ASCII.isBlank(bytes[start]) { start += 1 }
  while start < member.end, ASCII.isBlank(bytes[start]) { start += 1 }
  var end = start
  while end < member.end, !ASCII.isBlank(bytes[end]), bytes[end] != UInt8(ascii: "(") { end += 1 }
  return ByteSlice(start, to: end)
}

/// Only digits. A number that overflows becomes the largest number.
func decimal(_ text: UnsafeRawBufferPointer) -> Int64? {
  guard !text.isEmpty else { return nil }
  var value: Int64 = 0
  for byte in text {
    guard ASCII.isDigit(byte) else { return nil }
    let (product, overflow) = value.multipliedReportingOverflow(by: 10)
    let (sum, overflowToo) = product.addingReportingOverflow(Int64(byte - ASCII.zero))
    value = overflow || overflowToo ? .max : sum
  }
  return value
}
