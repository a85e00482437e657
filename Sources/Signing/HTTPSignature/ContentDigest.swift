import Credentials
import Crypto

/// RFC 9530 section 2.
public enum ContentDigest {
  public static let fieldName = Array("content-digest".utf8)
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
