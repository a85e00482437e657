import HTTPWire

/// Where a Link field's value has references: the targets, and the anchors (RFC 8288 section 3). Reads each byte once, whatever
/// an origin sends. Text in quotes has no targets.
struct LinkReferences {
  private let value: UnsafeRawBufferPointer
  private var position = 0

  init(_ value: UnsafeRawBufferPointer) { self.value = value }

  /// The next reference, without brackets and quotation marks; nil: there is none behind the last one.
  mutating func next() -> Range<Int>? {
    while position < value.count {
      let byte = value[position]
      position += 1
      switch byte {
      case UInt8(ascii: "<"): return text(upTo: UInt8(ascii: ">"))
      case UInt8(ascii: "\""): _ = text(upTo: UInt8(ascii: "\""))
      case UInt8(ascii: ";"): if let anchor = anchor() { return anchor }
      default: break
      }
    }
    return nil
  }

  /// What precedes the next `mark`; it may be quoted as `\"`. nil: the mark is missing, and what follows cannot be read.
  private mutating func text(upTo mark: UInt8) -> Range<Int>? {
    let start = position
    while position < value.count {
      let byte = value[position]
      position += 1
      if byte == mark { return start..<(position - 1) }
      if byte == UInt8(ascii: "\\"), mark == UInt8(ascii: "\"") { position += 1 }
    }
    return nil
  }

  /// The value of a parameter, if it is `anchor`.
  private mutating func anchor() -> Range<Int>? {
    let name: StaticString = "anchor"
    skipBlanks()
    let end = position + name.utf8CodeUnitCount
    guard end <= value.count, equalsIgnoringCase(UnsafeRawBufferPointer(rebasing: value[position..<end]), name) else {
      return nil
    }
    position = end
    skipBlanks()
    guard position < value.count, value[position] == UInt8(ascii: "=") else { return nil }
    position += 1
    skipBlanks()
    if position < value.count, value[position] == UInt8(ascii: "\"") {
      position += 1
      return text(upTo: UInt8(ascii: "\""))
    }
    let start = position
    while position < value.count, !Self.endsToken(value[position]) { position += 1 }
    return start..<position
  }

  private mutating func skipBlanks() {
    while position < value.count, value[position] == 32 || value[position] == 9 { position += 1 }
  }

  private static func endsToken(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: ";") || byte == UInt8(ascii: ",") || byte == 32 || byte == 9
  }
}
