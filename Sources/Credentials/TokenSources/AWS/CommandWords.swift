/// Splits a command line into words as a shell does, and runs none: quotes and backslashes count, variables and patterns do not.
enum CommandWords {
  /// nil: a quote has no end, or there is no word.
  static func split(_ line: String) -> [String]? {
    var words: [String] = []
    var word: String?
    var quote: Character?
    var isEscaped = false
    for character in line {
      if isEscaped {
        // Inside of double quotes a backslash escapes only itself and the quote.
        if quote == "\"", character != "\"", character != "\\" { word?.append("\\") }
        word = (word ?? "") + String(character)
        isEscaped = false
        continue
      }
      switch character {
      case "\\" where quote != "'":
        isEscaped = true
        word = word ?? ""
      case "'" where quote == nil, "\"" where quote == nil:
        quote = character
        word = word ?? ""
      case _ where character == quote: quote = nil
      case " " where quote == nil, "\t" where quote == nil, "\n" where quote == nil:
        if let ended = word { words.append(ended) }
        word = nil
      default: word = (word ?? "") + String(character)
      }
    }
    guard quote == nil, !isEscaped else { return nil }
    if let word { words.append(word) }
    return words.isEmpty ? nil : words
  }
}
