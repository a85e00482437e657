import Foundation
import JSON

@testable import ConfigurationFile

/// Validates by the keywords of JSON Schema that the printed schema uses. Another keyword stops the tests. It judges every text
/// that the tests read; `SchemaToolTests` compares it with a validator by other hands.
struct SchemaJudge: Sendable {
  static let language = SchemaJudge(LanguageSchema.make(version: "1.2.3"))

  private let root: JSONValue
  private let patterns: [String: NSRegularExpression]

  init(_ root: JSONValue) {
    self.root = root
    var patterns: [String: NSRegularExpression] = [:]
    func collect(_ value: JSONValue) {
      switch value {
      case .object(let members):
        if let pattern = value["pattern"]?.string { patterns[pattern] = try? NSRegularExpression(pattern: pattern) }
        for member in members { collect(member.value) }
      case .array(let elements): for element in elements { collect(element) }
      default: break
      }
    }
    collect(root)
    self.patterns = patterns
  }

  /// What is wrong, each with its path; empty for a valid value.
  func problems(in value: JSONValue) -> [String] { problems(value, root, "") }

  private func problems(_ value: JSONValue, _ schema: JSONValue, _ path: String) -> [String] {
    guard case .object(let keywords) = schema else { preconditionFailure("a schema that is no object at \(path)") }
    return keywords.flatMap { keyword -> [String] in
      let argument = keyword.value
      switch keyword.name {
      case "$schema", "$comment", "$defs", "title", "description", "default": return []
      case "$ref":
        guard let name = argument.string, name.hasPrefix("#/$defs/"), let found = root["$defs"]?[String(name.dropFirst(8))]
        else { preconditionFailure("a reference to nothing: \(argument)") }
        return problems(value, found, path)
      case "anyOf":
        return options(value, argument, path).contains { $0.isEmpty } ? [] : ["\(path): no form fits"]
      case "oneOf":
        let count = options(value, argument, path).count { $0.isEmpty }
        return count == 1 ? [] : ["\(path): \(count) of the alternatives fit"]
      case "type", "enum", "pattern", "minLength", "minimum", "maximum":
        return isGood(value, keyword.name, argument) ? [] : ["\(path): \(keyword.name)"]
      default: return inside(value, keyword.name, argument, schema, path)
      }
    }
  }

  private func options(_ value: JSONValue, _ schemas: JSONValue, _ path: String) -> [[String]] {
    guard case .array(let schemas) = schemas else { preconditionFailure("no alternatives at \(path)") }
    return schemas.map { problems(value, $0, path) }
  }

  private func isGood(_ value: JSONValue, _ keyword: String, _ argument: JSONValue) -> Bool {
    switch (keyword, argument) {
    case ("type", .string(let type)): value.types.contains(type)
    case ("type", .array(let types)): types.contains { value.types.contains($0.string ?? "") }
    case ("enum", .array(let values)): values.contains { $0.equals(value) }
    case ("pattern", .string(let pattern)):
      value.string.map { text in
        patterns[pattern]!.firstMatch(in: text, range: NSRange(text.startIndex..., in: text)) != nil
      } ?? true
    case ("minLength", .number(let least)): value.string.map { $0.unicodeScalars.count >= Int(least)! } ?? true
    case ("minimum", .number(let least)): value.double.map { $0 >= Double(least)! } ?? true
    case ("maximum", .number(let most)): value.double.map { $0 <= Double(most)! } ?? true
    default: preconditionFailure("\(keyword): \(argument)")
    }
  }

  private func inside(
    _ value: JSONValue, _ keyword: String, _ argument: JSONValue, _ schema: JSONValue, _ path: String
  ) -> [String] {
    var members: [JSONValue.Member] = []
    if case .object(let found) = value { members = found }
    switch (keyword, argument) {
    case ("items", _):
      guard case .array(let elements) = value else { return [] }
      return elements.enumerated().flatMap { problems($1, argument, "\(path)[\($0)]") }
    case ("properties", _):
      return members.flatMap { member in
        argument[member.name].map { problems(member.value, $0, "\(path).\(member.name)") } ?? []
      }
    case ("required", .array(let names)):
      guard case .object = value else { return [] }
      return names.compactMap { $0.string }.filter { value[$0] == nil }.map { "\(path): needs \($0)" }
    case ("propertyNames", _): return members.flatMap { problems(.string($0.name), argument, "\(path).\($0.name)") }
    case ("additionalProperties", _):
      let others = members.filter { schema["properties"]?[$0.name] == nil }
      if argument == false { return others.map { "\(path): unknown \($0.name)" } }
      return others.flatMap { problems($0.value, argument, "\(path).\($0.name)") }
    default: preconditionFailure("a keyword that is unknown here: \(keyword)")
    }
  }
}

extension JSONValue {
  fileprivate var double: Double? {
    if case .number(let text) = self { Double(text) } else { nil }
  }

  fileprivate var types: [String] {
    switch self {
    case .null: ["null"]
    case .bool: ["boolean"]
    case .number: double.map { $0 == $0.rounded() } == true ? ["number", "integer"] : ["number"]
    case .string: ["string"]
    case .array: ["array"]
    case .object: ["object"]
    }
  }

  fileprivate func equals(_ other: JSONValue) -> Bool {
    if let double { double == other.double } else { self == other }
  }
}
