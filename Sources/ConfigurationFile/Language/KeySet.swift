/// Keys that belong together. Every stored property is a `Key`, or a group of keys that several sections share.
protocol KeyGroup: Sendable {}

/// All keys that a section may have. The reader reads a key through its property here, so it cannot read an undeclared one.
protocol KeySet: KeyGroup {
  /// Built once.
  static var table: KeyTable<Self> { get }
  /// A section must have exactly one of these; empty if there is no such rule.
  static var alternatives: [PartialKeyPath<Self>] { get }
  /// Keys that belong to another section, each with the text of its error.
  static var misplaced: [String: String] { get }
}

extension KeySet {
  static var alternatives: [PartialKeyPath<Self>] { [] }
  static var misplaced: [String: String] { [:] }

  /// In the order of declaration.
  static var descriptions: [KeyDescription] { table.all }
  static var alternativeNames: [String] { alternatives.map(table.name) }
}

/// The keys of one `KeySet`, by property and by name.
struct KeyTable<Keys: KeySet>: Sendable {
  let keys: Keys
  let all: [KeyDescription]
  let byName: [String: KeyDescription]

  /// Two keys of one name are a programming error and stop the program.
  init(_ keys: Keys) {
    self.keys = keys
    all = Self.collect(keys)
    byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })
  }

  /// Collects the keys by reflection, so that a declared key cannot be missing from the list.
  private static func collect(_ group: any KeyGroup) -> [KeyDescription] {
    let home = "\(type(of: group))"
    return Mirror(reflecting: group).children.flatMap { child -> [KeyDescription] in
      switch child.value {
      case let key as DescribedKey:
        var described = key.described
        described.home = home
        return [described]
      case let inner as any KeyGroup: return collect(inner)
      default: preconditionFailure("\(home).\(child.label ?? "?") is no key")
      }
    }
  }

  func name(_ key: PartialKeyPath<Keys>) -> String {
    guard let key = keys[keyPath: key] as? DescribedKey else { preconditionFailure("\(key) is no key of \(Keys.self)") }
    return key.described.name
  }
}
