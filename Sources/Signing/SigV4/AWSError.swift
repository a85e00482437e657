import HTTPWire

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
    let code = AWSErrorCode.find(in: body)
    self = code.isEmpty ? .other : AWSError(code: code)
  }

  /// The whole field of an answer's head; nil: it has none.
  public init?(_ head: borrowing ResponseHead, in bytes: UnsafeRawBufferPointer) {
    guard let field = head.fields.only("x-amzn-errortype", in: bytes) ?? head.fields.only("x-amz-error-code", in: bytes)
    else { return nil }
    self.init(code: field.value.bytes(in: bytes))
  }
}
