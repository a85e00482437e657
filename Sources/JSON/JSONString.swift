/// Quoted strings (RFC 8259 section 7), byte by byte; UTF-8 stays unchanged.
public enum JSONString {
  public static func append(_ text: String, to bytes: inout [UInt8]) {
    var text = text
    text.withUTF8 { append($0, to: &bytes) }
  }

  /// - Parameter text: UTF-8.
  public static func append(_ text: UnsafeBufferPointer<UInt8>, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    defer { bytes.append(UInt8(ascii: "\"")) }
    guard text.contains(where: needsCare) else { return bytes.append(contentsOf: text) }
    var isC1 = false
    for (index, byte) in text.enumerated() {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(byte)
      // DEL needs no escape, but affects terminals.
      case 0..<0x20, 0x7f: append(control: byte, to: &bytes)
      // So do U+0080 to U+009F, whose UTF-8 is C2 80 to C2 9F.
      case 0xc2 where index + 1 < text.count && (0x80...0x9f).contains(text[index + 1]): isC1 = true
      case 0x80...0x9f where isC1:
        append(control: byte, to: &bytes)
        isC1 = false
      default: bytes.append(byte)
      }
    }
  }

  /// Other bytes stay as they are, whatever stands beside them.
  private static func needsCare(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte >= 0x7f
  }

  private static func append(control byte: UInt8, to bytes: inout [UInt8]) {
    func digit(_ value: UInt8) -> UInt8 { value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10 }
    for character in "\\u00".utf8 { bytes.append(character) }
    bytes.append(digit(byte >> 4))
    bytes.append(digit(byte & 15))
  }
}
