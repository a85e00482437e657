import Credentials
import Settings

/// The form of a value: its description and its reader together, so that they cannot differ.
struct Form<Value>: Sendable {
  let shape: Shape
  /// Returns nil after an error, which it reports.
  let read: @Sendable (Reading, Written) -> Value?
  /// A value as text of the file; nil for forms without defaults.
  var write: (@Sendable (Value) -> KeyDescription.Absence)?
}

// MARK: Texts

extension Form where Value == Located<String> {
  static func text(_ text: Shape.Text) -> Form { self.text(shape: .text(text)) }

  /// - Parameter shape: for the description only; the caller checks it.
  static func text(shape: Shape) -> Form { Form(shape: shape) { reading, written in reading.text(written.node, written.path) } }

  /// An absolute path; a relative one starts at the configuration file's folder.
  static var file: Form {
    Form(shape: .text(.file)) { reading, written in
      guard let text = reading.text(written.node, written.path) else { return nil }
      guard !text.value.utf8.contains(0) else {
        reading.error(text.place, "\(written.path.shown) contains a NUL")
        return nil
      }
      return Located(value: reading.resolve(text.value), place: text.place)
    }
  }
}

extension Form where Value == Located<Secret> {
  static var secret: Form {
    Form(shape: .secret) { reading, written in reading.secret(written) }
  }
}

/// A text in a list.
struct TextItem {
  var text: Located<String>
  var path: KeyPath
}

extension Form where Value == TextItem {
  static func item(_ text: Shape.Text) -> Form {
    Form(shape: .text(text)) { reading, written in
      reading.text(written.node, written.path).map { TextItem(text: $0, path: written.path) }
    }
  }
}

extension Form where Value == [TextItem] {
  static func texts(_ text: Shape.Text) -> Form { texts(of: .text(text)) }

  /// Reports items that are not text, and leaves them out.
  /// - Parameter shape: of an item, for the description only; the caller checks it.
  static func texts(of shape: Shape) -> Form {
    Form(shape: .list(of: shape)) { reading, written in
      reading.list(written)?.compactMap { item in
        reading.text(item.node, item.path).map { TextItem(text: $0, path: item.path) }
      }
    }
  }
}

// MARK: Sections, lists and maps

extension Form {
  static func section<Keys: KeySet>(_ keys: Keys.Type, mayBeEmpty: Bool = false) -> Form where Value == Section<Keys> {
    Form(shape: .section(keys, mayBeEmpty: mayBeEmpty)) { reading, written in
      reading.section(written, mayBeEmpty: mayBeEmpty)
    }
  }

  static func list<Item>(of item: Form<Item>) -> Form where Value == Listed<Item> {
    Form(shape: .list(of: item.shape)) { reading, written in
      reading.list(written).map { Listed(reading, $0, item, place: written.node.place) }
    }
  }

  /// A list, or a single item that is not in a list.
  static func oneOrMore<Item>(of item: Form<Item>) -> Form where Value == Listed<Item> {
    Form(shape: .oneOrMore(of: item.shape)) { reading, written in
      var items = [Written(node: written.node, path: written.path, place: written.node.place)]
      if case .sequence = written.node.content { items = reading.list(written) ?? [] }
      return Listed(reading, items, item, place: written.node.place)
    }
  }

  static func map<Item>(of item: Form<Item>) -> Form where Value == [Named<Item>] {
    Form(shape: .map(of: item.shape)) { reading, written in
      reading.named(written)?.map { name, written in
        Named(name: name, path: written.path, value: item.read(reading, written))
      }
    }
  }

  /// A text (a short form, or a special word), or a section.
  static func text<Keys: KeySet>(_ shape: Shape, or keys: Keys.Type) -> Form where Value == TextOr<Keys> {
    Form(shape: .oneOf([shape, .section(keys)])) { reading, written in
      if case .scalar = written.node.content { return reading.text(written.node, written.path).map { .text($0, written.path) } }
      return reading.section(written).map { .section($0) }
    }
  }

  /// A section, or true or false.
  static func switched<Keys: KeySet>(or keys: Keys.Type) -> Form where Value == SwitchOr<Keys> {
    Form(shape: .oneOf([.boolean, .section(keys)])) { reading, written in
      if case .scalar = written.node.content { return Form<Bool>.boolean.read(reading, written).map { .value($0) } }
      return reading.section(written).map { .section($0) }
    }
  }

  /// A section, or a secret, which may be a mapping as well.
  static func secret<Keys: KeySet>(or keys: Keys.Type) -> Form where Value == SecretOr<Keys> {
    Form(shape: .oneOf([.secret, .section(keys)])) { reading, written in
      if case .mapping(let entries) = written.node.content,
        !entries.contains(where: { SecretKeys.alternativeNames.contains($0.key) })
      {
        return reading.section(written).map { .section($0) }
      }
      return reading.secret(written).map { .secret($0) }
    }
  }
}

/// The items of a list.
struct Listed<Item> {
  /// Without those that have errors.
  var items: [Item]
  /// No item has an error.
  var isWhole: Bool
  /// Place of the list.
  var place: Place

  fileprivate init(_ reading: Reading, _ written: [Written], _ form: Form<Item>, place: Place) {
    items = written.compactMap { form.read(reading, $0) }
    isWhole = items.count == written.count
    self.place = place
  }
}

/// An entry under a name that the operator chose.
struct Named<Value> {
  var name: Located<String>
  var path: KeyPath
  /// nil after an error.
  var value: Value?
}

enum TextOr<Keys: KeySet> {
  case text(Located<String>, KeyPath)
  case section(Section<Keys>)
}

enum SwitchOr<Keys: KeySet> {
  case value(Bool)
  case section(Section<Keys>)
}

enum SecretOr<Keys: KeySet> {
  case secret(Located<Secret>)
  case section(Section<Keys>)
}
