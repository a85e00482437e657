/// `request_headers` or `response_headers` of an entry.
public struct HeaderRuleSettings: Sendable, Hashable {
  /// Names of fields; one that ends in `*` stands for all that begin so.
  public var remove: [String] = []
  /// In the order of the file.
  public var set: [Field] = []

  public struct Field: Sendable, Hashable {
    public var name: String
    public var value: FieldTemplate
    public init(name: String, value: FieldTemplate) {
      self.name = name
      self.value = value
    }
  }

  public init(remove: [String] = [], set: [Field] = []) {
    self.remove = remove
    self.set = set
  }

  public var isEmpty: Bool { remove.isEmpty && set.isEmpty }
}

/// A field's value with placeholders for the client's name.
public struct FieldTemplate: Sendable, Hashable {
  /// Before, between and behind the placeholders; at least one text.
  public let texts: [String]

  /// Why a text is no template.
  public enum Problem: Error, Sendable, Hashable {
    /// Nothing fills a placeholder of this name.
    case unknown(String)
    /// A `{` without its `}`.
    case openBrace
  }

  /// The only placeholder.
  public static let client = "client"

  /// - Parameter text: `{client}` is the placeholder, `{{` a brace; `}` alone is itself.
  public init(_ text: String) throws(Problem) {
    var texts = [""]
    var rest = text[...]
    while let brace = rest.firstIndex(of: "{") {
      texts[texts.count - 1] += rest[..<brace]
      rest = rest[rest.index(after: brace)...]
      if rest.first == "{" {
        texts[texts.count - 1] += "{"
        rest = rest.dropFirst()
        continue
      }
      guard let end = rest.firstIndex(of: "}") else { throw .openBrace }
      guard rest[..<end] == Self.client else { throw .unknown(String(rest[..<end])) }
      texts.append("")
      rest = rest[rest.index(after: end)...]
    }
    texts[texts.count - 1] += rest
    self.texts = texts
  }
}
