import Credentials
import Settings

/// A mapping being read: hands out its keys by kind, and knows at the end which were never asked for.
final class Section {
  let reading: Reading
  let path: KeyPath
  let place: Place
  private let entries: [String: Node.Entry]
  private var asked: [String] = []
  private var missing: [(key: String, reason: String)] = []
  /// Set by `finish`: known keys that unknown ones were probably meant to be. What they miss needs no second error.
  private var misspelt: Set<String>?

  init(_ reading: Reading, _ path: KeyPath, place: Place, entries: [Node.Entry]) {
    self.reading = reading
    self.path = path
    self.place = place
    self.entries = Dictionary(entries.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// To be called when every key has been asked for: whatever else stands here is unknown.
  /// - Parameter reported: keys that are wrong here and reported already.
  func finish(ignoring reported: [String] = []) {
    var misspelt: Set<String> = []
    for entry in entries.values where !asked.contains(entry.key) && !reported.contains(entry.key) {
      let inside = path.shown.isEmpty ? "" : " in \(path.shown)"
      if let meant = Suggestion.nearest(to: entry.key, among: asked) { misspelt.insert(meant) }
      reading.error(entry.keyPlace, "unknown key \(shown(entry.key))\(inside)\(suggestion(for: entry.key, among: asked))")
    }
    self.misspelt = misspelt
    for (key, reason) in missing { report(missing: key, reason) }
  }

  private func report(missing key: String, _ reason: String) {
    guard !isMisspelt([key]) else { return }
    let subject = path.shown.isEmpty ? "the configuration" : path.shown
    error(place, "\(subject) needs '\(key)'\(reason.isEmpty ? "" : " " + reason)")
  }

  func error(_ place: Place?, _ message: String) { reading.error(place, message) }

  // MARK: what is there

  func has(_ key: String) -> Bool { entries[key] != nil }
  var keys: [String] { Array(entries.keys) }
  fileprivate var allEntries: [Node.Entry] { Array(entries.values) }
  func keyPlace(_ key: String) -> Place { entries[key]?.keyPlace ?? place }
  func valuePlace(_ key: String) -> Place { entries[key]?.value.place ?? place }

  /// nil where the key is absent; or without a value, which is an error.
  func node(_ key: String, emptyAllowed: Bool = false) -> Node? {
    ask(key)
    guard let entry = entries[key] else { return nil }
    if entry.value.isEmpty && !emptyAllowed {
      error(entry.keyPlace, "\(path.key(key).shown) has no value")
      return nil
    }
    return entry.value
  }

  private func ask(_ key: String) {
    asked.append(key)
    reading.askedKeys.insert(path.key(key).schema)
  }

  /// True where an unknown key was probably meant to be one of these. To be asked after `finish`.
  func isMisspelt(_ keys: [String]) -> Bool { misspelt.map { !$0.isDisjoint(with: keys) } ?? false }

  /// True where the key is there, or an unknown one that was probably meant to be it; for sections that are not finished yet.
  func mentions(_ key: String, among known: [String]) -> Bool {
    has(key) || entries.keys.contains { !known.contains($0) && Suggestion.nearest(to: $0, among: known) == key }
  }

  /// Reports the absence of a key that must be there, unless it is misspelt.
  @discardableResult
  func require(_ key: String, because reason: String = "") -> Bool {
    if has(key) { return true }
    if misspelt == nil { missing.append((key, reason)) } else { report(missing: key, reason) }
    return false
  }

  /// Reports each of these keys that is there, though it means nothing here.
  func refuse(_ keys: [String], because reason: String) {
    for key in keys where has(key) { error(keyPlace(key), "\(path.key(key).shown) \(reason)") }
  }

  // MARK: by kind

  func text(_ key: String) -> Located<String>? {
    node(key).flatMap { reading.text($0, path.key(key)) }
  }

  func list(_ key: String) -> [(node: Node, path: KeyPath)]? {
    node(key).flatMap { reading.list($0, path.key(key)) }
  }

  /// The texts of a list; those that are none are reported and left out.
  func texts(_ key: String) -> [(text: Located<String>, path: KeyPath)]? {
    list(key)?.compactMap { item in reading.text(item.node, item.path).map { ($0, item.path) } }
  }

  func section(_ key: String, emptyAllowed: Bool = false) -> Section? {
    node(key, emptyAllowed: emptyAllowed).flatMap {
      reading.section($0, path.key(key), place: keyPlace(key), emptyAllowed: emptyAllowed)
    }
  }

  func bool(_ key: String, default standard: Bool) -> Bool {
    guard let text = text(key) else { return standard }
    switch text.value {
    case "true": return true
    case "false": return false
    default:
      error(text.place, "\(path.key(key).shown) must be true or false, not \(shown(text.value))")
      return standard
    }
  }

  func choice<Value: RawRepresentable<String>>(_ key: String, among values: [Value], default standard: Value) -> Value {
    guard let text = text(key) else { return standard }
    if let value = values.first(where: { $0.rawValue == text.value }) { return value }
    error(text.place, "\(path.key(key).shown) \(notAmong(text.value, values.map(\.rawValue)))")
    return standard
  }

  func integer(_ key: String, default standard: Int, in range: ClosedRange<Int>) -> Int {
    measure(key, standard, range, "from \(range.lowerBound) to \(range.upperBound)", Units.integer)
  }

  /// Milliseconds.
  func duration(_ key: String, default standard: Int, atLeast least: Int = 1) -> Int {
    measure(key, standard, least...Units.longestDuration, "at least \(least)ms", Units.duration)
  }

  /// Bytes.
  func size(_ key: String, default standard: Int, in range: ClosedRange<Int>) -> Int {
    measure(
      key, standard, range, "from \(Units.text(size: range.lowerBound)) to \(Units.text(size: range.upperBound))", Units.size)
  }

  private func measure(
    _ key: String, _ standard: Int, _ range: ClosedRange<Int>, _ bounds: String, _ parse: (String) throws(UnitError) -> Int
  ) -> Int {
    guard let text = text(key) else { return standard }
    do throws(UnitError) {
      let value = try parse(text.value)
      if range.contains(value) { return value }
      error(text.place, "\(path.key(key).shown) must be \(bounds), not \(shown(text.value))")
    } catch {
      self.error(text.place, "\(path.key(key).shown): \(shown(text.value)) \(error)")
    }
    return standard
  }

  /// Absolute; what is written relative starts at the configuration file's folder.
  func filePath(_ key: String) -> Located<String>? {
    guard let text = text(key) else { return nil }
    guard !text.value.utf8.contains(0) else {
      error(text.place, "\(path.key(key).shown) holds a NUL")
      return nil
    }
    return Located(value: reading.resolve(text.value), place: text.place)
  }

  func secret(_ key: String) -> Located<Secret>? {
    node(key).flatMap { reading.secret($0, path.key(key), place: keyPlace(key)) }
  }
}

/// `must be a, b or c, not 'd' (did you mean ...?)`
func notAmong(_ text: String, _ names: [String]) -> String {
  let listed = names.count < 2 ? names.joined() : "\(names.dropLast().joined(separator: ", ")) or \(names.last ?? "")"
  return "must be \(listed), not \(shown(text))\(suggestion(for: text, among: names))"
}

extension Section {
  /// The entries of a mapping whose keys are names that the operator chose, in the order of the file.
  func named() -> [(name: String, place: Place, node: Node)] {
    let known = allEntries.sorted { $0.keyPlace < $1.keyPlace }
    return known.compactMap { entry in
      let path = path.named(entry.key)
      guard !entry.key.isEmpty else {
        error(entry.keyPlace, "a name in \(self.path.shown) is empty")
        return nil
      }
      guard !entry.value.isEmpty else {
        error(entry.keyPlace, "\(path.shown) has no value")
        return nil
      }
      return (entry.key, entry.keyPlace, entry.value)
    }
  }
}
