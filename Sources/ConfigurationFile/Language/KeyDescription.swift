/// A key of the language, for whoever reads, lists or checks it.
struct KeyDescription: Sendable {
  var name: String
  var shape: Shape
  var absence: Absence
  /// What the key means, as one sentence.
  var sentence: String
  /// The type that declares it. Sections that share keys share their descriptions.
  var home = ""

  /// What holds where the key is not written.
  enum Absence: Sendable, Hashable {
    /// It is an error.
    case required
    /// The same as if this text were written.
    case text(String)
    /// The same as if this list were written.
    case list([String])
    /// Said in words, as it depends on something else or is nothing that could be written.
    case otherwise(String)
  }
}

/// A `Key` of whatever type.
protocol DescribedKey: Sendable {
  var described: KeyDescription { get }
}
