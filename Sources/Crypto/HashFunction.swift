import COpenSSL

/// A hash function for many short messages: OpenSSL's context is made once. Not for several threads.
public final class HashFunction {
  public enum Algorithm: Sendable, Hashable {
    case md5, sha256
    /// SHA-512/256 (FIPS 180-4), which is no truncated SHA-512.
    case sha512t256

    /// Bytes of a digest.
    public var length: Int { self == .md5 ? 16 : 32 }

    fileprivate var name: String {
      switch self {
      case .md5: "MD5"
      case .sha256: "SHA2-256"
      case .sha512t256: "SHA2-512/256"
      }
    }
  }

  public let algorithm: Algorithm
  private let context: OpaquePointer
  private let function: OpaquePointer
  private var isFresh = false

  /// - Throws: OpenSSL, or its configuration, does not have the algorithm.
  public init(_ algorithm: Algorithm) throws(OpenSSLError) {
    // Fetched once: without that, each message would look it up again.
    guard let function = EVP_MD_fetch(nil, algorithm.name, nil) else { throw .drained(.crypto, algorithm.name) }
    guard let context = EVP_MD_CTX_new() else {
      EVP_MD_free(function)
      throw .drained(.crypto, algorithm.name)
    }
    self.algorithm = algorithm
    self.function = function
    self.context = context
  }

  deinit {
    EVP_MD_CTX_free(context)
    EVP_MD_free(function)
  }

  public func update(_ bytes: UnsafeRawBufferPointer) {
    begin()
    // It fails only for contexts that are not initialized.
    _ = EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
  }

  public func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }

  public func update(_ byte: UInt8) { withUnsafeBytes(of: byte) { update($0) } }

  /// The digest of all bytes since the last one.
  public func finish() -> [UInt8] {
    begin()
    isFresh = false
    return [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
      var length: UInt32 = 0
      count = EVP_DigestFinal_ex(context, buffer.baseAddress, &length) == 1 ? Int(length) : 0
    }
  }

  private func begin() {
    if isFresh { return }
    isFresh = true
    let good = EVP_DigestInit_ex2(context, function, nil) == 1
    // Its only failures are lack of memory and wrong use.
    precondition(good, "OpenSSL cannot begin a digest")
  }
}
