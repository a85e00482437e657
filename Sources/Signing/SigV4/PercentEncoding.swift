import Forwarding

/// Percent-encoding as AWS canonical forms have it: everything but unreserved characters (RFC 3986 section 2.3), hexadecimal digits in
/// upper case.
extension [UInt8] {
  mutating func append(ascii text: StaticString) {
    append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  mutating func append(encoding byte: UInt8) {
    if isUnreserved(byte) {
      append(byte)
    } else {
      append(UInt8(ascii: "%"))
      append(hexDigits[Int(byte >> 4)])
      append(hexDigits[Int(byte & 15)])
    }
  }

  /// Decodes, then encodes. `+` is a plus.
  mutating func append(encodingAgain bytes: UnsafeRawBufferPointer) {
    var index = 0
    while index < bytes.count {
      let (byte, width) = decodedByte(at: index, in: bytes)
      append(encoding: byte)
      index += width
    }
  }

  /// Lower-case hexadecimal digits.
  mutating func append(hex bytes: [UInt8]) {
    for byte in bytes {
      append(lowerHexDigits[Int(byte >> 4)])
      append(lowerHexDigits[Int(byte & 15)])
    }
  }
}

@inline(__always)
func isUnreserved(_ byte: UInt8) -> Bool {
  switch byte {
  case 0x41...0x5a, 0x61...0x7a, 0x30...0x39, 0x2d, 0x2e, 0x5f, 0x7e: true
  default: false
  }
}

private let hexDigits = Array("0123456789ABCDEF".utf8)
private let lowerHexDigits = Array("0123456789abcdef".utf8)
