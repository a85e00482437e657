/// The fields that a signature covers, in canonical form. What a later hop may alter is not among them.
struct CanonicalFields {
  private struct Entry {
    let name: Range<Int>
    let value: UnsafeRawBufferPointer
  }
  /// The names, in lower case.
  private var names: [UInt8] = []
  private var entries: [Entry] = []
  private let takesAll: Bool

  /// - Parameter takesAll: every field is signed; for examples of others.
  init(takesAll: Bool = false) {
    self.takesAll = takesAll
    entries.reserveCapacity(16)
    names.reserveCapacity(256)
  }

  /// Adds a field. The value must outlive the use of this.
  mutating func add(_ name: StaticString, _ value: UnsafeRawBufferPointer) {
    let start = names.count
    names.append(ascii: name)
    entries.append(Entry(name: start..<names.count, value: value))
  }

  /// Adds those lines, each with CRLF, that are signed: `Content-Type`, `Content-MD5`, every `X-Amz-*`.
  mutating func add(lines: UnsafeRawBufferPointer) {
    var index = 0
    while index < lines.count {
      let start = index
      var colon: Int?
      while index < lines.count, lines[index] != 0x0a {
        if colon == nil, lines[index] == UInt8(ascii: ":") { colon = index }
        index += 1
      }
      let end = index > start && lines[index - 1] == 0x0d ? index - 1 : index
      index += 1
      guard let colon, colon <= end else { continue }
      let name = UnsafeRawBufferPointer(rebasing: lines[start..<colon])
      guard takesAll || Self.isSigned(name) else { continue }
      let nameStart = names.count
      for byte in name { names.append(byte &- 0x41 < 26 ? byte | 0x20 : byte) }
      entries.append(
        Entry(name: nameStart..<names.count, value: UnsafeRawBufferPointer(rebasing: lines[(colon + 1)..<end])))
    }
  }

  private static func isSigned(_ name: UnsafeRawBufferPointer) -> Bool {
    hasPrefix(name, "x-amz-") || (name.count == 12 && hasPrefix(name, "content-type"))
      || (name.count == 11 && hasPrefix(name, "content-md5"))
  }

  private static func hasPrefix(_ name: UnsafeRawBufferPointer, _ prefix: StaticString) -> Bool {
    guard name.count >= prefix.utf8CodeUnitCount else { return false }
    for index in 0..<prefix.utf8CodeUnitCount {
      let byte = name[index]
      guard (byte &- 0x41 < 26 ? byte | 0x20 : byte) == prefix.utf8Start[index] else { return false }
    }
    return true
  }

  /// Appends the lines, an empty line, and the list of names.
  /// - Returns: where the list is.
  func write(into output: inout [UInt8]) -> Range<Int> {
    let order = entries.indices.sorted { left, right in
      let order = compare(names[entries[left].name], names[entries[right].name])
      // Values of one name stay in their order.
      return order == 0 ? left < right : order < 0
    }
    var list: [UInt8] = []
    var previous: Range<Int>?
    for index in order {
      let entry = entries[index]
      if let previous, names[previous] == names[entry.name] {
        output.append(UInt8(ascii: ","))
      } else {
        if previous != nil {
          output.append(0x0a)
          list.append(UInt8(ascii: ";"))
        }
        output.append(contentsOf: names[entry.name])
        output.append(UInt8(ascii: ":"))
        list.append(contentsOf: names[entry.name])
      }
      previous = entry.name
      output.append(trimming: entry.value)
    }
    output.append(ascii: "\n\n")
    let start = output.count
    output.append(contentsOf: list)
    return start..<output.count
  }
}

extension [UInt8] {
  /// Without white space at both ends; runs of it become one space.
  fileprivate mutating func append(trimming value: UnsafeRawBufferPointer) {
    var isPending = false
    let base = count
    for byte in value {
      if byte == 0x20 || byte == 0x09 {
        isPending = count > base
        continue
      }
      if isPending { append(0x20) }
      isPending = false
      append(byte)
    }
  }
}
