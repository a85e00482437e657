import Settings
import Testing

@testable import ConfigurationFile

/// Which errors of the reader are about a value's shape, so that the schema must find them, too.
enum ShapeMistake {
  static func isOne(_ diagnostic: Diagnostic) -> Bool {
    let message = diagnostic.message
    return message.hasPrefix("unknown key '") || isMissingKey(message) || hasNoValue(message)
      || kinds.contains { message.contains($0) } || choices.contains { message.contains($0) }
      || message.contains(/must be from \d+ to \d+, not '\d+'$/)
  }

  /// Other kinds of values, and units.
  private static let kinds = [
    "must be a text, not ", "must be a list, not ", "must be a mapping, not ", "must be a secret: {file: ",
    "must be true or false, not ", " needs a unit: ", " has an unknown unit; ", "must be a duration such as ",
    "must be a size such as ", "' must be a whole number",
  ]

  private static let places = RootKeys.everyKey().map { (path: $0.path.split(separator: "."), key: $0.key) }

  /// `must be a, b or c, not `, for each list of words in the language.
  private static let choices = Set(places.flatMap { $0.key.shape.lists }.map { "must be \(listed($0, "or")), not " })

  /// A key that a section always needs. If another key is why, the message goes on.
  private static func isMissingKey(_ message: String) -> Bool {
    guard let found = message.wholeMatch(of: /(.*) needs '(\w+)'/) else { return false }
    let section = found.1 == "the configuration" ? "" : found.1 + "."
    return keys(at: "\(section)\(found.2)").contains { $0.absence == .required }
  }

  /// Without quotes, a text `null` is nothing for editors.
  private static func hasNoValue(_ message: String) -> Bool {
    message.wholeMatch(of: /(.*) has no value/).map { keys(at: $0.1).contains { !$0.shape.mayBeText } } ?? false
  }

  /// - Parameter path: as errors show it, with indices and names.
  private static func keys(at path: some StringProtocol) -> [KeyDescription] {
    let names = String(path).replacing(/\[\d+\]/, with: "").split(separator: ".")
    return places.filter { place in
      place.path.count == names.count && zip(place.path, names).allSatisfy { $0 == "*" || $0 == $1 }
    }.map(\.key)
  }
}

extension Shape {
  fileprivate var lists: [[String]] {
    switch self {
    case .words(let words): [words]
    case .list(let item), .oneOrMore(let item), .map(let item): item.lists
    default: []
    }
  }

  fileprivate var mayBeText: Bool {
    switch self {
    case .text, .secret: true
    case .oneOf(let shapes): shapes.contains(where: \.mayBeText)
    case .oneOrMore(let item): item.mayBeText
    default: false
    }
  }
}

extension LoadedConfiguration {
  /// Every text that the tests read is a test of the schema: it accepts what the reader accepts, in both forms that editors
  /// deliver, and refuses each mistake of shape.
  func judged(_ text: [UInt8]) -> LoadedConfiguration {
    guard let node = Node.whole(text) else { return self }
    if settings != nil {
      for version in YAMLVersion.allCases {
        let problems = SchemaJudge.language.problems(in: node.delivered(version))
        #expect(problems == [], "the schema refuses what the reader accepts, as YAML \(version)")
      }
    } else if let mistake = errors.first(where: ShapeMistake.isOne) {
      let problems = SchemaJudge.language.problems(in: node.delivered(.core))
      #expect(problems != [], "the schema accepts a mistake of shape: \(mistake)")
    }
    return self
  }
}
