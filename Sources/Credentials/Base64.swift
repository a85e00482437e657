/// RFC 4648: the standard alphabet (section 4) and the URL-safe one without padding (section 5, as RFC 7515 wants it).
enum Base64 {
  private static let standard = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  private static let urlSafe = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  static func encode(_ bytes: [UInt8]) -> [UInt8] { encode(bytes, standard, padded: true) }

  static func encodeURL(_ bytes: [UInt8]) -> [UInt8] { encode(bytes, urlSafe, padded: false) }

  /// Nil for anything but the canonical padded form: other alphabets, white space, missing padding, bits after the end.
  static func decode(_ text: [UInt8]) -> [UInt8]? {
    guard text.count % 4 == 0 else { return nil }
    var length = text.count
    while length > 0, text.count - length < 2, text[length - 1] == UInt8(ascii: "=") { length -= 1 }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count / 4 * 3)
    var accumulator: UInt32 = 0
    var bits = 0
    for character in text[..<length] {
      guard let value = value(of: character) else { return nil }
      accumulator = accumulator << 6 | UInt32(value)
      bits += 6
      if bits >= 8 {
        bits -= 8
        bytes.append(UInt8(truncatingIfNeeded: accumulator >> UInt32(bits)))
        accumulator &= (1 << UInt32(bits)) - 1
      }
    }
    return accumulator == 0 && bits < 6 ? bytes : nil
  }

  private static func value(of character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - 65
    case UInt8(ascii: "a")...UInt8(ascii: "z"): character - 71
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character + 4
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }

  private static func encode(_ bytes: [UInt8], _ alphabet: [UInt8], padded: Bool) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    var index = 0
    while index < bytes.count {
      let available = min(3, bytes.count - index)
      var group = UInt32(bytes[index]) << 16
      if available > 1 { group |= UInt32(bytes[index + 1]) << 8 }
      if available > 2 { group |= UInt32(bytes[index + 2]) }
      for position in 0...available {
        text.append(alphabet[Int(group >> UInt32(18 - 6 * position)) & 63])
      }
      if padded {
        for _ in available..<3 { text.append(UInt8(ascii: "=")) }
      }
      index += 3
    }
    return text
  }
}
