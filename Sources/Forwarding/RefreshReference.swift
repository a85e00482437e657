import HTTPWire

/// Where the reference is in a Refresh field: `5; url=/next`, read as browsers read it (HTML, "shared declarative refresh steps").
struct RefreshReference {
  /// Empty: the field has none, and means the page itself.
  let place: Range<Int>

  init(_ value: UnsafeRawBufferPointer) {
    var index = 0
    func skip(while condition: (UInt8) -> Bool) { while index < value.count, condition(value[index]) { index += 1 } }
    func isSpace(_ byte: UInt8) -> Bool { byte == URLMark.space || byte == 9 }
    skip(while: isSpace)
    skip { byte in (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: ".") }
    skip(while: isSpace)
    if index < value.count, value[index] == UInt8(ascii: ";") || value[index] == UInt8(ascii: ",") { index += 1 }
    skip(while: isSpace)
    let start = index
    if value.count - index > 3, equalsIgnoringCase(UnsafeRawBufferPointer(rebasing: value[index..<index + 3]), "url") {
      index += 3
      skip(while: isSpace)
      if index < value.count, value[index] == URLMark.equals {
        index += 1
        skip(while: isSpace)
      } else {
        index = start
      }
    }
    var end = value.count
    if index < end, value[index] == UInt8(ascii: "'") || value[index] == UInt8(ascii: "\"") {
      let quote = value[index]
      index += 1
      end = value[index...].firstIndex(of: quote) ?? end
    }
    place = index..<end
  }
}
