/// A JSON text, read or to be written. Numbers stay text; the reader of a member decides what is valid.
public indirect enum JSONValue: Sendable, Hashable {
  case null
  case bool(Bool)
  case number(String)
  case string(String)
  case array([JSONValue])
  case object([Member])

  public struct Member: Sendable, Hashable {
    public var name: String
    public var value: JSONValue
    public init(name: String, value: JSONValue) {
      self.name = name
      self.value = value
    }
  }

  public static func integer(_ value: some BinaryInteger) -> JSONValue { .number(String(value)) }

  /// A member of an object; nil if this is not an object or has no such member.
  public subscript(name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.name == name }?.value
  }

  public var string: String? {
    if case .string(let text) = self { text } else { nil }
  }

  /// A whole number, written without fraction or exponent.
  public var integer: Int64? {
    if case .number(let text) = self { Int64(text) } else { nil }
  }
}

extension JSONValue {
  /// The compact text of this value, with object members in their order.
  public var text: [UInt8] {
    var bytes: [UInt8] = []
    write(to: &bytes)
    return bytes
  }

  public func write(to bytes: inout [UInt8]) {
    switch self {
    case .null: bytes += Array("null".utf8)
    case .bool(let value): bytes += Array((value ? "true" : "false").utf8)
    case .number(let text): bytes += Array(text.utf8)
    case .string(let text): JSONString.append(text, to: &bytes)
    case .array(let elements):
      bytes.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        element.write(to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let members):
      bytes.append(UInt8(ascii: "{"))
      for (index, member) in members.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        JSONString.append(member.name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        member.value.write(to: &bytes)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }
}

/// An object whose members have the order of the literal.
extension JSONValue: ExpressibleByDictionaryLiteral {
  public init(dictionaryLiteral members: (String, JSONValue)...) {
    self = .object(members.map { Member(name: $0.0, value: $0.1) })
  }
}
