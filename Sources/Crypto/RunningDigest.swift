import COpenSSL

/// A digest of bytes that come in pieces.
public final class RunningDigest {
  public enum Algorithm: Sendable, Hashable { case sha256, sha512, sha512t256, md5 }

  private let context: OpaquePointer
  private var digest: [UInt8]?

  /// - Throws: the library has no memory, or refuses the algorithm.
  public init(_ algorithm: Algorithm) throws(OpenSSLError) {
    guard let context = EVP_MD_CTX_new() else { throw .drained(.crypto, "digest") }
    let kind =
      switch algorithm {
      case .sha256: EVP_sha256()
      case .sha512: EVP_sha512()
      case .sha512t256: EVP_sha512_256()
      case .md5: EVP_md5()
      }
    guard EVP_DigestInit_ex(context, kind, nil) == 1 else {
      EVP_MD_CTX_free(context)
      throw .drained(.crypto, "digest")
    }
    self.context = context
  }

  deinit { EVP_MD_CTX_free(context) }

  /// Not after `finish`.
  public func update(_ bytes: UnsafeRawBufferPointer) {
    precondition(digest == nil, "the digest is finished")
    // It fails only for contexts that are not initialized.
    _ = EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
  }

  /// The digest of all bytes so far. Further calls return the same.
  public func finish() -> [UInt8] {
    if let digest { return digest }
    let result = [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
      var length: UInt32 = 0
      count = EVP_DigestFinal_ex(context, buffer.baseAddress, &length) == 1 ? Int(length) : 0
    }
    digest = result
    return result
  }
}
