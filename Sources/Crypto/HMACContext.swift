import COpenSSL

/// HMAC with SHA-256 (RFC 2104) for many messages by one key: what depends on the key alone is computed once. Confined to one thread.
public final class HMACContext {
  private let inner: OpaquePointer
  private let outer: OpaquePointer
  private let scratch: OpaquePointer

  public init(key: [UInt8]) throws(OpenSSLError) {
    let (inner, outer, scratch) = (EVP_MD_CTX_new(), EVP_MD_CTX_new(), EVP_MD_CTX_new())
    guard let inner, let outer, let scratch else {
      for context in [inner, outer, scratch] { EVP_MD_CTX_free(context) }
      throw .drained(.crypto, "HMAC")
    }
    self.inner = inner
    self.outer = outer
    self.scratch = scratch
    var block = key.count > 64 ? SHA256.digest(key) : key
    block += [UInt8](repeating: 0, count: 64 - block.count)
    guard Self.begin(inner, block.map { $0 ^ 0x36 }), Self.begin(outer, block.map { $0 ^ 0x5c }) else {
      throw .drained(.crypto, "HMAC")
    }
  }

  deinit { for context in [inner, outer, scratch] { EVP_MD_CTX_free(context) } }

  private static func begin(_ context: OpaquePointer, _ pad: [UInt8]) -> Bool {
    EVP_DigestInit_ex(context, SHA256.algorithm, nil) == 1 && EVP_DigestUpdate(context, pad, pad.count) == 1
  }

  /// 32 bytes.
  public func code(of message: [UInt8]) throws(OpenSSLError) -> [UInt8] {
    var good = false
    let code = [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
      good =
        EVP_MD_CTX_copy_ex(scratch, inner) == 1 && EVP_DigestUpdate(scratch, message, message.count) == 1
        && EVP_DigestFinal_ex(scratch, buffer.baseAddress, nil) == 1 && EVP_MD_CTX_copy_ex(scratch, outer) == 1
        && EVP_DigestUpdate(scratch, buffer.baseAddress, 32) == 1 && EVP_DigestFinal_ex(scratch, buffer.baseAddress, nil) == 1
      count = good ? 32 : 0
    }
    guard good else { throw .drained(.crypto, "HMAC") }
    return code
  }
}

extension HMACContext: CustomStringConvertible, CustomReflectable {
  public var description: String { "<HMAC key>" }
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
