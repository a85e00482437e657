import JSON

/// What editors may deliver for a text of the file.
extension Shape {
  /// Of shapes that are neither free text nor made of others.
  var scalarSchema: JSONValue {
    switch self {
    case .boolean: ["type": ["boolean", "string"], "pattern": "^(true|false)$"]
    case .integer(let range):
      [
        "type": ["integer", "string"], "pattern": "^[0-9]+$", "minimum": .integer(range.lowerBound),
        "maximum": .integer(range.upperBound),
      ]
    case .duration, .longDuration, .size:
      ["type": "string", "pattern": .string("^[0-9]+(\(units.joined(separator: "|")))$")]
    case .words(let words): ["enum": .array(words.flatMap(Self.spellings))]
    case .text, .secret, .section, .list, .oneOrMore, .map, .oneOf: preconditionFailure("\(title) is no scalar")
    }
  }

  /// A word as the text that it is, and as what YAML makes of it without quotes: a boolean (YAML 1.1) or a number.
  private static func spellings(of word: String) -> [JSONValue] {
    switch word {
    case "on", "yes", "true": [.string(word), true]
    case "off", "no", "false": [.string(word), false]
    case _ where isNumber(word): [.string(word), .number(word)]
    default: [.string(word)]
    }
  }

  private static func isNumber(_ word: String) -> Bool {
    let parts = word.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count <= 2 && parts.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
  }
}

extension Shape.Text {
  /// Patterns tell how a text begins, or its form if that is simple. They refuse nothing that the reader accepts.
  var schema: JSONValue {
    switch self {
    case .url: Self.string("^\(Self.web)")
    case .origin: Self.string("^(unix:|\(Self.web))")
    case .parentURL: Self.string("^([Hh][Tt][Tt][Pp][Ss]?|[Ss][Oo][Cc][Kk][Ss]5[Hh]?)://")
    case .uri: Self.string("^[A-Za-z][A-Za-z0-9+.-]*:")
    case .listenAddress: Self.string("^(unix:.+|fd:[0-9]+|.+:[0-9]+)$")
    case .fieldFormat: Self.string("[{]value[}]")
    case .jwtFormat: Self.string("[{]jwt[}]")
    case .pin: Self.string("^sha256/[A-Za-z0-9+/]{43}=$")
    case .date: Self.string("^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)?$")
    // Without quotes, 0660 is 660 for YAML 1.2, and octal for YAML 1.1.
    case .permissions: ["type": ["integer", "string"], "pattern": "^0?[0-7]{3}$", "minimum": 0, "maximum": 777]
    default:
      // YAML takes some of them for numbers, booleans or nothing: a user id, a client named `no` or `null`.
      ["type": ["string", "number", "boolean", "null"], "minLength": 1]
    }
  }

  private static let web = "[Hh][Tt][Tt][Pp][Ss]?://"

  private static func string(_ pattern: String) -> JSONValue { ["type": "string", "pattern": .string(pattern)] }
}

extension Shape {
  /// A default with the type that editors give it; nil if there is none in written form.
  func json(_ absence: KeyDescription.Absence) -> JSONValue? {
    switch absence {
    case .text(let text): json(text)
    case .list(let items): .array(items.map(json))
    case .required, .otherwise: nil
    }
  }

  private func json(_ text: String) -> JSONValue {
    switch self {
    case .boolean: .bool(text == "true")
    case .integer: Int(text).map { JSONValue.integer($0) } ?? .string(text)
    case .list(let item), .oneOrMore(let item): item.json(text)
    case .oneOf(let shapes): shapes.map { $0.json(text) }.first { $0.string == nil } ?? .string(text)
    case .text, .duration, .longDuration, .size, .words, .secret, .section, .map: .string(text)
    }
  }
}

extension KeyDescription {
  /// Sentence, type and default, for whoever points at the key in an editor.
  var explanation: String {
    let absent =
      switch absence {
      case .required: "Required"
      case .text, .list: "Default: \(absence.title)"
      case .otherwise(let words): "Without it: \(words)"
      }
    return "\(sentence) Type: \(shape.title). \(absent)."
  }
}
