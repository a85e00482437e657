@testable import ConfigurationFile

/// A key of the description, and its path.
struct DescribedPlace {
  /// Like `KeyPath.schema`.
  var path: String
  var key: KeyDescription
  /// The same for a key that several sections share.
  var identity: String

  init(path: String, key: KeyDescription, of keys: any KeySet.Type) {
    self.path = path
    self.key = key
    identity = "\(keys.homes[key.name] ?? "?").\(key.name)"
  }
}

extension KeySet {
  /// The types that declare the keys, by name. Sections that share keys share their type.
  static var homes: [String: String] { Dictionary(uniqueKeysWithValues: reflected.map { ($0.name, $0.home) }) }
  /// Its keys, found by reflection.
  static var reflected: [(name: String, home: String)] { reflect(table.keys) }

  private static func reflect(_ group: any KeyGroup) -> [(name: String, home: String)] {
    Mirror(reflecting: group).children.flatMap { child -> [(name: String, home: String)] in
      switch child.value {
      case let key as DescribedKey: [(key.described.name, "\(type(of: group))")]
      case let inner as any KeyGroup: reflect(inner)
      default: preconditionFailure("\(type(of: group)).\(child.label ?? "?") is no key and no group")
      }
    }
  }

  /// Every key from here down. Does not enter a section within itself again.
  static func everyKey(_ path: KeyPath = KeyPath(), within outer: [any KeySet.Type] = []) -> [DescribedPlace] {
    guard !outer.contains(where: { $0 == Self.self }) else { return [] }
    return descriptions.flatMap { key in
      let inner = path.key(key.name)
      let below = key.shape.sections(inner).flatMap { keys, path in keys.everyKey(path, within: outer + [Self.self]) }
      return [DescribedPlace(path: inner.schema, key: key, of: Self.self)] + below
    }
  }
}

extension Shape {
  /// The sections that a value may be or contain.
  func sections(_ path: KeyPath) -> [(keys: any KeySet.Type, path: KeyPath)] {
    switch self {
    case .section(let keys, _): [(keys, path)]
    case .secret: [(SecretKeys.self, path)]
    case .list(let item), .oneOrMore(let item): item.sections(path)
    case .map(let item): item.sections(path.named("x"))
    case .oneOf(let shapes): shapes.flatMap { $0.sections(path) }
    case .text, .boolean, .integer, .duration, .longDuration, .size, .words: []
    }
  }
}

/// A mapping of a file, with the keys that the language describes for it.
struct DescribedSection {
  var keys: any KeySet.Type
  var path: KeyPath
  var entries: [Node.Entry]
  /// The whole file with other entries in this mapping.
  var file: ([Node.Entry]) -> Node

  /// Every mapping of the file that is a section, outer ones first.
  static func all(in file: Node) -> [DescribedSection] {
    all(in: file, .section(RootKeys.self), KeyPath()) { $0 }
  }

  private static func all(
    in node: Node, _ shape: Shape, _ path: KeyPath, _ file: @escaping (Node) -> Node
  ) -> [DescribedSection] {
    func with(_ content: Node.Content) -> Node { file(Node(place: node.place, content: content)) }
    switch (node.content, shape) {
    case (_, .oneOf(let shapes)):
      return shapes.filter { $0.fits(node) }.prefix(1).flatMap { all(in: node, $0, path, file) }
    case (.mapping, .secret): return all(in: node, .section(SecretKeys.self), path, file)
    case (.mapping(let entries), .section(let keys, _)):
      let this = DescribedSection(keys: keys, path: path, entries: entries) { with(.mapping($0)) }
      return [this]
        + entries.indices.flatMap { index -> [DescribedSection] in
          guard let key = keys.descriptions.first(where: { $0.name == entries[index].key }) else { return [] }
          return all(in: entries[index].value, key.shape, path.key(key.name)) { value in
            var entries = entries
            entries[index].value = value
            return with(.mapping(entries))
          }
        }
    case (.mapping(let entries), .map(let item)):
      return entries.indices.flatMap { index in
        all(in: entries[index].value, item, path.named(entries[index].key)) { value in
          var entries = entries
          entries[index].value = value
          return with(.mapping(entries))
        }
      }
    case (.sequence(let items), .list(let item)), (.sequence(let items), .oneOrMore(let item)):
      return items.indices.flatMap { index in
        all(in: items[index], item, path.index(index)) { value in
          var items = items
          items[index] = value
          return with(.sequence(items))
        }
      }
    case (_, .oneOrMore(let item)): return all(in: node, item, path, file)
    default: return []
    }
  }
}

extension Shape {
  /// Whether a node has this shape, out of several.
  fileprivate func fits(_ node: Node) -> Bool {
    switch (node.content, self) {
    case (.sequence, .list), (.sequence, .oneOrMore): true
    case (.mapping(let entries), .secret): entries.contains { SecretKeys.alternativeNames.contains($0.key) }
    case (.mapping, .section), (.mapping, .map): true
    default: false
    }
  }
}
