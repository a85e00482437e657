import Crypto

/// Why a credential cannot be written as a header field. Names the problem, never the bytes.
public enum CredentialError: Error, Sendable, Hashable {
  case colonInUserName
  case controlCharacter
  case notUTF8
  case empty
  case spaceInToken
  case spaceAtEdge
  case badFieldName(String)
  case forbiddenFieldName(String)
  case badFormat
  case tooLong
  /// `.` or `..`, which servers resolve.
  case dotSegment
  /// It cannot be opened, or does not fit the algorithm.
  case unusableKey
  /// An OAuth 2.0 credential has no fixed value to render.
  case notStatic
}

extension CredentialError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .colonInUserName: "a user name for Basic authentication cannot contain ':' (RFC 7617)"
    case .controlCharacter: "the value contains a control character, perhaps a line break"
    case .notUTF8: "the value is not valid UTF-8"
    case .empty: "the value is empty"
    case .spaceInToken: "a bearer token consists of visible ASCII characters without spaces"
    case .spaceAtEdge: "the field value begins or ends with white space"
    case .badFieldName(let name): "'\(name)' is not a valid header field name"
    case .forbiddenFieldName(let name): "the field '\(name)' belongs to the connection and cannot carry a credential"
    case .badFormat: "the format must contain '{value}' exactly once"
    case .tooLong: "the value is longer than \(CredentialRenderer.maximumValue) bytes"
    case .dotSegment: "a segment of a path cannot be '.' or '..'"
    case .unusableKey: "the key cannot be used"
    case .notStatic: "the credential has no fixed value"
    }
  }
}

public enum CredentialRenderer {
  /// Bytes of a field value. Servers commonly refuse heads over 8 to 32 KiB.
  public static let maximumValue = 24_576

  /// Renders a credential that does not expire.
  public static func render(_ policy: CredentialPolicy, version: UInt64 = 1) throws(CredentialError) -> RenderedCredential {
    RenderedCredential(name: policy.name, content: try content(of: policy.kind), version: version)
  }

  static func content(of kind: CredentialPolicy.Kind) throws(CredentialError) -> RenderedContent {
    switch kind {
    case .basic, .bearer, .header, .oauth2: .field(try field(of: kind))
    case .sigv4(let policy):
      if case .fixed(let keys) = policy.keys {
        // Sources are read again after refusals, and the token becomes a field.
        if keys.isValid { .material(.awsKeys(keys)) } else { throw .controlCharacter }
      } else {
        throw .notStatic
      }
    case .jwt(let policy): .material(.jwt(try JWTMint(policy)))
    case .hmac(let policy): .material(.hmac(policy))
    case .httpSignature(let policy): .material(.httpSignature(policy))
    case .digest(let policy): .material(.digest(policy))
    case .negotiate(let policy): .material(.negotiate(policy))
    case .query(let name, let value): .material(.target(try TargetPart(parameter: name, value: value)))
    case .path(let segment, let value): .material(.target(try TargetPart(segment: segment, value: value)))
    }
  }

  static func field(of kind: CredentialPolicy.Kind) throws(CredentialError) -> RenderedField {
    switch kind {
    case .basic(let username, let password): try basic(username: username, password: password)
    case .bearer(let token): try bearer(token)
    case .header(let name, let value, let format): try header(name: name, value: value, format: format)
    case .oauth2, .sigv4, .jwt, .hmac, .httpSignature, .digest, .negotiate, .query, .path: throw .notStatic
    }
  }

  /// RFC 7617 section 2.
  static func basic(username: String, password: Secret) throws(CredentialError) -> RenderedField {
    guard !username.utf8.contains(UInt8(ascii: ":")) else { throw .colonInUserName }
    guard !(username.isEmpty && password.isEmpty) else { throw .empty }
    for byte in Array(username.utf8) + password.bytes where byte < 0x20 || byte == 0x7f { throw .controlCharacter }
    guard String(validating: password.bytes, as: UTF8.self) != nil else { throw .notUTF8 }
    let encoded = Base64.encode(Array(username.utf8) + [UInt8(ascii: ":")] + password.bytes)
    return try line("Authorization", Array("Basic ".utf8) + encoded)
  }

  /// RFC 6750 section 2.1, with any token that `TokenResponse` takes.
  static func bearer(_ token: Secret) throws(CredentialError) -> RenderedField { try self.token(token, as: .bearer) }

  /// The same for the scheme of RFC 9449 section 7.1.
  static func token(_ token: Secret, as type: TokenScheme) throws(CredentialError) -> RenderedField {
    guard !token.isEmpty else { throw .empty }
    for byte in token.bytes where byte < 0x20 || byte == 0x7f { throw .controlCharacter }
    guard TokenResponse.isAccessToken(token.bytes) else { throw .spaceInToken }
    return try line("Authorization", Array("\(type.rawValue) ".utf8) + token.bytes)
  }

  static func header(
    name: String, value: Secret, format: String, placeholder: String = "{value}"
  ) throws(CredentialError) -> RenderedField {
    guard !value.isEmpty else { throw .empty }
    let pieces = split(Array(format.utf8), at: Array(placeholder.utf8))
    guard pieces.count == 2 else { throw .badFormat }
    return try line(name, pieces[0] + value.bytes + pieces[1])
  }

  private static func line(_ name: String, _ value: [UInt8]) throws(CredentialError) -> RenderedField {
    let nameBytes = Array(name.utf8)
    guard !nameBytes.isEmpty, nameBytes.count <= 256, nameBytes.allSatisfy(isTokenCharacter) else { throw .badFieldName(name) }
    guard !connectionFields.contains(name.lowercased()) else { throw .forbiddenFieldName(name) }
    guard let first = value.first, let last = value.last else { throw .empty }
    guard value.count <= maximumValue else { throw .tooLong }
    // RFC 9110 section 5.5: visible characters, obs-text, and space or tab between them.
    for byte in value where (byte < 0x20 && byte != 0x09) || byte == 0x7f { throw .controlCharacter }
    for byte in [first, last] where byte == 0x20 || byte == 0x09 { throw .spaceAtEdge }
    return RenderedField(name: nameBytes, line: nameBytes + [0x3a, 0x20] + value + [0x0d, 0x0a])
  }

  /// Fields of framing or routing; a credential in one of them would break the message.
  private static let connectionFields: Set<String> = [
    "connection", "content-length", "expect", "host", "keep-alive", "proxy-authenticate", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade", "via",
  ]

  /// RFC 9110 section 5.6.2.
  private static func isTokenCharacter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: Array("!#$%&'*+-.^_`|~".utf8).contains(byte)
    }
  }

  static func split(_ bytes: [UInt8], at separator: [UInt8]) -> [[UInt8]] {
    var pieces: [[UInt8]] = [[]]
    var index = 0
    while index < bytes.count {
      if bytes[index...].starts(with: separator) {
        pieces.append([])
        index += separator.count
      } else {
        pieces[pieces.count - 1].append(bytes[index])
        index += 1
      }
    }
    return pieces
  }
}
