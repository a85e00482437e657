import JSON

/// The language as a JSON Schema (draft 2020-12), made from the description that the reader uses. Editors complete and check
/// `proxy.conf` by it.
///
/// It knows shapes: keys, types, units, words, and which keys exclude one another. What a value means is left to `check`: whether
/// a host is valid, a file exists or a name is defined. Editors convert plain YAML texts (`2` to a number, in YAML 1.1 `off` to a
/// boolean), and the language does not, so the schema accepts both forms.
public enum LanguageSchema {
  /// - Parameter version: of the program, for people who compare two schemas.
  public static func make(version: String) -> JSONValue {
    var builder = SchemaBuilder()
    // Before the definitions, which it collects.
    let root = builder.section(RootKeys.self, KeyPath(), title: "proxy.conf")
    let head: JSONValue = [
      "$schema": "https://json-schema.org/draft/2020-12/schema",
      "$comment": .string("Printed by `authproxy schema`, authproxy \(version)."),
    ]
    return head.adding(root).adding(["$defs": .object(builder.definitions)])
  }
}

extension JSONValue {
  /// An object with the members of both.
  func adding(_ other: JSONValue) -> JSONValue {
    guard case .object(let first) = self, case .object(let second) = other else { preconditionFailure("no objects") }
    return .object(first + second)
  }
}
