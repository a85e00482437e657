/// Text for people: headings, and rows of a label and a wrapped text.
struct Page {
  /// Columns that terminals, mails and issue trackers show without breaking lines.
  static let width = 80
  private(set) var lines: [String] = []
  private let labelWidth: Int

  /// - Parameter labelWidth: columns from a row's indent to its text.
  init(labelWidth: Int) { self.labelWidth = labelWidth }

  mutating func heading(_ text: String) { lines.append(text) }
  mutating func gap() { lines.append("") }

  /// An empty label continues the row above. A label that is too long gets its own line.
  mutating func row(_ label: String, _ text: String, indent: Int = 2) {
    let margin = String(repeating: " ", count: indent + labelWidth)
    var line = String(repeating: " ", count: indent) + label
    if label.count >= labelWidth {
      lines.append(line)
      line = margin
    } else {
      line += String(repeating: " ", count: labelWidth - label.count)
    }
    var isEmpty = true
    for word in text.split(separator: " ") {
      if !isEmpty, line.count + 1 + word.count > Page.width {
        lines.append(line)
        line = margin
        isEmpty = true
      }
      line += isEmpty ? String(word) : " " + word
      isEmpty = false
    }
    lines.append(line.last == " " ? String(line.reversed().drop { $0 == " " }.reversed()) : line)
  }

  mutating func rows(_ label: String, _ texts: [String], indent: Int = 2) {
    for (index, text) in texts.enumerated() { row(index == 0 ? label : "", text, indent: indent) }
  }

  func print() { for line in lines { Terminal.print(line) } }
}
