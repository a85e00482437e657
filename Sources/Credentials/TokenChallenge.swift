import HTTPWire

/// The challenges of `WWW-Authenticate` for tokens: Bearer (RFC 6750 section 3) and DPoP (RFC 9449 section 7.1).
public struct TokenChallenge: Sendable, Hashable {
  public var error: String?
  public var scope: String?
  public var type = TokenScheme.bearer

  /// Whether the server wants a proof with its nonce (RFC 9449 section 9).
  public static func asksForNonce(_ fieldValue: [UInt8]) -> Bool {
    parse(fieldValue).contains { $0.type == .dpop && $0.error == "use_dpop_nonce" }
  }

  /// Whether a challenge says insufficient_scope and none says invalid_token. Then no refresh helps, as a new token
  /// would have the same scope.
  public static func saysInsufficientScope(_ fieldValue: UnsafeRawBufferPointer) -> Bool {
    saysInsufficientScope(Array(fieldValue))
  }

  public static func saysInsufficientScope(_ fieldValue: [UInt8]) -> Bool {
    let errors = parse(fieldValue).compactMap(\.error)
    return errors.contains("insufficient_scope") && !errors.contains("invalid_token")
  }

  /// All challenges for tokens in one field value, which may contain several challenges of several schemes. Malformed ones count as far
  /// as they can be read: a 401 counts whatever its challenge looks like.
  public static func parse(_ fieldValue: [UInt8]) -> [TokenChallenge] {
    fieldValue.withUnsafeBytes { bytes in
      var challenges = Challenges(ByteSlice(start: 0, count: bytes.count), in: bytes)
      var found: [TokenChallenge] = []
      while let challenge = challenges.next() {
        let type: TokenScheme
        if challenge.uses("Bearer", in: bytes) {
          type = .bearer
        } else if challenge.uses("DPoP", in: bytes) {
          type = .dpop
        } else {
          continue
        }
        func text(_ name: StaticString) -> String? {
          challenge.text(name, in: bytes).map { String(decoding: $0, as: UTF8.self) }
        }
        found.append(TokenChallenge(error: text("error"), scope: text("scope"), type: type))
      }
      return found
    }
  }
}
