import COpenSSL

extension PrivateKey {
  /// Signature algorithms of RFC 7518 section 3.1.
  public enum JWSAlgorithm: String, Sendable, Hashable {
    case rs256 = "RS256"
    case es256 = "ES256"
  }

  /// The algorithm that this key can sign with; nil for curves other than P-256 and for RSA under 2048 bits (RFC 7518 section
  /// 3.3).
  public var jwsAlgorithm: JWSAlgorithm? {
    switch algorithm {
    case .rsa(let bits) where bits >= 2048: .rs256
    case .p256: .es256
    default: nil
    }
  }

  /// The signature in JWS form, before base64url: PKCS #1 for RS256, r || s of 32 bytes each for ES256 (RFC 7518 section 3.4).
  public func sign(_ message: [UInt8], as algorithm: JWSAlgorithm) throws(OpenSSLError) -> [UInt8] {
    guard algorithm == jwsAlgorithm else { throw OpenSSLError(.key, "this key cannot sign \(algorithm.rawValue)") }
    let signature = try signature(of: message)
    guard algorithm == .es256 else { return signature }
    guard let pair = decodedDER(signature, { d2i_ECDSA_SIG(nil, $0, $1) }, { ECDSA_SIG_free($0) }) else {
      throw .drained(.crypto, "ES256")
    }
    defer { ECDSA_SIG_free(pair) }
    var joined = [UInt8](repeating: 0, count: 64)
    let good = joined.withUnsafeMutableBufferPointer { buffer -> Bool in
      guard let start = buffer.baseAddress else { return false }
      return BN_bn2binpad(ECDSA_SIG_get0_r(pair), start, 32) == 32
        && BN_bn2binpad(ECDSA_SIG_get0_s(pair), start + 32, 32) == 32
    }
    guard good else { throw .drained(.crypto, "ES256") }
    return joined
  }

  /// SHA-256 with the key's own algorithm; ECDSA as DER.
  private func signature(of message: [UInt8]) throws(OpenSSLError) -> [UInt8] {
    guard let context = EVP_MD_CTX_new() else { throw .drained(.crypto, "signature") }
    defer { EVP_MD_CTX_free(context) }
    var size = 0
    guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, pointer) == 1,
      EVP_DigestSign(context, nil, &size, message, message.count) == 1
    else { throw .drained(.crypto, "signature") }
    var signature = [UInt8](repeating: 0, count: size)
    guard EVP_DigestSign(context, &signature, &size, message, message.count) == 1 else {
      throw .drained(.crypto, "signature")
    }
    return Array(signature.prefix(size))
  }

  /// Whether this key made a JWS signature. For servers that check assertions.
  public func verify(_ signature: [UInt8], of message: [UInt8], as algorithm: JWSAlgorithm) -> Bool {
    guard algorithm == jwsAlgorithm, let context = EVP_MD_CTX_new() else { return false }
    defer {
      EVP_MD_CTX_free(context)
      ERR_clear_error()
    }
    guard let encoded = algorithm == .es256 ? Self.derSignature(signature) : signature else { return false }
    return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, pointer) == 1
      && EVP_DigestVerify(context, encoded, encoded.count, message, message.count) == 1
  }

  private static func derSignature(_ joined: [UInt8]) -> [UInt8]? {
    guard joined.count == 64, let pair = ECDSA_SIG_new() else { return nil }
    defer { ECDSA_SIG_free(pair) }
    guard let r = BN_bin2bn(Array(joined[..<32]), 32, nil) else { return nil }
    guard let s = BN_bin2bn(Array(joined[32...]), 32, nil), ECDSA_SIG_set0(pair, r, s) == 1 else {
      BN_free(r)
      return nil
    }
    return encodedDER { i2d_ECDSA_SIG(pair, $0) }
  }
}
