import Settings
import Testing

@testable import ConfigurationFile

/// Which errors of the reader are about a value's shape, so that the schema must find them, too.
enum ShapeMistake {
  static func isOne(_ diagnostic: Diagnostic) -> Bool {
    let message = diagnostic.message
    return message.hasPrefix("unknown key '") || message.hasSuffix(" has no value") || isMissingKey(message)
      || kinds.contains { message.contains($0) } || choices.contains { message.contains($0) }
      || message.contains(/must be from \d+ to \d+, not '\d+'$/)
  }

  /// Other kinds of values, and units.
  private static let kinds = [
    "must be a text, not ", "must be a list, not ", "must be a mapping, not ", "must be a secret: {file: ",
    "must be true or false, not ", " needs a unit: ", " has an unknown unit; ", "must be a duration such as ",
    "must be a size such as ", "' must be a whole number",
  ]

  /// `must be a, b or c, not `, for each list of words in the language.
  private static let choices: Set<String> = Set(
    RootKeys.everyKey().flatMap { $0.key.shape.lists }.map { "must be \(listed($0, "or")), not " })

  private static let required = Set(RootKeys.everyKey().map(\.key).filter { $0.absence == .required }.map(\.name))

  /// A key that a section always needs. Keys that it needs because of others have a reason behind them.
  private static func isMissingKey(_ message: String) -> Bool {
    message.wholeMatch(of: /.* needs '(\w+)'/).map { required.contains(String($0.1)) } ?? false
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
}

extension LoadedConfiguration {
  /// Every text that the tests read is a test of the schema: it accepts what the reader accepts, in both forms that editors
  /// deliver, and refuses each mistake of shape.
  func judged(_ text: [UInt8]) -> LoadedConfiguration {
    guard let node = NodeComposer.compose(text, report: Report(file: "proxy.conf")) else { return self }
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
