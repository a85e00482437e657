/// A text with placeholders, which a request fills: what an `hmac` credential signs, or writes into a field. Compiled once, when the
/// configuration is read.
public struct MessageTemplate: Sendable, Hashable {
  public enum Piece: Sendable, Hashable {
    case text([UInt8])
    case method, authority, path, query, target, url
    case body, bodyHash, bodyHashBase64
    case timestamp, nonce, signature
    /// The value of a field; its name in lower case.
    case field([UInt8])
    /// One of the credential's own, by its place there.
    case value(Int)
  }

  /// Why a text is no template.
  public enum Problem: Error, Sendable, Hashable {
    case unknown(String)
    /// A `{` without its `}`, or a `}` without its `{`.
    case loneBrace
  }

  public let pieces: [Piece]

  public static let fieldPrefix = "field:"
  private static let known: [(name: String, piece: Piece)] = [
    ("method", .method), ("authority", .authority), ("path", .path), ("query", .query), ("target", .target), ("url", .url),
    ("body", .body), ("body_sha256", .bodyHash), ("body_sha256_base64", .bodyHashBase64), ("timestamp", .timestamp),
    ("nonce", .nonce), ("signature", .signature),
  ]
  /// What every request fills.
  public static let names = known.map(\.name)

  /// - Parameter values: names of the credential's own placeholders.
  public init(_ text: String, values: [String] = []) throws(Problem) {
    var pieces: [Piece] = []
    var plain: [UInt8] = []
    let bytes = Array(text.utf8)
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      let isDoubled = index + 1 < bytes.count && bytes[index + 1] == byte
      switch byte {
      case UInt8(ascii: "{") where isDoubled, UInt8(ascii: "}") where isDoubled:
        plain.append(byte)
        index += 2
      case UInt8(ascii: "{"):
        guard let end = bytes[index...].firstIndex(of: UInt8(ascii: "}")) else { throw .loneBrace }
        if !plain.isEmpty { pieces.append(.text(plain)) }
        plain = []
        pieces.append(try Self.piece(String(decoding: bytes[(index + 1)..<end], as: UTF8.self), values))
        index = end + 1
      case UInt8(ascii: "}"): throw .loneBrace
      default:
        plain.append(byte)
        index += 1
      }
    }
    if !plain.isEmpty { pieces.append(.text(plain)) }
    self.pieces = pieces
  }

  private static func piece(_ name: String, _ values: [String]) throws(Problem) -> Piece {
    if let own = values.firstIndex(of: name) { return .value(own) }
    if let known = known.first(where: { $0.name == name }) { return known.piece }
    if name.hasPrefix(fieldPrefix) {
      let field = name.dropFirst(fieldPrefix.count)
      if !field.isEmpty { return .field(Array(field.lowercased().utf8)) }
    }
    throw .unknown(name)
  }

  /// The body's bytes or hash are in it, so the body goes ahead of the head.
  public var needsBody: Bool { pieces.contains { [.body, .bodyHash, .bodyHashBase64].contains($0) } }
}
