/// HTML in the making. Markup is what this program has as a literal; every other text is escaped. So no name, path or error of a
/// stranger can become markup.
struct HTML {
  private(set) var bytes: [UInt8] = []

  /// Scalars of a text that are shown; a table must stay one.
  static let longestText = 120
  /// Marks on one letter that are shown: no language needs more, and a pile of them covers other lines.
  private static let mostMarks = 3

  mutating func markup(_ literal: StaticString) {
    literal.withUTF8Buffer { bytes.append(contentsOf: $0) }
  }

  /// - Parameter limit: scalars; the rest is cut.
  mutating func text(_ text: String, limit: Int = longestText) {
    var rest = limit
    var marks = 0
    for scalar in text.unicodeScalars {
      if rest == 0 { return bytes.append(contentsOf: "…".utf8) }
      rest -= 1
      marks = scalar.isCombining ? marks + 1 : 0
      if marks <= Self.mostMarks { append(scalar) }
    }
  }

  mutating func number(_ value: some BinaryInteger) { bytes.append(contentsOf: String(value).utf8) }

  /// A text of strangers, which cannot turn the direction of what is around it.
  mutating func name(_ text: String, limit: Int = longestText) {
    markup("<bdi>")
    self.text(text, limit: limit)
    markup("</bdi>")
  }

  /// ` name="value"`
  mutating func attribute(_ name: StaticString, _ value: String, limit: Int = 600) {
    markup(" ")
    markup(name)
    markup("=\"")
    text(value, limit: limit)
    markup("\"")
  }

  private mutating func append(_ scalar: Unicode.Scalar) {
    switch scalar {
    case "&": markup("&amp;")
    case "<": markup("&lt;")
    case ">": markup("&gt;")
    case "\"": markup("&quot;")
    case "'": markup("&#39;")
    case " "..."~": bytes.append(UInt8(scalar.value))
    default:
      switch scalar.properties.generalCategory {
      // Controls, marks of direction, what has no width, and what no font has.
      case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: markup("\u{fffd}")
      default: bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
      }
    }
  }
}

extension Unicode.Scalar {
  /// It has no place of its own, but stands over or under the letter before it.
  fileprivate var isCombining: Bool {
    value > 0x2ff && (properties.generalCategory == .nonspacingMark || properties.generalCategory == .enclosingMark)
  }
}
