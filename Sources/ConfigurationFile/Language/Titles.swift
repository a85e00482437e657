import Settings

extension Shape {
  /// In words: `size from 1KiB to 1MiB (B, KiB, ...)`.
  var title: String {
    switch self {
    case .text(let text): return text.rawValue
    case .boolean: return "true or false"
    case .integer(let range): return "integer from \(range.lowerBound) to \(range.upperBound)"
    case .duration(let range), .longDuration(let range): return "duration \(Self.bounds(range))\(unitList)"
    case .size(let range):
      return "size from \(Units.text(size: range.lowerBound)) to \(Units.text(size: range.upperBound))\(unitList)"
    case .words(let words): return listed(words, "or")
    case .secret: return "secret"
    case .section: return "section"
    case .list(let item): return "list of: \(item.title)"
    case .oneOrMore(let item): return "one or more: \(item.title)"
    case .map(let item): return "map of: \(item.title)"
    case .oneOf(let shapes): return shapes.map(\.title).joined(separator: ", or ")
    }
  }

  private var unitList: String { units.isEmpty ? "" : " (\(listed(units, "or")))" }

  private static func bounds(_ range: ClosedRange<Int>) -> String {
    let least = Units.text(duration: range.lowerBound)
    if range.upperBound == Units.longestDuration { return "of at least \(least)" }
    return "from \(least) to \(Units.text(duration: range.upperBound))"
  }
}

extension KeyDescription.Absence {
  /// In words: the default as written, or what it depends on.
  var title: String {
    switch self {
    case .required: "required"
    case .text(let text): text
    case .list(let items): "[\(items.joined(separator: ", "))]"
    case .otherwise(let words): words
    }
  }
}
