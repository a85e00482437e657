/// application/x-www-form-urlencoded.
enum Form {
  /// The last value of a name wins.
  static func decode(_ body: [UInt8]) -> [String: String] {
    var result: [String: String] = [:]
    for pair in body.split(separator: UInt8(ascii: "&")) {
      let name = pair.prefix { $0 != UInt8(ascii: "=") }
      result[text(name)] = text(pair.dropFirst(name.count + 1))
    }
    return result
  }

  /// Whether a name comes twice, which a request must not have (RFC 6749 section 3.1); `resource` may (RFC 8707 section 2).
  static func hasRepeatedName(_ body: [UInt8]) -> Bool {
    let names = body.split(separator: UInt8(ascii: "&")).map { text($0.prefix { $0 != UInt8(ascii: "=") }) }
    let single = names.filter { $0 != "resource" }
    return Set(single).count < single.count
  }

  static func text(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: Self.bytes(bytes, spaceForPlus: true), as: UTF8.self)
  }

  /// Percent-decoded.
  static func bytes(_ bytes: ArraySlice<UInt8>, spaceForPlus: Bool) -> [UInt8] {
    var result: [UInt8] = []
    var index = bytes.startIndex
    while index < bytes.endIndex {
      let byte = bytes[index]
      if byte == UInt8(ascii: "%"), index + 2 < bytes.endIndex,
        let value = UInt8(String(decoding: bytes[(index + 1)...(index + 2)], as: UTF8.self), radix: 16)
      {
        result.append(value)
        index += 3
      } else {
        result.append(spaceForPlus && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
        index += 1
      }
    }
    return result
  }

  /// - Parameter url: with or without a query of its own.
  static func append(_ fields: [(name: String, value: String)], to url: String) -> String {
    let text = fields.map { "\($0.name)=\(encode($0.value))" }.joined(separator: "&")
    return url + (url.contains("?") ? "&" : "?") + text
  }

  private static func encode(_ text: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    let bytes = text.utf8.flatMap { byte -> [UInt8] in
      switch byte {
      case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2d, 0x2e, 0x5f, 0x7e: [byte]
      default: [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
