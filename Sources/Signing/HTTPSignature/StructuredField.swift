import Crypto

/// Serialises structured field values (RFC 9651 section 4.1): what signatures need of it.
enum StructuredField {
  /// A string, with its quotation marks (section 4.1.6).
  /// - Parameter text: visible ASCII and spaces.
  static func append(string text: some Sequence<UInt8>, to output: inout [UInt8]) {
    output.append(UInt8(ascii: "\""))
    for byte in text {
      if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { output.append(UInt8(ascii: "\\")) }
      output.append(byte)
    }
    output.append(UInt8(ascii: "\""))
  }

  /// A byte sequence (section 4.1.8).
  static func append(bytes: [UInt8], to output: inout [UInt8]) {
    output.append(UInt8(ascii: ":"))
    output.append(contentsOf: Base64.encode(bytes))
    output.append(UInt8(ascii: ":"))
  }
}
