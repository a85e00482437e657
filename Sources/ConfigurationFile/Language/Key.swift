import Settings

/// A key of a section: its description, and how its value is read.
struct Key<Value>: DescribedKey {
  let described: KeyDescription
  /// Absent, or without a value: nil goes in. Wrong: the error is reported, and what comes out stands for nothing.
  let read: @Sendable (Reading, Written?) -> Value

  /// A key that always has a value. `standard` holds where the key is absent or wrong.
  init(_ name: String, _ form: Form<Value>, default standard: Value, _ sentence: String) where Value: Sendable {
    guard let write = form.write else { preconditionFailure("a default of '\(name)' that cannot be written") }
    described = KeyDescription(name: name, shape: form.shape, absence: write(standard), sentence: sentence)
    read = { reading, written in written.flatMap { form.read(reading, $0) } ?? standard }
  }

  /// A key that has a value where one is written; nil where it is absent or wrong.
  init<Wrapped>(_ name: String, _ form: Form<Wrapped>, _ absence: KeyDescription.Absence, _ sentence: String)
  where Value == Wrapped? {
    described = KeyDescription(name: name, shape: form.shape, absence: absence, sentence: sentence)
    read = { reading, written in written.flatMap { form.read(reading, $0) } }
  }
}

/// A value of the file on its way to be read.
struct Written {
  var node: Node
  var path: KeyPath
  /// Of the key that leads here, or in a list of the value itself; what the value lacks is reported there.
  var place: Place
}
