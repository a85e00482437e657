import COpenSSL

/// RFC 2104 with SHA-256.
public enum HMACSHA256 {
  /// 32 bytes.
  public static func code(of message: [UInt8], key: [UInt8]) throws(OpenSSLError) -> [UInt8] {
    var length: UInt32 = 0
    var good = false
    let code = [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
      good = HMAC(EVP_sha256(), key, Int32(clamping: key.count), message, message.count, buffer.baseAddress, &length) != nil
      count = good ? 32 : 0
    }
    guard good, length == 32 else { throw .drained(.crypto, "HMAC") }
    return code
  }
}
