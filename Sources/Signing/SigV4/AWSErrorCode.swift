import JSON

/// Finds the code of an error in the beginning of a body. Only so much of it is kept, so JSON or XML may be cut off.
enum AWSErrorCode {
  /// Empty: there is none.
  static func find(in body: [UInt8]) -> [UInt8] {
    let text = body.starts(with: [0xef, 0xbb, 0xbf]) ? body[3...] : body[...]
    guard let first = text.firstIndex(where: { $0 > 0x20 }) else { return [] }
    if text[first] != UInt8(ascii: "{") { return ofXML(text) }
    var members = Members(bytes: text, index: first)
    return members.code(orOfError: true)
  }

  /// The text of the first `<Code>`, whatever its prefix and its attributes.
  private static func ofXML(_ text: ArraySlice<UInt8>) -> [UInt8] {
    var index = text.startIndex
    while let open = text[index...].firstIndex(of: UInt8(ascii: "<")) {
      let nameEnd = text[(open + 1)...].firstIndex { $0 <= 0x20 || $0 == UInt8(ascii: ">") || $0 == UInt8(ascii: "/") }
      guard let nameEnd, let close = text[nameEnd...].firstIndex(of: UInt8(ascii: ">")) else { return [] }
      let name = text[(open + 1)..<nameEnd]
      let local = name.lastIndex(of: UInt8(ascii: ":")).map { name[($0 + 1)...] } ?? name
      if local.elementsEqual("Code".utf8), text[close - 1] != UInt8(ascii: "/") {
        guard let end = text[close...].firstIndex(of: UInt8(ascii: "<")) else { return [] }
        return Array(trimmed(text[(close + 1)..<end]))
      }
      // No `<` may stand in a tag. Each byte is looked at once: a hostile body holds up the whole loop.
      index = close
    }
    return []
  }

  private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var text = text
    while let first = text.first, first <= 0x20 { text.removeFirst() }
    while let last = text.last, last <= 0x20 { text.removeLast() }
    return text
  }

  /// The members of a JSON object that may be cut off.
  private struct Members {
    let bytes: ArraySlice<UInt8>
    /// At its brace.
    var index: Int

    private static let names = ["__type", "code", "Code"]

    /// `__type` or `code`, of the object or of its `Error`, but of no error within that: each level would be read once more. A member
    /// that is cut off is none.
    mutating func code(orOfError: Bool) -> [UInt8] {
      var found: [String: [UInt8]] = [:]
      var ofError: [UInt8] = []
      repeat {
        index += 1
        skipSpace()
        guard let name = string() else { break }
        skipSpace()
        guard next == UInt8(ascii: ":") else { break }
        index += 1
        skipSpace()
        let start = index
        if next == UInt8(ascii: "\"") {
          guard let value = string() else { break }
          skipSpace()
          if isAtEndOfMember, found[name] == nil { found[name] = Array(value.utf8) }
        } else {
          guard skipValue() else { break }
          if orOfError, name == "Error" || name == "error", bytes[start] == UInt8(ascii: "{") {
            var members = Members(bytes: bytes[..<index], index: start)
            ofError = members.code(orOfError: false)
          }
          skipSpace()
        }
      } while next == UInt8(ascii: ",")
      for name in Self.names { if let code = found[name] { return code } }
      return ofError
    }

    private var next: UInt8? { index < bytes.endIndex ? bytes[index] : nil }
    private var isAtEndOfMember: Bool { next == UInt8(ascii: ",") || next == UInt8(ascii: "}") }

    private mutating func skipSpace() { while let byte = next, byte <= 0x20 { index += 1 } }

    /// nil: it is cut off, or is no string.
    private mutating func string() -> String? {
      let start = index
      guard skipString() else { return nil }
      return try? JSONParser.parse(Array(bytes[start..<index])).string
    }

    private mutating func skipString() -> Bool {
      guard next == UInt8(ascii: "\"") else { return false }
      index += 1
      while let byte = next {
        index += byte == UInt8(ascii: "\\") ? 2 : 1
        if byte == UInt8(ascii: "\"") { return true }
      }
      return false
    }

    /// A number, a literal, an array or an object.
    private mutating func skipValue() -> Bool {
      var depth = 0
      while let byte = next {
        switch byte {
        case UInt8(ascii: "\""):
          guard skipString() else { return false }
          continue
        case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
        case UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: ","):
          if depth == 0 { return true }
          if byte != UInt8(ascii: ",") { depth -= 1 }
          if depth == 0, byte != UInt8(ascii: ",") {
            index += 1
            return true
          }
        default: break
        }
        index += 1
      }
      return false
    }
  }
}
