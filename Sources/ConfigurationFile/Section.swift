import Settings

/// A mapping of the file with the keys that it may have. `Keys` is a `KeySet`, which only the methods say: a type that says it would be
/// checked when it is first used, by a search through all conformances of the program.
final class Section<Keys> {
  let reading: Reading
  let path: KeyPath
  /// Place of the key that this section belongs to.
  let place: Place
  fileprivate let entries: [String: Node.Entry]
  /// Known keys that unknown keys were probably meant to be. They get no second error for being absent.
  fileprivate var misspelt: Set<String> = []

  /// Reports keys that this section cannot have, and required keys that are missing.
  /// - Parameter isPeek: the caller wants a single key, so the others are not checked.
  init(_ reading: Reading, _ path: KeyPath, place: Place, entries: [Node.Entry], isPeek: Bool = false) where Keys: KeySet {
    self.reading = reading
    self.path = path
    self.place = place
    self.entries = Dictionary(entries.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
    guard !isPeek else { return }
    for entry in self.entries.values where Keys.table.byName[entry.key] == nil { reportUnknown(entry) }
    for key in Keys.table.all where key.absence == .required { require(key.name) }
  }
}

extension Section where Keys: KeySet {
  private func reportUnknown(_ entry: Node.Entry) {
    if let reason = Keys.misplaced[entry.key] { return error(entry.keyPlace, "\(path.key(entry.key).shown) \(reason)") }
    let known = Keys.table.byName.keys
    let inside = path.shown.isEmpty ? "" : " in \(path.shown)"
    if let meant = Suggestion.nearest(to: entry.key, among: known) { misspelt.insert(meant) }
    error(entry.keyPlace, "unknown key \(shown(entry.key))\(inside)\(suggestion(for: entry.key, among: known))")
  }

  private func require(_ key: String, because reason: String = "") {
    guard entries[key] == nil, !misspelt.contains(key) else { return }
    let subject = path.shown.isEmpty ? "the configuration" : path.shown
    error(place, "\(subject) needs '\(key)'\(reason.isEmpty ? "" : " " + reason)")
  }

  func error(_ place: Place?, _ message: String) { reading.error(place, message) }

  // MARK: What is there

  var isEmpty: Bool { entries.isEmpty }
  func has(_ key: (Keys) -> DescribedKey) -> Bool { entries[name(key)] != nil }
  func hasEmptyList(_ key: (Keys) -> DescribedKey) -> Bool {
    if case .sequence(let items)? = entries[name(key)]?.value.content { items.isEmpty } else { false }
  }
  func keyPlace(_ key: (Keys) -> DescribedKey) -> Place { entries[name(key)]?.keyPlace ?? place }
  func valuePlace(_ key: (Keys) -> DescribedKey) -> Place { entries[name(key)]?.value.place ?? place }
  func path(_ key: (Keys) -> DescribedKey) -> KeyPath { path.key(name(key)) }

  /// Whether an unknown key was probably meant to be this one, or one of these.
  func isMisspelt(_ key: (Keys) -> DescribedKey) -> Bool { misspelt.contains(name(key)) }
  func isMisspelt(_ keys: [(Keys) -> DescribedKey]) -> Bool { keys.contains(where: isMisspelt) }

  /// Whether the key is there, or an unknown key that was probably meant to be it.
  func mentions(_ key: (Keys) -> DescribedKey) -> Bool { has(key) || isMisspelt(key) }

  /// How many of the section's alternatives are there. Any number but one is an error.
  var countOfAlternatives: Int { Keys.alternatives.count(where: has) }

  /// Reports the absence of a key that must be there, unless it is misspelt.
  @discardableResult
  func require(_ key: (Keys) -> DescribedKey, because reason: String = "") -> Bool {
    require(name(key), because: reason)
    return has(key)
  }

  /// Reports each of these keys that is there, as it has no effect here.
  func refuse(_ keys: [(Keys) -> DescribedKey], because reason: String) {
    for key in keys where has(key) { error(keyPlace(key), "\(path(key).shown) \(reason)") }
  }

  private func name(_ key: (Keys) -> DescribedKey) -> String { Keys.table.name(key) }

  // MARK: Values

  /// The key's value, its default or nil. Reports errors. Each call reads secrets again.
  func read<Value>(_ key: (Keys) -> Key<Value>) -> Value {
    let key = key(Keys.table.keys)
    return key.read(reading, written(key.described))
  }

  /// The key's node in the file; nil if the key is absent, or has no value, which is reported.
  func written(_ key: (Keys) -> DescribedKey) -> Written? { Keys.table.byName[name(key)].flatMap(written) }

  private func written(_ key: KeyDescription) -> Written? {
    let path = path.key(key.name)
    reading.askedKeys.insert(path.schema)
    guard let entry = entries[key.name] else { return nil }
    if entry.value.isEmpty && !key.shape.mayBeEmpty {
      error(entry.keyPlace, "\(path.shown) has no value")
      return nil
    }
    return Written(node: entry.value, path: path, place: entry.keyPlace)
  }
}
