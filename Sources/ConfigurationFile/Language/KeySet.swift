import Synchronization

/// Keys that belong together. Every stored property is a `Key`, or a group of keys that several sections share.
protocol KeyGroup: Sendable {}

/// All keys that a section may have. The reader reads a key through its property here, so it cannot read an undeclared one.
protocol KeySet: KeyGroup {
  /// Built once.
  static var table: KeyTable<Self> { get }
  /// A section must have exactly one of these; empty if there is no such rule.
  static var alternatives: [(Self) -> DescribedKey] { get }
  /// Keys that belong to another section, each with the text of its error.
  static var misplaced: [String: String] { get }
}

extension KeySet {
  static var alternatives: [(Self) -> DescribedKey] { [] }
  static var misplaced: [String: String] { [:] }

  /// In the order of declaration.
  static var descriptions: [KeyDescription] { table.all }
  static var alternativeNames: [String] { alternatives.map(table.name) }
}

/// The keys of one `KeySet`, by property and by name.
struct KeyTable<Keys: KeySet>: Sendable {
  let keys: Keys
  /// In the order in which they were made; initialisers make them in the order of declaration.
  let all: [KeyDescription]
  let byName: [String: KeyDescription]

  /// Two keys of one name are a programming error and stop the program.
  init(_ make: @autoclosure () -> Keys) {
    let declared = DeclaredKeys()
    keys = DeclaredKeys.$current.withValue(declared, operation: make)
    all = declared.all
    byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })
  }

  func name(_ key: (Keys) -> DescribedKey) -> String { key(keys).described.name }
}

/// The keys of a table that is being made: each enters itself, so that a declared one cannot be missing. Reflection would find them, too, but
/// takes a tenth of a start.
final class DeclaredKeys: Sendable {
  @TaskLocal static var current: DeclaredKeys?
  private let keys = Mutex<[KeyDescription]>([])

  var all: [KeyDescription] { keys.withLock { $0 } }
  func add(_ key: KeyDescription) { keys.withLock { $0.append(key) } }
}
