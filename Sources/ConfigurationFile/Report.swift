import Settings

/// Collects the errors and warnings of one pass over the file.
final class Report {
  let file: String
  private var seen: Set<Diagnostic> = []
  private(set) var hasErrors = false
  /// Most diagnostics of one file. Equal ones count once, so one mistake behind a hundred aliases appears once.
  private static let limit = 1000

  init(file: String) { self.file = file }

  func error(_ place: Place?, _ message: String) {
    hasErrors = true
    add(.error, place, message)
  }

  func warning(_ place: Place?, _ message: String) { add(.warning, place, message) }

  private func add(_ severity: Diagnostic.Severity, _ place: Place?, _ message: String) {
    guard seen.count < Report.limit else { return }
    seen.insert(Diagnostic(severity: severity, file: file, place: place, message: message))
  }

  var sorted: [Diagnostic] {
    seen.sorted { left, right in
      let (a, b) = (left.place ?? Place(line: 0, column: 0), right.place ?? Place(line: 0, column: 0))
      return a != b ? a < b : left.message < right.message
    }
  }
}

/// A text from the file, quoted for an error: at most 60 characters, without control characters, which could change a terminal.
func shown(_ text: String) -> String {
  var result = ""
  for scalar in text.unicodeScalars.prefix(60) {
    result.unicodeScalars.append(scalar.value < 0x20 || (0x7f...0x9f).contains(scalar.value) ? "\u{fffd}" : scalar)
  }
  return text.unicodeScalars.count > 60 ? "'\(result)...'" : "'\(result)'"
}

/// ` (did you mean 'x'?)` or nothing.
func suggestion(for name: String, among known: some Sequence<String>) -> String {
  guard let nearest = Suggestion.nearest(to: name, among: known) else { return "" }
  return " (did you mean '\(nearest)'?)"
}
