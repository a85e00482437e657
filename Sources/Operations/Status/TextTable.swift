/// A table of a terminal: a header, and rows of cells that never break it, whatever their texts are.
struct TextTable {
  enum Tone: Sendable { case plain, good, warning, bad }

  struct Cell {
    var text: String
    var tone = Tone.plain
    init(_ text: String, _ tone: Tone = .plain) {
      self.text = text
      self.tone = tone
    }
  }

  struct Column {
    let title: String
    var isNumber = false
  }

  /// Columns of a name that is longer: it is cut.
  static let longestCell = 48
  private static let gap = "  "

  let columns: [Column]
  private var rows: [[Cell]] = []

  init(_ columns: [Column]) { self.columns = columns }

  /// One cell for each column.
  mutating func add(_ row: [Cell]) { rows.append(row) }

  /// - Parameters:
  ///   - width: columns of the terminal; lines are cut there.
  ///   - ink: nil: plain text.
  func lines(width: Int, ink: Ink) -> [String] {
    let header = columns.map { Cell($0.title) }
    // What is the same in all rows says nothing of any: a column without entries is left out.
    let shown = columns.indices.filter { index in rows.contains { !$0[index].text.isEmpty } }
    let widths = columns.indices.map { index in
      min(Self.longestCell, ([header] + rows).map { $0[index].text.count }.max() ?? 0)
    }
    return ([header] + rows).enumerated().map { number, row in
      var line = ""
      var room = width
      for index in shown {
        let isLast = index == shown.last
        var text = VisibleText.cut(row[index].text, to: min(widths[index], room))
        let padding = String(repeating: " ", count: max(0, min(widths[index], room) - text.count))
        if columns[index].isNumber { text = padding + text } else if !isLast { text += padding }
        room -= text.count + Self.gap.count
        line += number == 0 ? ink.bold(text) : ink.paint(text, row[index].tone)
        if !isLast, room > 0 { line += Self.gap }
        if room <= 0 { break }
      }
      return line
    }
  }
}

/// How a terminal shows tones: by SGR codes (ECMA-48, 8.3.117), or not at all. Never the only sign of anything.
struct Ink {
  let isColoured: Bool

  func paint(_ text: String, _ tone: TextTable.Tone) -> String {
    switch tone {
    case .plain: text
    case .good: coded(text, 32)
    case .warning: coded(text, 33)
    case .bad: coded(text, 31)
    }
  }

  func bold(_ text: String) -> String { coded(text, 1) }

  private func coded(_ text: String, _ code: Int) -> String { isColoured ? "\u{1b}[\(code)m\(text)\u{1b}[0m" : text }
}
