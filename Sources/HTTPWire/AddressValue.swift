/// The value of an address literal, as two words in network order; IPv4 in its IPv4-mapped form (RFC 4291 section 2.5.5.2).
struct AddressValue: Equatable {
  var high: UInt64
  var low: UInt64

  init?(ipv4 text: UnsafeRawBufferPointer) {
    guard isIPv4Literal(text) else { return nil }
    (high, low) = (0, 0xffff << 32 | Self.value(ofIPv4: text[...]))
  }

  init?(ipv6 text: UnsafeRawBufferPointer) {
    guard isIPv6Literal(text) else { return nil }
    let gap = text.indices.dropLast().first { text[$0] == ASCII.colon && text[$0 + 1] == ASCII.colon }
    let front = Self.groups(text[..<(gap ?? text.count)])
    let back = gap.map { Self.groups(text[($0 + 2)...]) } ?? []
    let groups = front + [UInt64](repeating: 0, count: 8 - front.count - back.count) + back
    high = groups[..<4].reduce(0) { $0 << 16 | $1 }
    low = groups[4...].reduce(0) { $0 << 16 | $1 }
  }

  /// Of a valid literal, or a half of one.
  private static func groups(_ text: Slice<UnsafeRawBufferPointer>) -> [UInt64] {
    text.split(separator: ASCII.colon).flatMap { group in
      if group.contains(ASCII.dot) {
        let value = value(ofIPv4: group)
        return [value >> 16, value & 0xffff]
      }
      return [group.reduce(0) { $0 << 4 | UInt64(ASCII.hexValue($1) ?? 0) }]
    }
  }

  private static func value(ofIPv4 text: Slice<UnsafeRawBufferPointer>) -> UInt64 {
    text.split(separator: ASCII.dot).reduce(0) { value, part in
      value << 8 | part.reduce(0) { $0 * 10 + UInt64($1 - ASCII.zero) }
    }
  }
}
