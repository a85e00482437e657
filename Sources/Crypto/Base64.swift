/// RFC 4648 sections 4 and 5.
public enum Base64 {
  private static let standard = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  private static let urlSafe = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  /// With padding.
  public static func encode(_ bytes: [UInt8]) -> [UInt8] { encode(bytes, standard, padded: true) }

  /// The alphabet for URLs, without padding (RFC 7515 section 2).
  public static func encodeURL(_ bytes: [UInt8]) -> [UInt8] { encode(bytes, urlSafe, padded: false) }

  /// Requires padding, and zero in the spare bits of the last digit, so that each value has one encoding; else nil.
  public static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
    var digits = Array(text)
    guard digits.count % 4 == 0 else { return nil }
    for _ in 0..<2 where digits.last == UInt8(ascii: "=") { digits.removeLast() }
    return decode(digits, UInt8(ascii: "+"), UInt8(ascii: "/"))
  }

  /// The alphabet for URLs, without padding; else nil.
  public static func decodeURL(_ text: some Sequence<UInt8>) -> [UInt8]? {
    decode(Array(text), UInt8(ascii: "-"), UInt8(ascii: "_"))
  }

  private static func encode(_ bytes: [UInt8], _ alphabet: [UInt8], padded: Bool) -> [UInt8] {
    let rest = bytes.count % 3
    let whole = bytes.count - rest
    let tail = rest == 0 ? 0 : padded ? 4 : rest + 1
    return [UInt8](unsafeUninitializedCapacity: whole / 3 * 4 + tail) { digits, count in
      bytes.withUnsafeBufferPointer { bytes in
        alphabet.withUnsafeBufferPointer { alphabet in
          var index = 0
          while index < whole {
            let bits = UInt32(bytes[index]) << 16 | UInt32(bytes[index + 1]) << 8 | UInt32(bytes[index + 2])
            for digit in 0..<4 { digits[count + digit] = alphabet[Int(bits >> (18 - 6 * UInt32(digit)) & 63)] }
            index += 3
            count += 4
          }
          guard rest > 0 else { return }
          let bits = UInt32(bytes[index]) << 16 | (rest > 1 ? UInt32(bytes[index + 1]) << 8 : 0)
          for digit in 0..<tail {
            digits[count + digit] = digit > rest ? UInt8(ascii: "=") : alphabet[Int(bits >> (18 - 6 * UInt32(digit)) & 63)]
          }
          count += tail
        }
      }
    }
  }

  private static func decode(_ digits: [UInt8], _ digit62: UInt8, _ digit63: UInt8) -> [UInt8]? {
    guard digits.count % 4 != 1 else { return nil }
    var result: [UInt8] = []
    result.reserveCapacity(digits.count * 3 / 4)
    var bits: UInt32 = 0
    var count = 0
    for digit in digits {
      let value: UInt8
      switch digit {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = digit - UInt8(ascii: "A")
      case UInt8(ascii: "a")...UInt8(ascii: "z"): value = digit - UInt8(ascii: "a") + 26
      case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0") + 52
      case digit62: value = 62
      case digit63: value = 63
      default: return nil
      }
      bits = bits << 6 | UInt32(value)
      count += 6
      if count >= 8 {
        count -= 8
        result.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
        bits &= (1 << UInt32(count)) - 1
      }
    }
    return bits == 0 ? result : nil
  }
}
