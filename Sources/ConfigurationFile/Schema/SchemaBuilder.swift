import JSON

/// Describes sections, and collects those that others refer to.
struct SchemaBuilder {
  /// By name, outer ones first.
  private(set) var definitions: [JSONValue.Member] = []
  /// Sections that have a definition, or whose definition is under way: an evaluator may contain evaluators.
  private var names: [ObjectIdentifier: String] = [:]
  /// The definition of `Shape.secret`.
  private static let secret = "secret"

  mutating func section(_ keys: any KeySet.Type, _ path: KeyPath, title: String) -> JSONValue {
    let descriptions = keys.descriptions
    let properties = descriptions.map { JSONValue.Member(name: $0.name, value: property($0, path.key($0.name))) }
    var schema: JSONValue = ["title": .string(title), "type": "object", "properties": .object(properties)]
    let required = descriptions.filter { $0.absence == .required }.map { JSONValue.string($0.name) }
    if !required.isEmpty { schema = schema.adding(["required": .array(required)]) }
    let alternatives = keys.alternativeNames.map { name -> JSONValue in
      ["title": .string(name), "required": [.string(name)]]
    }
    if !alternatives.isEmpty { schema = schema.adding(["oneOf": .array(alternatives)]) }
    return schema.adding(["additionalProperties": false])
  }

  private mutating func property(_ key: KeyDescription, _ path: KeyPath) -> JSONValue {
    var schema: JSONValue = ["description": .string(key.explanation)]
    if let standard = key.shape.json(key.absence) { schema = schema.adding(["default": standard]) }
    return schema.adding(self.schema(key.shape, path))
  }

  /// - Parameter path: of the value; it names the definitions of sections within.
  private mutating func schema(_ shape: Shape, _ path: KeyPath) -> JSONValue {
    let forms = forms(shape, path)
    return forms.count == 1 ? forms[0].schema : ["anyOf": .array(forms.map(\.titled))]
  }

  /// One of the forms that a value may have.
  private struct Form {
    var title: String
    var schema: JSONValue

    /// A definition has a title of its own.
    var titled: JSONValue {
      let named: JSONValue = ["title": .string(title)]
      return schema["$ref"] == nil ? named.adding(schema) : schema
    }
  }

  private mutating func forms(_ shape: Shape, _ path: KeyPath) -> [Form] {
    let schema: JSONValue
    switch shape {
    case .oneOf(let shapes): return shapes.flatMap { forms($0, path) }
    case .oneOrMore(let item): return forms(item, path) + forms(.list(of: item), path)
    case .section(let keys, mayBeEmpty: true):
      return forms(.section(keys), path) + [Form(title: "nothing", schema: ["type": "null"])]
    case .section(let keys, mayBeEmpty: false): schema = reference(keys, path)
    case .secret: schema = secret()
    case .list(let item): schema = ["type": "array", "items": self.schema(item, path)]
    case .map(let item):
      schema = [
        "type": "object", "propertyNames": ["minLength": 1], "additionalProperties": self.schema(item, path.named("x")),
      ]
    case .text(let text): schema = text.schema
    case .boolean, .integer, .duration, .longDuration, .size, .words: schema = shape.scalarSchema
    }
    return [Form(title: shape.title, schema: schema)]
  }

  // MARK: Definitions

  private mutating func reference(_ keys: any KeySet.Type, _ path: KeyPath) -> JSONValue {
    if let known = names[ObjectIdentifier(keys)] { return Self.reference(known) }
    // No section stands both beside freely chosen names and under one, and a URI's fragment has no bare `*`.
    let name = path.schema.replacing(".*", with: "")
    names[ObjectIdentifier(keys)] = name
    define(name) { $0.section(keys, path, title: path.schema) }
    return Self.reference(name)
  }

  private mutating func secret() -> JSONValue {
    if !definitions.contains(where: { $0.name == Self.secret }) {
      define(Self.secret) { builder in
        let sources = builder.reference(SecretKeys.self, KeyPath().key(Self.secret).key("source"))
        let plain: JSONValue = ["title": "the secret itself"]
        return ["title": .string(Self.secret), "anyOf": [plain.adding(Shape.Text.anything.schema), sources]]
      }
    }
    return Self.reference(Self.secret)
  }

  private mutating func define(_ name: String, _ schema: (inout SchemaBuilder) -> JSONValue) {
    precondition(!definitions.contains { $0.name == name }, "two definitions of '\(name)'")
    let index = definitions.count
    definitions.append(.init(name: name, value: .null))
    definitions[index].value = schema(&self)
  }

  private static func reference(_ name: String) -> JSONValue { ["$ref": .string("#/$defs/\(name)")] }
}
