import COpenSSL

/// A hash that others prescribe: for a keyed code, or as the name of a body.
public enum HashAlgorithm: Sendable, Hashable {
  case sha1, sha256, sha384, sha512

  /// Bytes of a digest.
  public var size: Int {
    switch self {
    case .sha1: 20
    case .sha256: 32
    case .sha384: 48
    case .sha512: 64
    }
  }

  public func digest(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
      // The one-shot functions fetch nothing that the library lacks, so they cannot fail.
      switch self {
      case .sha1: _ = COpenSSL.SHA1(start, bytes.count, buffer.baseAddress)
      case .sha256: _ = COpenSSL.SHA256(start, bytes.count, buffer.baseAddress)
      case .sha384: _ = COpenSSL.SHA384(start, bytes.count, buffer.baseAddress)
      case .sha512: _ = COpenSSL.SHA512(start, bytes.count, buffer.baseAddress)
      }
      count = size
    }
  }

  public func digest(_ bytes: [UInt8]) -> [UInt8] { bytes.withUnsafeBytes { digest($0) } }

  fileprivate var name: String {
    switch self {
    case .sha1: "SHA1"
    case .sha256: "SHA256"
    case .sha384: "SHA384"
    case .sha512: "SHA512"
    }
  }
}

/// Makes codes of many messages with one key (RFC 2104). It keeps OpenSSL's context, and takes a message in pieces. Confined to one
/// thread at a time.
public final class KeyedHash {
  private let context: OpaquePointer
  public let algorithm: HashAlgorithm

  /// - Parameter key: not empty.
  public init(_ algorithm: HashAlgorithm, key: [UInt8]) throws(OpenSSLError) {
    self.algorithm = algorithm
    guard !key.isEmpty else { throw OpenSSLError(.key, "the key is empty") }
    // The context has a reference to the method of its own.
    guard let method = EVP_MAC_fetch(nil, "HMAC", nil) else { throw .drained(.crypto, "HMAC") }
    defer { EVP_MAC_free(method) }
    guard let context = EVP_MAC_CTX_new(method) else { throw .drained(.crypto, "HMAC") }
    var name = Array(algorithm.name.utf8CString)
    let good = name.withUnsafeMutableBufferPointer { name in
      var parameters = [OSSL_PARAM_construct_utf8_string("digest", name.baseAddress, 0), OSSL_PARAM_construct_end()]
      return EVP_MAC_init(context, key, key.count, &parameters) == 1
    }
    guard good else {
      EVP_MAC_CTX_free(context)
      throw .drained(.crypto, "HMAC")
    }
    self.context = context
  }

  deinit { EVP_MAC_CTX_free(context) }

  /// Begins another message.
  public func begin() throws(OpenSSLError) {
    // Without a key: the same one.
    guard EVP_MAC_init(context, nil, 0, nil) == 1 else { throw .drained(.crypto, "HMAC") }
  }

  public func add(_ bytes: UnsafeRawBufferPointer) throws(OpenSSLError) {
    guard let start = bytes.baseAddress, !bytes.isEmpty else { return }
    guard EVP_MAC_update(context, start.assumingMemoryBound(to: UInt8.self), bytes.count) == 1 else {
      throw .drained(.crypto, "HMAC")
    }
  }

  public func add(_ bytes: [UInt8]) throws(OpenSSLError) {
    guard EVP_MAC_update(context, bytes, bytes.count) == 1 else { throw .drained(.crypto, "HMAC") }
  }

  /// The code of what was added since `begin`.
  public func finish() throws(OpenSSLError) -> [UInt8] {
    var code = [UInt8](repeating: 0, count: algorithm.size)
    var length = 0
    guard EVP_MAC_final(context, &code, &length, code.count) == 1, length == code.count else {
      throw .drained(.crypto, "HMAC")
    }
    return code
  }

  public func code(of message: [UInt8]) throws(OpenSSLError) -> [UInt8] {
    try begin()
    try add(message)
    return try finish()
  }
}
