/// A secret as a part of a request's target: percent-encoded (RFC 3986 section 2.1), with what belongs to it.
public struct TargetPart: Sendable, Hashable {
  /// Stands for the secret in `segment`.
  public static let placeholder = "{value}"

  /// `name=value`, or the segment, as it is sent.
  public let text: [UInt8]
  /// Not encoded.
  public let value: Secret

  /// Encodes everything but unreserved characters (RFC 3986 section 2.3).
  init(parameter name: String, value: Secret) throws(CredentialError) {
    guard !name.isEmpty else { throw .empty }
    var text = PercentEncoding.encode(Array(name.utf8)) + [UInt8(ascii: "=")]
    text += try Self.encoded(value)
    self.init(text: text, value: value)
  }

  /// Encodes what a segment cannot have as it is (RFC 3986 section 3.3): `:`, `@` and sub-delimiters stay, as servers compare with what
  /// their documentation shows.
  init(segment: String, value: Secret) throws(CredentialError) {
    let pieces = CredentialRenderer.split(Array(segment.utf8), at: Array(Self.placeholder.utf8))
    guard pieces.count == 2 else { throw .badFormat }
    let (before, after) = (pieces[0], pieces[1])
    guard (before + after).allSatisfy(PercentEncoding.isSegmentCharacter) else { throw .badFormat }
    let text = before + (try Self.encoded(value, for: PercentEncoding.isSegmentCharacter)) + after
    let dot = UInt8(ascii: ".")
    guard text != [dot], text != [dot, dot] else { throw .dotSegment }
    self.init(text: text, value: value)
  }

  /// Whether what is around the placeholder can be in a segment.
  public static func isSegment(_ text: String) -> Bool {
    let (before, after) = around(text)
    return (before + after).allSatisfy(PercentEncoding.isSegmentCharacter)
  }

  /// What precedes and what follows the secret in a segment.
  public static func around(_ segment: String) -> (before: [UInt8], after: [UInt8]) {
    let pieces = CredentialRenderer.split(Array(segment.utf8), at: Array(placeholder.utf8))
    return (pieces.first ?? [], pieces.count > 1 ? pieces[1] : [])
  }

  private init(text: [UInt8], value: Secret) {
    self.text = text
    self.value = value
  }

  private static func encoded(
    _ value: Secret, for keeps: (UInt8) -> Bool = PercentEncoding.isUnreserved
  ) throws(CredentialError) -> [UInt8] {
    guard !value.isEmpty else { throw .empty }
    guard value.bytes.count <= CredentialPolicy.maximumTargetValue else { throw .tooLong }
    // Encoded it could be sent, but in a secret it is a mistake.
    for byte in value.bytes where byte < 0x20 || byte == 0x7f { throw .controlCharacter }
    return PercentEncoding.encode(value.bytes, except: keeps)
  }
}

extension CredentialPolicy {
  /// Bytes of a secret in a target, before it is encoded. Servers commonly refuse targets over 8 KiB.
  public static let maximumTargetValue = 8_192

  /// What it is in the target, with stars in place of the secret; nil: it is in fields.
  public var shownTargetPart: [UInt8]? {
    switch kind {
    case .query(let name, _): return PercentEncoding.encode(Array(name.utf8)) + Array("=***".utf8)
    case .path(let segment, _):
      let (before, after) = TargetPart.around(segment)
      return before + Array("***".utf8) + after
    case .basic, .bearer, .header, .oauth2, .sigv4, .jwt, .hmac, .httpSignature, .digest, .negotiate: return nil
    }
  }
}

/// Percent-encoding of RFC 3986 section 2.1, with upper-case digits (section 2.1).
enum PercentEncoding {
  /// - Parameter keeps: which bytes stay as they are.
  static func encode(_ bytes: [UInt8], except keeps: (UInt8) -> Bool = isUnreserved) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity(bytes.count + bytes.count / 4)
    for byte in bytes {
      if keeps(byte) {
        text.append(byte)
      } else {
        text.append(UInt8(ascii: "%"))
        text.append(hexadecimal[Int(byte >> 4)])
        text.append(hexadecimal[Int(byte & 15)])
      }
    }
    return text
  }

  static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
      true
    default: false
    }
  }

  /// pchar of RFC 3986 section 3.3, but for what is encoded.
  static func isSegmentCharacter(_ byte: UInt8) -> Bool { isUnreserved(byte) || "!$&'()*+,;=:@".utf8.contains(byte) }

  private static let hexadecimal = Array("0123456789ABCDEF".utf8)
}
