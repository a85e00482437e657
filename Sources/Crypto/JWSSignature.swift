import COpenSSL

extension PrivateKey {
  /// Signature algorithms of RFC 7518 section 3.1 and RFC 8037 section 3.1.
  public enum JWSAlgorithm: String, Sendable, Hashable, CaseIterable {
    case rs256 = "RS256"
    case rs384 = "RS384"
    case rs512 = "RS512"
    case ps256 = "PS256"
    case ps384 = "PS384"
    case ps512 = "PS512"
    case es256 = "ES256"
    case es384 = "ES384"
    /// With Ed25519.
    case edDSA = "EdDSA"

    /// Of ECDSA: bytes of r, and of s (RFC 7518 section 3.4); nil: a signature is as OpenSSL makes it.
    fileprivate var coordinate: Int? {
      switch self {
      case .es256: 32
      case .es384: 48
      case .rs256, .rs384, .rs512, .ps256, .ps384, .ps512, .edDSA: nil
      }
    }

    /// nil: Ed25519 has its own digest (RFC 8032 section 5.1).
    fileprivate var digest: OpaquePointer? {
      switch self {
      case .rs256, .ps256, .es256: EVP_sha256()
      case .rs384, .ps384, .es384: EVP_sha384()
      case .rs512, .ps512: EVP_sha512()
      case .edDSA: nil
      }
    }

    fileprivate var isProbabilistic: Bool { [.ps256, .ps384, .ps512].contains(self) }
  }

  /// The algorithms that this key can sign with, the default first. None for other curves, and for RSA under 2048 bits (RFC 7518
  /// section 3.3).
  public var jwsAlgorithms: [JWSAlgorithm] {
    switch algorithm {
    case .rsa(let bits) where bits >= 2048: [.rs256, .rs384, .rs512, .ps256, .ps384, .ps512]
    case .rsaPSS(let bits) where bits >= 2048: [.ps256, .ps384, .ps512]
    case .p256: [.es256]
    case .p384: [.es384]
    case .ed25519: [.edDSA]
    case .rsa, .rsaPSS, .other: []
    }
  }

  /// Most bytes of a signature by one of `jwsAlgorithms`.
  public var signatureLimit: Int { Int(EVP_PKEY_get_size(pointer)) }

  /// The default of `jwsAlgorithms`.
  public var jwsAlgorithm: JWSAlgorithm? { jwsAlgorithms.first }

  /// The signature in JWS form, before base64url: for ECDSA r || s, of the same length each.
  public func sign(_ message: [UInt8], as algorithm: JWSAlgorithm) throws(OpenSSLError) -> [UInt8] {
    guard jwsAlgorithms.contains(algorithm) else {
      throw OpenSSLError(.key, "this key cannot sign \(algorithm.rawValue)")
    }
    let signature = try signature(of: message, as: algorithm)
    guard let size = algorithm.coordinate else { return signature }
    guard let pair = decodedDER(signature, { d2i_ECDSA_SIG(nil, $0, $1) }, { ECDSA_SIG_free($0) }) else {
      throw .drained(.crypto, algorithm.rawValue)
    }
    defer { ECDSA_SIG_free(pair) }
    var joined = [UInt8](repeating: 0, count: 2 * size)
    let good = joined.withUnsafeMutableBufferPointer { buffer -> Bool in
      guard let start = buffer.baseAddress else { return false }
      return BN_bn2binpad(ECDSA_SIG_get0_r(pair), start, Int32(size)) == size
        && BN_bn2binpad(ECDSA_SIG_get0_s(pair), start + size, Int32(size)) == size
    }
    guard good else { throw .drained(.crypto, algorithm.rawValue) }
    return joined
  }

  /// As OpenSSL makes it; ECDSA as DER.
  private func signature(of message: [UInt8], as algorithm: JWSAlgorithm) throws(OpenSSLError) -> [UInt8] {
    guard let context = EVP_MD_CTX_new() else { throw .drained(.crypto, "signature") }
    defer { EVP_MD_CTX_free(context) }
    var parameters: OpaquePointer?
    var size = 0
    // One call, as Ed25519 reads the message twice.
    guard EVP_DigestSignInit(context, &parameters, algorithm.digest, nil, pointer) == 1,
      Self.setPadding(parameters, algorithm), EVP_DigestSign(context, nil, &size, message, message.count) == 1
    else { throw .drained(.crypto, "signature") }
    var signature = [UInt8](repeating: 0, count: size)
    guard EVP_DigestSign(context, &signature, &size, message, message.count) == 1 else {
      throw .drained(.crypto, "signature")
    }
    return Array(signature.prefix(size))
  }

  /// RFC 7518 section 3.5: PSS with a salt as long as the digest, which MGF1 uses, too.
  private static func setPadding(_ parameters: OpaquePointer?, _ algorithm: JWSAlgorithm) -> Bool {
    guard algorithm.isProbabilistic else { return true }
    return EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING) == 1
      && EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, RSA_PSS_SALTLEN_DIGEST) == 1
  }

  /// Whether this key made a JWS signature. For servers that check assertions.
  public func verify(_ signature: [UInt8], of message: [UInt8], as algorithm: JWSAlgorithm) -> Bool {
    guard jwsAlgorithms.contains(algorithm), let context = EVP_MD_CTX_new() else { return false }
    defer {
      EVP_MD_CTX_free(context)
      ERR_clear_error()
    }
    let der = algorithm.coordinate.map { Self.derSignature(signature, coordinate: $0) } ?? signature
    guard let der else { return false }
    var parameters: OpaquePointer?
    return EVP_DigestVerifyInit(context, &parameters, algorithm.digest, nil, pointer) == 1
      && Self.setPadding(parameters, algorithm)
      && EVP_DigestVerify(context, der, der.count, message, message.count) == 1
  }

  private static func derSignature(_ joined: [UInt8], coordinate size: Int) -> [UInt8]? {
    guard joined.count == 2 * size, let pair = ECDSA_SIG_new() else { return nil }
    defer { ECDSA_SIG_free(pair) }
    guard let r = BN_bin2bn(Array(joined[..<size]), Int32(size), nil) else { return nil }
    guard let s = BN_bin2bn(Array(joined[size...]), Int32(size), nil), ECDSA_SIG_set0(pair, r, s) == 1 else {
      BN_free(r)
      return nil
    }
    return encodedDER { i2d_ECDSA_SIG(pair, $0) }
  }
}
