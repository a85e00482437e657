/// An element of the XML that AWS's query APIs write. Refuses what they never write: document types and with them entities of one's
/// own, processing instructions, CDATA, text beside elements.
struct XMLElement: Sendable, Hashable {
  /// Without its prefix.
  var name: String
  /// Empty if it has children.
  var text = ""
  var children: [XMLElement] = []

  /// Bytes, levels and elements of a document.
  static let longest = 131_072
  static let deepest = 16
  static let most = 1_000

  struct Malformed: Error, Hashable {
    let why: String
  }

  static func parse(_ bytes: [UInt8]) throws(Malformed) -> XMLElement {
    guard bytes.count <= longest else { throw Malformed(why: "it is too long") }
    guard String(validating: bytes, as: UTF8.self) != nil else { throw Malformed(why: "it is not UTF-8") }
    var parser = XMLParser(bytes: bytes)
    return try parser.document()
  }

  /// The child of this name; nil if there is none, or more than one.
  func only(_ name: String) -> XMLElement? {
    let found = children.filter { $0.name == name }
    return found.count == 1 ? found[0] : nil
  }
}

private struct XMLParser {
  let bytes: [UInt8]
  private var index = 0
  private var count = 0

  init(bytes: [UInt8]) { self.bytes = bytes }

  private typealias Malformed = XMLElement.Malformed

  mutating func document() throws(XMLElement.Malformed) -> XMLElement {
    if starts(with: [0xef, 0xbb, 0xbf]) { index += 3 }
    skipSpace()
    if starts(with: Array("<?xml ".utf8)) {
      try skip(through: Array("?>".utf8))
      skipSpace()
    }
    guard next == UInt8(ascii: "<") else { throw Malformed(why: index == bytes.count ? "it is empty" : "it has no element") }
    let root = try element(depth: 0)
    skipSpace()
    guard index == bytes.count else { throw Malformed(why: "something follows its last element") }
    return root
  }

  private mutating func element(depth: Int) throws(XMLElement.Malformed) -> XMLElement {
    count += 1
    guard depth < XMLElement.deepest, count <= XMLElement.most else { throw Malformed(why: "it has too many elements") }
    try expect(UInt8(ascii: "<"))
    let name = try self.name()
    if try attributes() { return XMLElement(name: Self.local(name)) }
    var found = XMLElement(name: Self.local(name))
    var text: [UInt8] = []
    while true {
      guard let byte = next else { throw Malformed(why: "it ends too early") }
      switch byte {
      case UInt8(ascii: "<") where index + 1 < bytes.count && bytes[index + 1] == UInt8(ascii: "/"):
        index += 2
        guard try self.name() == name else { throw Malformed(why: "its elements are not nested") }
        skipSpace()
        try expect(UInt8(ascii: ">"))
        guard found.children.isEmpty || text.allSatisfy(Self.isSpace) else {
          throw Malformed(why: "it has text beside elements")
        }
        if found.children.isEmpty { found.text = Self.trimmed(text) }
        return found
      case UInt8(ascii: "<"): found.children.append(try element(depth: depth + 1))
      case UInt8(ascii: "&"): text += try reference()
      default:
        text.append(byte)
        index += 1
      }
    }
  }

  /// Skips attributes, which say nothing here.
  /// - Returns: the element ends here, too.
  private mutating func attributes() throws(XMLElement.Malformed) -> Bool {
    while true {
      let hadSpace = skipSpace()
      switch next {
      case UInt8(ascii: ">"):
        index += 1
        return false
      case UInt8(ascii: "/"):
        index += 1
        try expect(UInt8(ascii: ">"))
        return true
      case nil: throw Malformed(why: "it ends too early")
      default:
        guard hadSpace else { throw Malformed(why: "an element has a bad name") }
        _ = try name()
        skipSpace()
        try expect(UInt8(ascii: "="))
        skipSpace()
        guard let quote = next, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
          throw Malformed(why: "an attribute has no value")
        }
        index += 1
        while let byte = next, byte != quote {
          guard byte != UInt8(ascii: "<") else { throw Malformed(why: "an attribute has no end") }
          index += 1
        }
        try expect(quote)
      }
    }
  }

  /// One of the five entities that XML itself has, or a number.
  private mutating func reference() throws(XMLElement.Malformed) -> [UInt8] {
    index += 1
    let start = index
    while let byte = next, byte != UInt8(ascii: ";"), index - start < 9 { index += 1 }
    let name = String(decoding: bytes[start..<index], as: UTF8.self)
    try expect(UInt8(ascii: ";"))
    switch name {
    case "amp": return [UInt8(ascii: "&")]
    case "lt": return [UInt8(ascii: "<")]
    case "gt": return [UInt8(ascii: ">")]
    case "quot": return [UInt8(ascii: "\"")]
    case "apos": return [UInt8(ascii: "'")]
    default:
      let digits = name.dropFirst(name.hasPrefix("#x") ? 2 : 1)
      guard name.hasPrefix("#"), digits.utf8.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }),
        let code = UInt32(digits, radix: name.hasPrefix("#x") ? 16 : 10), code >= 0x20 || [9, 10, 13].contains(code),
        let scalar = Unicode.Scalar(code)
      else { throw Malformed(why: "it has an unknown entity") }
      return Array(String(Character(scalar)).utf8)
    }
  }

  private mutating func name() throws(XMLElement.Malformed) -> ArraySlice<UInt8> {
    let start = index
    while let byte = next, Self.isNamePart(byte) { index += 1 }
    guard index > start, index - start <= 256 else { throw Malformed(why: "an element has a bad name") }
    return bytes[start..<index]
  }

  private static func isNamePart(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: ":"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."):
      true
    default: false
    }
  }

  private static func local(_ name: ArraySlice<UInt8>) -> String {
    let start = name.lastIndex(of: UInt8(ascii: ":")).map { $0 + 1 } ?? name.startIndex
    return String(decoding: name[start...], as: UTF8.self)
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (byte >= 0x09 && byte <= 0x0d) }

  private static func trimmed(_ text: [UInt8]) -> String {
    guard let start = text.firstIndex(where: { !isSpace($0) }), let end = text.lastIndex(where: { !isSpace($0) }) else {
      return ""
    }
    return String(decoding: text[start...end], as: UTF8.self)
  }

  private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

  private func starts(with prefix: [UInt8]) -> Bool { bytes[index...].starts(with: prefix) }

  @discardableResult
  private mutating func skipSpace() -> Bool {
    let start = index
    while let byte = next, Self.isSpace(byte) { index += 1 }
    return index > start
  }

  private mutating func skip(through end: [UInt8]) throws(XMLElement.Malformed) {
    while index < bytes.count {
      if starts(with: end) {
        index += end.count
        return
      }
      index += 1
    }
    throw Malformed(why: "it ends too early")
  }

  private mutating func expect(_ byte: UInt8) throws(XMLElement.Malformed) {
    guard let found = next else { throw Malformed(why: "it ends too early") }
    guard found == byte else { throw Malformed(why: "it has an unexpected character") }
    index += 1
  }
}
