import JSON

@testable import ConfigurationFile

/// How editors read YAML before they ask the schema.
enum YAMLVersion: CaseIterable {
  /// The core schema of YAML 1.2.2, section 10.3: yaml-language-server, and check-jsonschema.
  case core
  /// The types of YAML 1.1, which PyYAML and older editors have. Dates stay texts in JSON.
  case old

  func value(of text: String) -> JSONValue {
    switch text {
    case "", "~", "null", "Null", "NULL": return .null
    case "true", "True", "TRUE": return true
    case "false", "False", "FALSE": return false
    case "yes", "Yes", "YES", "on", "On", "ON": if self == .old { return true }
    case "no", "No", "NO", "off", "Off", "OFF": if self == .old { return false }
    default: break
    }
    return number(text) ?? .string(text)
  }

  private func number(_ text: String) -> JSONValue? {
    let isNegative = text.hasPrefix("-")
    let digits = isNegative || text.hasPrefix("+") ? String(text.dropFirst()) : text
    func integer(_ digits: some StringProtocol, _ radix: Int) -> JSONValue? {
      guard digits.first?.isHexDigit == true, let value = Int(digits, radix: radix) else { return nil }
      return .integer(isNegative ? -value : value)
    }
    if digits.hasPrefix("0x"), let value = integer(digits.dropFirst(2), 16) { return value }
    switch self {
    case .core: if digits.hasPrefix("0o"), let value = integer(digits.dropFirst(2), 8) { return value }
    case .old:
      if digits.hasPrefix("0"), digits.count > 1, let value = integer(digits, 8) { return value }
      // Sexagesimal: an IPv6 address may look like one.
      if digits.wholeMatch(of: /[1-9][0-9]*(:[0-5]?[0-9])+/) != nil {
        let value = digits.split(separator: ":").reduce(0.0) { $0 * 60 + (Double($1) ?? 0) }
        return .number("\(isNegative ? -value : value)")
      }
    }
    if let value = integer(digits, 10) { return value }
    guard digits.wholeMatch(of: /(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?/) != nil, let value = Double(text) else {
      return nil
    }
    return .number("\(value)")
  }
}

extension Node {
  /// nil if the text is no YAML, or not all of it can be used.
  static func whole(_ text: [UInt8]) -> Node? {
    let report = Report(file: "proxy.conf")
    let node = NodeComposer.compose(text, report: report)
    return report.hasErrors ? nil : node
  }

  /// As JSON, the way an editor's schema gets it.
  func delivered(_ version: YAMLVersion) -> JSONValue {
    switch content {
    case .scalar(let text, plain: true): version.value(of: text)
    case .scalar(let text, plain: false): .string(text)
    case .sequence(let items): .array(items.map { $0.delivered(version) })
    case .mapping(let entries): .object(entries.map { .init(name: $0.key, value: $0.value.delivered(version)) })
    }
  }
}
