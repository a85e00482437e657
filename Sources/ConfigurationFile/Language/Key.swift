import Settings

/// A key of a section: its description, and how its value is read.
// SAFETY: see `DescribedKey`.
final class Key<Value>: DescribedKey, @unchecked Sendable {
  /// Takes nil for a key that is absent or has no value. After an error, which it reports, the result has no meaning.
  let read: @Sendable (Reading, Written?) -> Value

  /// A key that always has a value: `standard` if the key is absent or has an error.
  init(_ name: String, _ form: Form<Value>, default standard: Value, _ sentence: String) where Value: Sendable {
    guard let write = form.write else { preconditionFailure("a default of '\(name)' that cannot be written") }
    read = { reading, written in written.flatMap { form.read(reading, $0) } ?? standard }
    super.init(KeyDescription(name: name, shape: form.shape, absence: write(standard), sentence: sentence))
  }

  /// A key without a default: its value is nil if the key is absent or has an error.
  init<Wrapped>(_ name: String, _ form: Form<Wrapped>, _ absence: KeyDescription.Absence, _ sentence: String)
  where Value == Wrapped? {
    read = { reading, written in written.flatMap { form.read(reading, $0) } }
    super.init(KeyDescription(name: name, shape: form.shape, absence: absence, sentence: sentence))
  }
}

/// A value in the file, before it is read.
struct Written {
  var node: Node
  var path: KeyPath
  /// Place of the key, or of the value itself in a list. Errors about missing parts of the value point here.
  var place: Place
}
