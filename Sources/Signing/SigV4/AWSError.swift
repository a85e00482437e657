import HTTPWire
import JSON

/// The code of an error that an AWS service answers, where it says something about keys.
public enum AWSError: Sendable, Hashable {
  /// The keys have expired, or are not known: newer ones may help.
  case keysRefused
  case accessDenied
  /// Anything else, or none.
  case other

  /// - Parameter code: with or without a namespace in front (`com.amazon.coral.service#`), an URL behind (`:http://...`).
  public init(code: some Sequence<UInt8>) {
    var name = Array(code)
    if let hash = name.lastIndex(of: UInt8(ascii: "#")) { name.removeFirst(hash + 1) }
    if let colon = name.firstIndex(of: UInt8(ascii: ":")) { name.removeLast(name.count - colon) }
    while let last = name.last, last == 0x20 || last == 0x09 { name.removeLast() }
    let refused: [StaticString] = [
      "ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "UnrecognizedClientException",
    ]
    if refused.contains(where: { name.equals($0) }) {
      self = .keysRefused
    } else if name.equals("AccessDenied") || name.equals("AccessDeniedException") {
      self = .accessDenied
    } else {
      self = .other
    }
  }

  /// - Parameter body: JSON or XML, whole or its beginning.
  public init(body: [UInt8]) {
    guard let first = body.first(where: { $0 > 0x20 }) else {
      self = .other
      return
    }
    let code = first == UInt8(ascii: "{") ? Self.jsonCode(body) : Self.xmlCode(body)
    self = code.isEmpty ? .other : AWSError(code: code)
  }

  /// The whole field of an answer's head; nil: it has none.
  public init?(_ head: borrowing ResponseHead, in bytes: UnsafeRawBufferPointer) {
    guard let field = head.fields.only("x-amzn-errortype", in: bytes) ?? head.fields.only("x-amz-error-code", in: bytes)
    else { return nil }
    self.init(code: field.value.bytes(in: bytes))
  }

  /// The text of the first `<Code>`.
  private static func xmlCode(_ body: [UInt8]) -> [UInt8] {
    let tag = Array("<Code>".utf8)
    var index = 0
    while index + tag.count < body.count {
      if body[index] == tag[0], body[index..<(index + tag.count)].elementsEqual(tag) {
        let start = index + tag.count
        guard let end = body[start...].firstIndex(of: UInt8(ascii: "<")) else { break }
        return Array(trimmed(body[start..<end]))
      }
      index += 1
    }
    return []
  }

  private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var text = text
    while let first = text.first, first <= 0x20 { text.removeFirst() }
    while let last = text.last, last <= 0x20 { text.removeLast() }
    return text
  }

  /// `__type` or `code` of an object. One that is cut off has none.
  private static func jsonCode(_ body: [UInt8]) -> [UInt8] {
    guard let value = try? JSONParser.parse(body) else { return [] }
    for name in ["__type", "code", "Code"] { if let text = value[name]?.string { return Array(text.utf8) } }
    return []
  }
}
