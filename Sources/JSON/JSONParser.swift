/// Why a text is not JSON, and where.
public struct JSONError: Error, Hashable {
  public enum Reason: String, Sendable {
    case unexpectedEnd = "ends too early"
    case unexpectedByte = "not JSON"
    case badString = "an invalid string"
    case badNumber = "an invalid number"
    case tooDeep = "nested too deeply"
    case duplicateName = "a duplicate member"
    case trailingBytes = "extra bytes after the end"
  }
  /// Completes the sentence "it is ...".
  public var reason: Reason
  /// Bytes from the start.
  public var offset: Int
}

/// RFC 8259, strictly. Duplicate members are an error, as two readers could take different ones.
public struct JSONParser {
  private let bytes: [UInt8]
  private var index = 0

  /// Deeper than any token response, and no danger for the stack.
  public static let maximumDepth = 32

  public static func parse(_ bytes: [UInt8]) throws(JSONError) -> JSONValue {
    var parser = JSONParser(bytes: bytes)
    parser.skipSpace()
    let value = try parser.value(depth: 0)
    parser.skipSpace()
    guard parser.index == bytes.count else { throw parser.error(.trailingBytes) }
    return value
  }

  private init(bytes: [UInt8]) { self.bytes = bytes }

  private func error(_ reason: JSONError.Reason) -> JSONError { JSONError(reason: reason, offset: index) }

  private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

  private mutating func skipSpace() {
    while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0d { index += 1 }
  }

  private mutating func expect(_ character: Unicode.Scalar) throws(JSONError) {
    guard let byte = next else { throw error(.unexpectedEnd) }
    guard byte == UInt8(ascii: character) else { throw error(.unexpectedByte) }
    index += 1
  }

  private mutating func value(depth: Int) throws(JSONError) -> JSONValue {
    guard depth < Self.maximumDepth else { throw error(.tooDeep) }
    switch next {
    case nil: throw error(.unexpectedEnd)
    case UInt8(ascii: "{"): return try object(depth: depth)
    case UInt8(ascii: "["): return try array(depth: depth)
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try literal("true", .bool(true))
    case UInt8(ascii: "f"): return try literal("false", .bool(false))
    case UInt8(ascii: "n"): return try literal("null", .null)
    default: return .number(try number())
    }
  }

  private mutating func literal(_ text: String, _ value: JSONValue) throws(JSONError) -> JSONValue {
    for character in text.unicodeScalars { try expect(character) }
    return value
  }

  private mutating func object(depth: Int) throws(JSONError) -> JSONValue {
    try expect("{")
    var members: [JSONValue.Member] = []
    var names: Set<String> = []
    skipSpace()
    if next == UInt8(ascii: "}") {
      index += 1
      return .object(members)
    }
    while true {
      skipSpace()
      let name = try string()
      guard names.insert(name).inserted else { throw error(.duplicateName) }
      skipSpace()
      try expect(":")
      skipSpace()
      members.append(.init(name: name, value: try value(depth: depth + 1)))
      skipSpace()
      if next == UInt8(ascii: ",") {
        index += 1
        continue
      }
      try expect("}")
      return .object(members)
    }
  }

  private mutating func array(depth: Int) throws(JSONError) -> JSONValue {
    try expect("[")
    var elements: [JSONValue] = []
    skipSpace()
    if next == UInt8(ascii: "]") {
      index += 1
      return .array(elements)
    }
    while true {
      skipSpace()
      elements.append(try value(depth: depth + 1))
      skipSpace()
      if next == UInt8(ascii: ",") {
        index += 1
        continue
      }
      try expect("]")
      return .array(elements)
    }
  }

  private mutating func string() throws(JSONError) -> String {
    try expect("\"")
    var text: [UInt8] = []
    while true {
      guard let byte = next else { throw error(.unexpectedEnd) }
      index += 1
      switch byte {
      case UInt8(ascii: "\""):
        guard let string = String(validating: text, as: UTF8.self) else { throw error(.badString) }
        return string
      case 0..<0x20: throw error(.badString)
      case UInt8(ascii: "\\"): try escape(into: &text)
      default: text.append(byte)
      }
    }
  }

  private mutating func escape(into text: inout [UInt8]) throws(JSONError) {
    guard let byte = next else { throw error(.unexpectedEnd) }
    index += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
    case UInt8(ascii: "b"): text.append(0x08)
    case UInt8(ascii: "f"): text.append(0x0c)
    case UInt8(ascii: "n"): text.append(0x0a)
    case UInt8(ascii: "r"): text.append(0x0d)
    case UInt8(ascii: "t"): text.append(0x09)
    case UInt8(ascii: "u"):
      var code = try fourDigits()
      if code & 0xfc00 == 0xd800 {
        try expect("\\")
        try expect("u")
        let low = try fourDigits()
        guard low & 0xfc00 == 0xdc00 else { throw error(.badString) }
        code = 0x10000 + (code & 0x3ff) << 10 + low & 0x3ff
      }
      // A low surrogate alone is not a scalar, and fails here.
      guard let scalar = Unicode.Scalar(code) else { throw error(.badString) }
      text += Array(String(Character(scalar)).utf8)
    default: throw error(.badString)
    }
  }

  private mutating func fourDigits() throws(JSONError) -> UInt32 {
    var code: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = next else { throw error(.unexpectedEnd) }
      guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 else { throw error(.badString) }
      code = code << 4 | UInt32(digit)
      index += 1
    }
    return code
  }

  private mutating func number() throws(JSONError) -> String {
    let start = index
    if next == UInt8(ascii: "-") { index += 1 }
    let whole = digits()
    guard whole > 0 else { throw error(start == index ? .unexpectedByte : .badNumber) }
    // No leading zeros.
    if whole > 1, bytes[index - whole] == UInt8(ascii: "0") { throw error(.badNumber) }
    if next == UInt8(ascii: ".") {
      index += 1
      guard digits() > 0 else { throw error(.badNumber) }
    }
    if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
      index += 1
      if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { index += 1 }
      guard digits() > 0 else { throw error(.badNumber) }
    }
    return String(decoding: bytes[start..<index], as: UTF8.self)
  }

  private mutating func digits() -> Int {
    let start = index
    while let byte = next, byte >= 0x30, byte <= 0x39 { index += 1 }
    return index - start
  }
}
