extension JSONValue {
  /// The text of this value for people: one member a line. Arrays without objects stay on one line.
  public var indented: [UInt8] {
    var bytes: [UInt8] = []
    writeIndented(to: &bytes, depth: 0)
    return bytes
  }

  private func writeIndented(to bytes: inout [UInt8], depth: Int) {
    switch self {
    case .object(let members) where !members.isEmpty:
      Self.writeLines(members, in: "{}", to: &bytes, depth: depth) { member, bytes in
        JSONString.append(member.name, to: &bytes)
        bytes += Array(": ".utf8)
        member.value.writeIndented(to: &bytes, depth: depth + 1)
      }
    case .array(let elements) where elements.contains(where: \.isNested):
      Self.writeLines(elements, in: "[]", to: &bytes, depth: depth) { $0.writeIndented(to: &$1, depth: depth + 1) }
    case .array(let elements):
      bytes.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { bytes += Array(", ".utf8) }
        element.write(to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    default: write(to: &bytes)
    }
  }

  private var isNested: Bool {
    switch self {
    case .object, .array: true
    case .null, .bool, .number, .string: false
    }
  }

  private static func writeLines<Item>(
    _ items: [Item], in brackets: String, to bytes: inout [UInt8], depth: Int, _ write: (Item, inout [UInt8]) -> Void
  ) {
    func line(_ depth: Int) { bytes += [UInt8(ascii: "\n")] + [UInt8](repeating: UInt8(ascii: " "), count: 2 * depth) }
    bytes.append(brackets.utf8.first!)
    for (index, item) in items.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      line(depth + 1)
      write(item, &bytes)
    }
    line(depth)
    bytes.append(brackets.utf8.last!)
  }
}
