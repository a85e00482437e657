import Crypto

/// Textual encodings of certificates, keys and CRLs (RFC 7468), read leniently: text around the blocks, any line length.
enum PEM {
  struct Block: Equatable {
    var label: String
    var der: [UInt8]
    /// The block has header fields, as old encrypted keys do (RFC 1421); then its content is not DER.
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
          throw Malformed(message: "the end of a PEM block without its beginning")
        }
        let label = String(decoding: block.label, as: UTF8.self)
        guard let der = block.isEncrypted ? [] : Base64.decode(block.body) else {
          throw Malformed(message: "a PEM block that is not base64")
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
    let body = Base64.encode(der)
    for start in stride(from: 0, to: body.count, by: 64) {
      text += String(decoding: body[start..<min(start + 64, body.count)], as: UTF8.self) + "\n"
    }
    return Array((text + "-----END \(label)-----\n").utf8)
  }
}
