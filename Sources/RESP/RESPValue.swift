/// A value of RESP3, the protocol of Redis and Valkey.
public enum RESPValue: Sendable, Hashable {
  case simple([UInt8])
  case bulk([UInt8])
  /// Text with its format, three bytes such as `txt`.
  case verbatim(format: [UInt8], [UInt8])
  /// A simple error, or a blob error.
  case error(RESPError)
  case integer(Int64)
  case double(Double)
  /// Digits with an optional sign.
  case bigNumber([UInt8])
  case boolean(Bool)
  /// RESP3's null, or one of RESP2's two.
  case null
  case array([RESPValue])
  case set([RESPValue])
  /// In the order received. Two entries may have one key.
  case map([Entry])
  /// Sent between replies, without a question.
  case push([RESPValue])

  public struct Entry: Sendable, Hashable {
    public var key: RESPValue
    public var value: RESPValue
    public init(key: RESPValue, value: RESPValue) {
      self.key = key
      self.value = value
    }
  }

  /// The bytes of a string of any kind; nil: it is none.
  public var bytes: [UInt8]? {
    switch self {
    case .simple(let bytes), .bulk(let bytes), .verbatim(_, let bytes): bytes
    default: nil
    }
  }

  /// A map's value for a key that is a string, the first one's; nil: there is none, or this is no map.
  public subscript(key: String) -> RESPValue? {
    guard case .map(let entries) = self else { return nil }
    return entries.first { $0.key.bytes.map { $0.elementsEqual(key.utf8) } ?? false }?.value
  }
}

/// An error that a server replied. Its text may repeat arguments of the command, passwords among them, so it is for comparing only.
public struct RESPError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The first word if it is one of upper-case letters and digits: `WRONGPASS`; else empty.
  public let code: String
  public let text: [UInt8]

  /// Longer than any that servers have.
  private static let longestCode = 24

  public init(_ text: [UInt8]) {
    self.text = text
    let word = text.prefix { $0 != UInt8(ascii: " ") }
    let isCode = word.allSatisfy { (0x41...0x5a).contains($0) || (0x30...0x39).contains($0) }
    code = isCode && word.count <= Self.longestCode ? String(decoding: word, as: UTF8.self) : ""
  }

  public var description: String { code.isEmpty ? "an error without a code" : code }
}
