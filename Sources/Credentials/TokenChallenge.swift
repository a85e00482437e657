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

  /// All challenges for tokens in one field value, which may contain several challenges of several schemes (RFC 9110 section
  /// 11.6.1). Skips what it cannot read: a 401 counts whatever its challenge looks like.
  public static func parse(_ fieldValue: [UInt8]) -> [TokenChallenge] {
    var scanner = Scanner(bytes: fieldValue)
    var challenges: [TokenChallenge] = []
    var inToken = false
    while !scanner.atEnd {
      scanner.skip { $0 == 0x20 || $0 == 0x09 || $0 == 0x2c }
      let word = scanner.token()
      guard !word.isEmpty else {
        scanner.skipToComma()
        continue
      }
      let spaces = scanner.skip { $0 == 0x20 || $0 == 0x09 }
      if scanner.next == UInt8(ascii: "="), let value = scanner.parameterValue() {
        guard inToken, let last = challenges.indices.last else { continue }
        switch word.lowercased() {
        case "error": challenges[last].error = challenges[last].error ?? value
        case "scope": challenges[last].scope = challenges[last].scope ?? value
        default: break
        }
      } else {
        let type = [TokenScheme.bearer, .dpop].first { $0.rawValue.lowercased() == word.lowercased() }
        inToken = type != nil
        if let type { challenges.append(TokenChallenge(type: type)) }
        if spaces > 0, !scanner.startsParameter { scanner.skipToComma() }
      }
    }
    return challenges
  }

  private struct Scanner {
    let bytes: [UInt8]
    var index = 0

    var atEnd: Bool { index >= bytes.count }
    var next: UInt8? { index < bytes.count ? bytes[index] : nil }

    @discardableResult
    mutating func skip(while matches: (UInt8) -> Bool) -> Int {
      let start = index
      while let byte = next, matches(byte) { index += 1 }
      return index - start
    }

    /// Moves past a token68 or invalid text; commas in quoted strings do not end it.
    mutating func skipToComma() {
      while let byte = next, byte != 0x2c {
        index += 1
        if byte == UInt8(ascii: "\"") { _ = restOfQuotedString() }
      }
    }

    mutating func token() -> String {
      let start = index
      skip { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
        default: Array("!#$%&'*+-.^_`|~".utf8).contains(byte)
        }
      }
      return String(decoding: bytes[start..<index], as: UTF8.self)
    }

    /// Whether `name =` and a value follow. A token68 may end in `=`, but no value follows it.
    var startsParameter: Bool {
      var ahead = self
      guard !ahead.token().isEmpty else { return false }
      ahead.skip { $0 == 0x20 || $0 == 0x09 }
      guard ahead.next == UInt8(ascii: "=") else { return false }
      ahead.index += 1
      ahead.skip { $0 == 0x20 || $0 == 0x09 }
      guard let byte = ahead.next else { return false }
      return byte != UInt8(ascii: "=") && byte != 0x2c
    }

    /// At `=`. Returns nil and does not move if no value follows.
    mutating func parameterValue() -> String? {
      let start = index
      index += 1
      skip { $0 == 0x20 || $0 == 0x09 }
      if next == UInt8(ascii: "\"") {
        index += 1
        return restOfQuotedString()
      }
      let value = token()
      if value.isEmpty {
        index = start + 1
        return ""
      }
      return value
    }

    mutating func restOfQuotedString() -> String {
      var value: [UInt8] = []
      while let byte = next {
        index += 1
        if byte == UInt8(ascii: "\"") { break }
        if byte == UInt8(ascii: "\\"), let escaped = next {
          value.append(escaped)
          index += 1
        } else {
          value.append(byte)
        }
      }
      return String(decoding: value, as: UTF8.self)
    }
  }
}
