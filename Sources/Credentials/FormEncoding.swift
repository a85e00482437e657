/// application/x-www-form-urlencoded, as in RFC 6749 appendix B.
enum FormEncoding {
  static func encode(_ bytes: [UInt8]) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity(bytes.count + bytes.count / 4)
    append(bytes, to: &text)
    return text
  }

  /// `name=value` pairs joined by `&`, in the given order.
  static func encode(_ fields: [(name: String, value: [UInt8])]) -> [UInt8] {
    var text: [UInt8] = []
    for field in fields {
      if !text.isEmpty { text.append(UInt8(ascii: "&")) }
      append(Array(field.name.utf8), to: &text)
      text.append(UInt8(ascii: "="))
      append(field.value, to: &text)
    }
    return text
  }

  private static func append(_ bytes: [UInt8], to text: inout [UInt8]) {
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
        UInt8(ascii: "*"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
        text.append(byte)
      case UInt8(ascii: " "):
        text.append(UInt8(ascii: "+"))
      default:
        text.append(UInt8(ascii: "%"))
        text.append(hexadecimal[Int(byte >> 4)])
        text.append(hexadecimal[Int(byte & 15)])
      }
    }
  }

  private static let hexadecimal = Array("0123456789ABCDEF".utf8)
}
