import HTTPWire

/// Text inside of a quoted string (RFC 9110 section 5.6.4).
enum QuotedText {
  /// Bytes that `append(quoted:)` writes, without the quotation marks.
  static func size(_ text: some Sequence<UInt8>) -> Int { text.reduce(0) { $0 + (isSpecial($1) ? 2 : 1) } }

  @inline(__always)
  static func isSpecial(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") }
}

extension ByteWriter {
  /// With quotation marks.
  mutating func append(quoted text: UnsafeRawBufferPointer) {
    append(byte: UInt8(ascii: "\""))
    var start = 0
    for index in 0..<text.count where QuotedText.isSpecial(text[index]) {
      append(UnsafeRawBufferPointer(rebasing: text[start..<index]))
      append(byte: UInt8(ascii: "\\"))
      start = index
    }
    append(UnsafeRawBufferPointer(rebasing: text[start...]))
    append(byte: UInt8(ascii: "\""))
  }

  mutating func append(quoted text: [UInt8]) { text.withUnsafeBytes { append(quoted: $0) } }
}
