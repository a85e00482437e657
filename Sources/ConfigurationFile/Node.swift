import Settings

/// A YAML value and its place. Every scalar is its text: `no`, `1e3` and `0x10` are not converted.
struct Node: Sendable {
  enum Content: Sendable {
    /// `plain`: written without quotes, not as a block.
    case scalar(String, plain: Bool)
    case sequence([Node])
    /// In the order of the file; keys are unique, merged ones at the end.
    case mapping([Entry])
  }
  struct Entry: Sendable {
    var key: String
    var keyPlace: Place
    var value: Node
  }
  var place: Place
  var content: Content

  /// Whether nothing was written: `key:` and the end of the line.
  var isEmpty: Bool {
    guard case .scalar(let text, plain: true) = content else { return false }
    return text.isEmpty
  }

  /// The kind of value, for errors. They do not show the value, which may be a misplaced secret.
  var kind: String {
    if isEmpty { return "nothing" }
    switch content {
    case .scalar: return "a text"
    case .sequence: return "a list"
    case .mapping: return "a mapping"
    }
  }
}
