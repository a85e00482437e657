/// A query as in RFC 6749 appendix B, read strictly: a value that two readers could understand differently is no value.
enum QueryText {
  struct Field: Hashable {
    var name: [UInt8]
    var value: [UInt8]
  }

  /// The fields in their order, with duplicates; nil if a percent sign begins no escape, or a byte is no visible ASCII.
  static func fields(_ query: some Sequence<UInt8>) -> [Field]? {
    var fields: [Field] = []
    for part in Array(query).split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: true) {
      let halves = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = halves.first.flatMap(decoded), let value = halves.count > 1 ? decoded(halves[1]) : [] else { return nil }
      fields.append(Field(name: name, value: value))
    }
    return fields
  }

  private static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    var index = text.startIndex
    while index < text.endIndex {
      switch text[index] {
      case UInt8(ascii: "%"):
        guard index + 2 < text.endIndex, let high = digit(text[index + 1]), let low = digit(text[index + 2]) else { return nil }
        bytes.append(high << 4 | low)
        index += 2
      case UInt8(ascii: "+"): bytes.append(0x20)
      case 0x21...0x7e: bytes.append(text[index])
      default: return nil
      }
      index += 1
    }
    return bytes
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  /// The only field with this name. nil: there is none, or it is empty (RFC 6749 section 3.1: as if omitted).
  /// - Throws: `Repeated`.
  static func only(_ name: String, of fields: [Field]) throws(Repeated) -> [UInt8]? {
    let values = fields.filter { $0.name.elementsEqual(name.utf8) }
    guard values.count <= 1 else { throw Repeated() }
    return values.first.flatMap { $0.value.isEmpty ? nil : $0.value }
  }

  /// RFC 6749 section 3.1: no parameter may occur more than once.
  struct Repeated: Error {}
}
