import COpenSSL
import COpenSSLShims

/// AES-256-GCM (NIST SP 800-38D). A sealed box is nonce (12 random bytes), ciphertext, tag (16 bytes).
public enum AESGCM {
  public static let keySize = 32
  static let nonceSize = 12
  static let tagSize = 16

  public static func seal(_ plain: [UInt8], key: [UInt8], authenticating extra: [UInt8] = []) throws(OpenSSLError) -> [UInt8] {
    let nonce = try SecureRandom.bytes(nonceSize)
    guard key.count == keySize, plain.count < Int(Int32.max) - 64, let context = EVP_CIPHER_CTX_new() else {
      throw OpenSSLError(.crypto, "AES-256-GCM needs a key of 32 bytes")
    }
    defer { EVP_CIPHER_CTX_free(context) }
    var sealed = nonce + [UInt8](repeating: 0, count: plain.count + tagSize)
    var length: Int32 = 0
    let good = sealed.withUnsafeMutableBufferPointer { box -> Bool in
      guard let start = box.baseAddress else { return false }
      let body = start + nonceSize
      return EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), nil, key, nonce) == 1
        && EVP_EncryptUpdate(context, nil, &length, extra, Int32(extra.count)) == 1
        && EVP_EncryptUpdate(context, body, &length, plain, Int32(plain.count)) == 1
        && EVP_EncryptFinal_ex(context, body + plain.count, &length) == 1
        && cossl_gcm_get_tag(context, Int32(tagSize), body + plain.count) == 1
    }
    guard good else { throw .drained(.crypto, "AES-256-GCM") }
    return sealed
  }

  /// Throws if the key, the extra data or any bit of the box differs.
  public static func open(_ sealed: [UInt8], key: [UInt8], authenticating extra: [UInt8] = []) throws(OpenSSLError) -> [UInt8] {
    guard key.count == keySize else { throw OpenSSLError(.crypto, "AES-256-GCM needs a key of 32 bytes") }
    let size = sealed.count - nonceSize - tagSize
    guard size >= 0, sealed.count < Int(Int32.max), let context = EVP_CIPHER_CTX_new() else {
      throw OpenSSLError(.crypto, "too short to be encrypted data")
    }
    defer { EVP_CIPHER_CTX_free(context) }
    var plain = [UInt8](repeating: 0, count: size)
    var tag = Array(sealed.suffix(tagSize))
    var length: Int32 = 0
    var rest: UInt8 = 0
    let good = sealed.withUnsafeBufferPointer { box -> Bool in
      guard let start = box.baseAddress else { return false }
      return EVP_DecryptInit_ex(context, EVP_aes_256_gcm(), nil, key, start) == 1
        && EVP_DecryptUpdate(context, nil, &length, extra, Int32(extra.count)) == 1
        && EVP_DecryptUpdate(context, &plain, &length, start + nonceSize, Int32(size)) == 1
        && cossl_gcm_set_tag(context, Int32(tagSize), &tag) == 1
        && EVP_DecryptFinal_ex(context, &rest, &length) == 1
    }
    guard good else {
      ERR_clear_error()
      throw OpenSSLError(.crypto, "not authentic: encrypted with another key, or modified")
    }
    return plain
  }
}
