import COpenSSL

/// A private key. Its bytes stay inside OpenSSL; no description shows them.
// SAFETY: an EVP_PKEY does not change after init. OpenSSL counts its references and guards its caches with locks.
public final class PrivateKey: @unchecked Sendable {
  public enum Algorithm: Sendable, Hashable {
    case rsa(bits: Int)
    /// For RSASSA-PSS alone (RFC 4055 section 3.1).
    case rsaPSS(bits: Int)
    case p256
    case p384
    case ed25519
    case other
  }

  package let pointer: OpaquePointer
  public let algorithm: Algorithm

  /// Takes over the caller's reference.
  init(owning pointer: OpaquePointer) {
    self.pointer = pointer
    switch EVP_PKEY_get_base_id(pointer) {
    case EVP_PKEY_RSA: algorithm = .rsa(bits: Int(EVP_PKEY_get_bits(pointer)))
    case EVP_PKEY_RSA_PSS: algorithm = .rsaPSS(bits: Int(EVP_PKEY_get_bits(pointer)))
    case EVP_PKEY_EC:
      var name = [CChar](repeating: 0, count: 32)
      var length = 0
      let known = EVP_PKEY_get_group_name(pointer, &name, name.count, &length) == 1
      let curve = known ? String(decoding: name.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self) : ""
      algorithm =
        switch curve {
        case "prime256v1": .p256
        case "secp384r1": .p384
        default: .other
        }
    case EVP_PKEY_ED25519: algorithm = .ed25519
    default: algorithm = .other
    }
  }

  deinit { EVP_PKEY_free(pointer) }

  /// Any PEM form that OpenSSL reads: PKCS #8 (encrypted or not), PKCS #1, SEC 1.
  public convenience init(pem: [UInt8], passphrase: [UInt8]? = nil) throws(OpenSSLError) {
    guard let input = MemoryBIO(pem) else { throw .drained(.key, "out of memory") }
    ERR_clear_error()
    let key = (passphrase ?? []).withUnsafeBufferPointer { buffer -> OpaquePointer? in
      var secret = buffer
      return withUnsafeMutablePointer(to: &secret) { argument in
        // With a callback even if there is no passphrase, as OpenSSL would otherwise ask on the terminal.
        PEM_read_bio_PrivateKey(
          input.pointer, nil,
          { target, size, _, argument in
            guard let secret = argument?.assumingMemoryBound(to: UnsafeBufferPointer<UInt8>.self).pointee,
              let target, let source = secret.baseAddress, secret.count <= Int(size), !secret.isEmpty
            else { return -1 }
            UnsafeMutableRawPointer(target).copyMemory(from: source, byteCount: secret.count)
            return Int32(secret.count)
          }, argument)
      }
    }
    guard let key else {
      throw .drained(.key, passphrase == nil ? "no private key (or an encrypted one without its passphrase)" : "private key")
    }
    self.init(owning: key)
  }

  public static func generateP256() throws(OpenSSLError) -> PrivateKey {
    try generate(EVP_PKEY_EC) { EVP_PKEY_CTX_set_ec_paramgen_curve_nid($0, NID_X9_62_prime256v1) }
  }

  public static func generateP384() throws(OpenSSLError) -> PrivateKey {
    try generate(EVP_PKEY_EC) { EVP_PKEY_CTX_set_ec_paramgen_curve_nid($0, NID_secp384r1) }
  }

  public static func generateEd25519() throws(OpenSSLError) -> PrivateKey { try generate(EVP_PKEY_ED25519) { _ in 1 } }

  public static func generateRSA(bits: Int) throws(OpenSSLError) -> PrivateKey {
    try generate(EVP_PKEY_RSA) { EVP_PKEY_CTX_set_rsa_keygen_bits($0, Int32(bits)) }
  }

  private static func generate(_ type: Int32, _ configure: (OpaquePointer) -> Int32) throws(OpenSSLError) -> PrivateKey {
    guard let context = EVP_PKEY_CTX_new_id(type, nil) else { throw .drained(.crypto, "key generation") }
    defer { EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    guard EVP_PKEY_keygen_init(context) == 1, configure(context) == 1, EVP_PKEY_keygen(context, &key) == 1, let key else {
      throw .drained(.crypto, "key generation")
    }
    return PrivateKey(owning: key)
  }

  /// PKCS #8, unencrypted or by AES-256-CBC. For keys made at run time and for tests.
  public func pem(passphrase: [UInt8]? = nil) throws(OpenSSLError) -> [UInt8] {
    guard let output = MemoryBIO() else { throw .drained(.key, "out of memory") }
    let cipher = passphrase == nil ? nil : EVP_aes_256_cbc()
    let written = (passphrase ?? []).withUnsafeBytes { secret in
      PEM_write_bio_PKCS8PrivateKey(
        output.pointer, pointer, cipher, passphrase == nil ? nil : secret.baseAddress?.assumingMemoryBound(to: CChar.self),
        Int32(secret.count), nil, nil)
    }
    guard written == 1 else { throw .drained(.key, "writing a private key") }
    return output.takeBytes()
  }

  /// SubjectPublicKeyInfo in DER.
  public var publicKeyInfo: [UInt8] { encodedDER { i2d_PUBKEY(pointer, $0) } }
}
