import COpenSSL

/// A P-256 public key as a JWK has it (RFC 7518 section 6.2.1), for servers that check signatures.
public struct PublicKey: Sendable {
  /// 32 bytes each.
  public let x, y: [UInt8]
  /// With the public half alone.
  private let key: PrivateKey

  /// SubjectPublicKeyInfo of an uncompressed P-256 point, up to its coordinates (RFC 5480 section 2).
  private static let prefix: [UInt8] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d,
    0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
  ]

  /// nil if there is no such point on the curve.
  public init?(x: [UInt8], y: [UInt8]) {
    guard x.count == 32, y.count == 32 else { return nil }
    guard let pointer = decodedDER(Self.prefix + x + y, { d2i_PUBKEY(nil, $0, $1) }, { EVP_PKEY_free($0) }) else {
      ERR_clear_error()
      return nil
    }
    key = PrivateKey(owning: pointer)
    (self.x, self.y) = (x, y)
  }

  /// The public half of a P-256 key; nil for other keys.
  public init?(of key: PrivateKey) {
    let info = key.publicKeyInfo
    guard key.algorithm == .p256, info.count == Self.prefix.count + 64 else { return nil }
    self.key = key
    (x, y) = (Array(info[Self.prefix.count..<(Self.prefix.count + 32)]), Array(info.suffix(32)))
  }

  /// Whether its owner made a JWS signature of 64 bytes (RFC 7518 section 3.4).
  public func verifyES256(_ signature: [UInt8], of message: [UInt8]) -> Bool { key.verify(signature, of: message, as: .es256) }
}
