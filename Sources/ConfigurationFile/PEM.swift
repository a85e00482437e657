/// Textual encodings of certificates, keys and CRLs (RFC 7468), read leniently: text around the blocks, any line length.
enum PEM {
  struct Block: Equatable {
    var label: String
    var der: [UInt8]
    /// Header fields, as old encrypted keys have them (RFC 1421): the content is not DER then.
    var isEncrypted: Bool
  }
  struct Malformed: Error { var message: String }

  private static let begin = Array("-----BEGIN ".utf8)
  private static let end = Array("-----END ".utf8)
  private static let dashes = Array("-----".utf8)

  static func isPEM(_ bytes: [UInt8]) -> Bool {
    bytes.split(separator: 0x0a).contains { $0.starts(with: begin) }
  }

  static func blocks(_ bytes: [UInt8]) throws(Malformed) -> [Block] {
    var blocks: [Block] = []
    var open: (label: ArraySlice<UInt8>, body: [UInt8], isEncrypted: Bool)?
    for var line in bytes.split(whereSeparator: { $0 == 0x0a || $0 == 0x0d }) {
      while let last = line.last, last == 0x20 || last == 0x09 { line.removeLast() }
      if line.starts(with: begin), line.suffix(5).elementsEqual(dashes), line.count >= begin.count + 5 {
        guard open == nil else { throw Malformed(message: "a PEM block without an end") }
        open = (line.dropFirst(begin.count).dropLast(5), [], false)
      } else if line.starts(with: end) {
        guard let block = open, line.dropFirst(end.count).elementsEqual(Array(block.label) + dashes) else {
          throw Malformed(message: "the end of a PEM block that did not begin")
        }
        let label = String(decoding: block.label, as: UTF8.self)
        guard let der = block.isEncrypted ? [] : Base64.decode(block.body) else {
          throw Malformed(message: "a PEM block that is no base64")
        }
        blocks.append(Block(label: label, der: der, isEncrypted: block.isEncrypted))
        open = nil
      } else if open != nil {
        if line.contains(UInt8(ascii: ":")) {
          open?.isEncrypted = true
        } else {
          open?.body += line
        }
      }
    }
    guard open == nil else { throw Malformed(message: "a PEM block without an end") }
    return blocks
  }

  static func encode(_ der: [UInt8], label: String) -> [UInt8] {
    var text = "-----BEGIN \(label)-----\n"
    let body = Array(Base64.encode(der).utf8)
    for start in stride(from: 0, to: body.count, by: 64) {
      text += String(decoding: body[start..<min(start + 64, body.count)], as: UTF8.self) + "\n"
    }
    return Array((text + "-----END \(label)-----\n").utf8)
  }
}

/// RFC 4648 section 4.
enum Base64 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  /// nil where the text is not base64 with its padding; unused bits must be zero, so that one value has one text.
  static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    var bits: UInt32 = 0
    var digits = 0
    var padding = 0
    for byte in text {
      if byte == UInt8(ascii: "=") {
        padding += 1
        continue
      }
      guard padding == 0, let digit = digit(byte) else { return nil }
      bits = bits << 6 | digit
      digits += 1
      if digits % 4 == 0 { bytes += [UInt8(bits >> 16 & 0xff), UInt8(bits >> 8 & 0xff), UInt8(bits & 0xff)] }
    }
    switch digits % 4 {
    case 0: return padding == 0 ? bytes : nil
    case 2: return padding == 2 && bits & 0xf == 0 ? bytes + [UInt8(bits >> 4 & 0xff)] : nil
    case 3: return padding == 1 && bits & 0x3 == 0 ? bytes + [UInt8(bits >> 10 & 0xff), UInt8(bits >> 2 & 0xff)] : nil
    default: return nil
    }
  }

  private static func digit(_ byte: UInt8) -> UInt32? {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte) - 0x41
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(byte) - 0x61 + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte) - 0x30 + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }

  static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      var bits: UInt32 = 0
      for i in 0..<3 { bits = bits << 8 | (i < group.count ? UInt32(group[start + i]) : 0) }
      for i in 0..<4 { text.append(i <= group.count ? alphabet[Int(bits >> UInt32(18 - 6 * i) & 63)] : UInt8(ascii: "=")) }
    }
    return String(decoding: text, as: UTF8.self)
  }
}
