/// Describes a key of the language, for readers, lists and checks.
struct KeyDescription: Sendable {
  var name: String
  var shape: Shape
  var absence: Absence
  /// What the key means, as one sentence.
  var sentence: String

  /// What applies if the key is absent.
  enum Absence: Sendable, Hashable {
    /// It is an error.
    case required
    /// The same as this text.
    case text(String)
    /// The same as this list.
    case list([String])
    /// In words, as the default depends on something else or has no written form.
    case otherwise(String)
  }
}

/// A `Key` without its value's type. It is a class, as a cast to a protocol searches all conformances of the program, once for each
/// type of value: that was a quarter of a start.
// SAFETY: it has constants only, and so has its subclass.
class DescribedKey: @unchecked Sendable {
  let described: KeyDescription

  init(_ described: KeyDescription) {
    self.described = described
    DeclaredKeys.current?.add(described)
  }
}
