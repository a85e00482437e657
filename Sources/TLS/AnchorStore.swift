import COpenSSL
import Crypto

/// The roots in which a chain may end: one X509_STORE, shared by contexts and threads. Making one reads files and takes tens of
/// milliseconds, so never do it on a loop.
// SAFETY: nothing is added after init. OpenSSL counts the store's references and guards look-ups with its own lock.
public final class AnchorStore: @unchecked Sendable {
  let pointer: OpaquePointer
  /// SHA-256 of the store's content; equal stores have equal digests.
  public let digest: [UInt8]

  private init(_ certificates: [Certificate], digest: [UInt8]) throws(OpenSSLError) {
    guard let pointer = X509_STORE_new() else { throw .drained(.configuration, "out of memory") }
    self.pointer = pointer
    self.digest = digest
    for certificate in certificates {
      guard X509_STORE_add_cert(pointer, certificate.pointer) == 1 else { throw .drained(.configuration, "anchor") }
    }
    // A certificate given as an anchor is an anchor, self-signed or not.
    X509_STORE_set_flags(pointer, UInt(X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST))
  }

  deinit { X509_STORE_free(pointer) }

  /// The system's bundle, read now.
  public static func systemRoots() throws(OpenSSLError) -> AnchorStore { try systemRoots(and: []) }

  /// The system's bundle, and these certificates in DER.
  public static func systemRoots(and der: [[UInt8]]) throws(OpenSSLError) -> AnchorStore { try systemRoots(.read(), and: der) }

  /// A bundle that was read before, and these certificates in DER.
  public static func systemRoots(_ roots: SystemRoots, and der: [[UInt8]]) throws(OpenSSLError) -> AnchorStore {
    let certificates = try Certificate.parse(pem: roots.pem) + parse(der)
    return try AnchorStore(certificates, digest: contentDigest(certificates))
  }

  /// Only these certificates, in DER.
  public static func certificates(_ der: [[UInt8]]) throws(OpenSSLError) -> AnchorStore {
    let certificates = try parse(der)
    return try AnchorStore(certificates, digest: contentDigest(certificates))
  }

  private static func parse(_ der: [[UInt8]]) throws(OpenSSLError) -> [Certificate] {
    var result: [Certificate] = []
    for bytes in der { result.append(try Certificate(der: bytes)) }
    return result
  }

  private static func contentDigest(_ certificates: [Certificate]) -> [UInt8] {
    let sorted = Set(certificates.map(\.fingerprint)).sorted { $0.lexicographicallyPrecedes($1) }
    return SHA256.digest(Array(sorted.joined()))
  }
}
