import Credentials
import Crypto
import HTTPWire

/// RFC 9530 section 2.
public enum ContentDigest {
  public static let fieldName = Array("content-digest".utf8)
  /// Whether the app vouches for a digest of its body that an origin can compare: the field is a dictionary of byte sequences (RFC 9651
  /// section 3.2) with an algorithm that is not deprecated. Any other field says nothing: origins would ignore it.
  public static func isDeclared(by request: SignableRequest) -> Bool {
    var value: [UInt8] = []
    guard request.append(field: fieldName, to: &value) else { return false }
    return hasKnownAlgorithm(value[...])
  }

  private static func hasKnownAlgorithm(_ value: ArraySlice<UInt8>) -> Bool {
    var isKnown = false
    for member in value.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
      let member = trimmed(member)
      guard let equals = member.firstIndex(of: UInt8(ascii: "=")) else { return false }
      let (name, bytes) = (member[..<equals], member[(equals + 1)...])
      guard isKey(name), bytes.count > 2, bytes.first == UInt8(ascii: ":"), bytes.last == UInt8(ascii: ":"),
        Base64.decode(bytes.dropFirst().dropLast()) != nil
      else { return false }
      let algorithm = HTTPSignaturePolicy.ContentDigest(rawValue: String(decoding: name, as: UTF8.self))
      isKnown = isKnown || algorithm != nil
    }
    return isKnown
  }

  private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var text = text
    while let byte = text.first, byte == 0x20 || byte == 0x09 { text.removeFirst() }
    while let byte = text.last, byte == 0x20 || byte == 0x09 { text.removeLast() }
    return text
  }

  /// RFC 9651 section 3.1.2.
  private static func isKey(_ name: ArraySlice<UInt8>) -> Bool {
    guard let first = name.first, (0x61...0x7a).contains(first) || first == UInt8(ascii: "*") else { return false }
    return name.allSatisfy { (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) || "_-.*".utf8.contains($0) }
  }

  static let linePrefix = Array("Content-Digest: ".utf8)

  /// The value of Content-Digest for a body.
  /// - Parameter known: its digest, if it was computed as the body came.
  public static func value(
    of body: UnsafeRawBufferPointer, by algorithm: HTTPSignaturePolicy.ContentDigest, known: [UInt8]? = nil
  ) -> [UInt8] {
    let hash: HashAlgorithm =
      switch algorithm {
      case .sha256: .sha256
      case .sha512: .sha512
      }
    var value = Array(algorithm.rawValue.utf8)
    value.append(UInt8(ascii: "="))
    // A reload can have changed the algorithm in the meantime.
    let digest = known.flatMap { $0.count == hash.size ? $0 : nil } ?? hash.digest(body)
    StructuredField.append(bytes: digest, to: &value)
    return value
  }
}
