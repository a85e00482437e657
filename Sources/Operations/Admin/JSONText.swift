/// Writes JSON (RFC 8259), members in the order of their coming.
struct JSONText {
  private(set) var text = ""
  private var isFirst = true

  mutating func object(_ body: (inout JSONText) -> Void) {
    text += "{"
    isFirst = true
    body(&self)
    text += "}"
    isFirst = false
  }
  mutating func object(_ key: String, _ body: (inout JSONText) -> Void) {
    begin(key)
    object(body)
  }
  mutating func array<Item>(_ key: String, _ items: [Item], _ body: (inout JSONText, Item) -> Void) {
    begin(key)
    text += "["
    for (index, item) in items.enumerated() {
      if index > 0 { text += "," }
      object { body(&$0, item) }
    }
    text += "]"
    isFirst = false
  }
  mutating func add(_ key: String, _ value: String) {
    begin(key)
    text += Self.quoted(value)
  }
  mutating func add(_ key: String, _ value: Int) {
    begin(key)
    text += "\(value)"
  }
  mutating func add(_ key: String, _ value: Bool) {
    begin(key)
    text += value ? "true" : "false"
  }
  mutating func add(_ key: String, _ values: [String]) {
    begin(key)
    text += "[" + values.map(Self.quoted).joined(separator: ",") + "]"
  }

  private mutating func begin(_ key: String) {
    if !isFirst { text += "," }
    isFirst = false
    text += Self.quoted(key) + ":"
  }

  static func quoted(_ value: String) -> String {
    var result = "\""
    for character in value.unicodeScalars {
      switch character {
      case "\"", "\\": result += "\\\(character)"
      case "\n": result += "\\n"
      case "\u{0}"..."\u{1f}", "\u{7f}":
        let digits = String(character.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: result.unicodeScalars.append(character)
      }
    }
    return result + "\""
  }
}
