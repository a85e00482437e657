import COpenSSL

/// What a certificate's key may be used for, and how strong key and signature are.
extension Certificate {
  public enum PublicKey: Sendable, Hashable {
    case rsa(bits: Int)
    case ellipticCurve(bits: Int)
    case other
  }

  public var publicKey: PublicKey {
    guard let key = X509_get0_pubkey(pointer) else {
      ERR_clear_error()
      return .other
    }
    let bits = Int(EVP_PKEY_get_bits(key))
    switch EVP_PKEY_get_base_id(key) {
    case EVP_PKEY_RSA: return .rsa(bits: bits)
    case EVP_PKEY_EC: return .ellipticCurve(bits: bits)
    default: return .other
    }
  }

  /// By basic constraints, and by these alone.
  public var isMarkedAuthority: Bool { X509_check_ca(pointer) == 1 }

  /// How many authorities may stand below it; nil: any number.
  public var pathLength: Int? {
    let length = X509_get_pathlen(pointer)
    return length < 0 ? nil : Int(length)
  }

  /// keyCertSign, said and not left out (RFC 5280 section 4.2.1.3).
  public var maySignCertificates: Bool {
    let usage = X509_get_key_usage(pointer)
    return usage != UInt32.max && usage & UInt32(KU_KEY_CERT_SIGN) != 0
  }

  /// serverAuth, or nothing that would leave it out (RFC 5280 section 4.2.1.12).
  public var mayServeTLS: Bool {
    let usage = X509_get_extended_key_usage(pointer)
    return usage == UInt32.max || usage & UInt32(XKU_SSL_SERVER | XKU_ANYEKU) != 0
  }

  /// MD5 or SHA-1.
  public var isWeaklySigned: Bool {
    var digest: Int32 = 0
    guard X509_get_signature_info(pointer, &digest, nil, nil, nil) == 1 else { return false }
    return digest == NID_sha1 || digest == NID_md5 || digest == NID_md5_sha1
  }
}
