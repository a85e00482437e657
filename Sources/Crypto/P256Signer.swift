import COpenSSL

/// Signs many messages with one P-256 key. It keeps OpenSSL's context, so a signature costs little more than its arithmetic
/// (15 µs). Confined to one thread at a time.
public final class P256Signer {
  private let context: OpaquePointer

  /// - Throws: `key`, for keys on other curves.
  public init(_ key: PrivateKey) throws(OpenSSLError) {
    guard key.algorithm == .p256 else { throw OpenSSLError(.key, "the key is not an EC key over P-256") }
    // The context has a reference to the key of its own.
    guard let context = EVP_PKEY_CTX_new_from_pkey(nil, key.pointer, nil) else { throw .drained(.crypto, "ES256") }
    guard EVP_PKEY_sign_init(context) == 1 else {
      EVP_PKEY_CTX_free(context)
      throw .drained(.crypto, "ES256")
    }
    self.context = context
  }

  deinit { EVP_PKEY_CTX_free(context) }

  /// The signature of ES256 (RFC 7518 section 3.4): r || s, 32 bytes each, over the message's SHA-256.
  public func sign(_ message: [UInt8]) throws(OpenSSLError) -> [UInt8] {
    let digest = SHA256.digest(message)
    // The longest form: two lengths and two numbers with a sign byte each.
    var size = 72
    var encoded = [UInt8](repeating: 0, count: size)
    guard EVP_PKEY_sign(context, &encoded, &size, digest, digest.count) == 1,
      let joined = Self.joined(encoded.prefix(size))
    else { throw .drained(.crypto, "ES256") }
    return joined
  }

  /// r || s from `SEQUENCE { INTEGER r, INTEGER s }`; nil if it is anything else.
  static func joined(_ encoded: ArraySlice<UInt8>) -> [UInt8]? {
    guard encoded.count >= 2, encoded.first == 0x30, Int(encoded[encoded.startIndex + 1]) == encoded.count - 2 else {
      return nil
    }
    var rest = encoded.dropFirst(2)
    var joined: [UInt8] = []
    joined.reserveCapacity(64)
    for _ in 0..<2 {
      guard rest.count >= 2, rest.first == 0x02 else { return nil }
      let length = Int(rest[rest.startIndex + 1])
      guard length > 0, rest.count >= 2 + length else { return nil }
      var number = rest.dropFirst(2).prefix(length)
      while number.count > 32, number.first == 0 { number = number.dropFirst() }
      guard number.count <= 32 else { return nil }
      for _ in number.count..<32 { joined.append(0) }
      joined += number
      rest = rest.dropFirst(2 + length)
    }
    return rest.isEmpty ? joined : nil
  }
}

extension PrivateKey {
  /// The public point, 32 bytes for each coordinate; nil for keys on other curves.
  public var p256Point: (x: [UInt8], y: [UInt8])? {
    guard algorithm == .p256, let x = coordinate("qx"), let y = coordinate("qy") else { return nil }
    return (x, y)
  }

  private func coordinate(_ name: String) -> [UInt8]? {
    var number: OpaquePointer?
    guard EVP_PKEY_get_bn_param(pointer, name, &number) == 1, let number else {
      ERR_clear_error()
      return nil
    }
    defer { BN_free(number) }
    var bytes = [UInt8](repeating: 0, count: 32)
    return BN_bn2binpad(number, &bytes, 32) == 32 ? bytes : nil
  }
}
