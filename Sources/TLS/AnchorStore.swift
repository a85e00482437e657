import COpenSSL
import Crypto

/// The roots that a chain may end in: one X509_STORE, shared by contexts and threads. Making one reads files and takes tens
/// of milliseconds: never on an event loop.
// SAFETY: nothing is added after init; OpenSSL counts the store's references and guards its look-ups with a lock of its own.
public final class AnchorStore: @unchecked Sendable {
  let pointer: OpaquePointer
  /// SHA-256 of what the store was made of; equal stores have equal digests.
  public let digest: [UInt8]

  private init(_ certificates: [Certificate], digest: [UInt8]) throws(OpenSSLError) {
    guard let pointer = X509_STORE_new() else { throw .drained(.configuration, "out of memory") }
    self.pointer = pointer
    self.digest = digest
    for certificate in certificates {
      guard X509_STORE_add_cert(pointer, certificate.pointer) == 1 else { throw .drained(.configuration, "anchor") }
    }
    // A certificate that was given as an anchor is one, self-signed or not.
    X509_STORE_set_flags(pointer, UInt(X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST))
  }

  deinit { X509_STORE_free(pointer) }

  /// The system's bundle as it is now.
  public static func systemRoots() throws(OpenSSLError) -> AnchorStore { try systemRoots(and: []) }

  /// Also these, DER each.
  public static func systemRoots(and der: [[UInt8]]) throws(OpenSSLError) -> AnchorStore { try systemRoots(.read(), and: der) }

  /// A bundle that was read before, and these, DER each.
  public static func systemRoots(_ roots: SystemRoots, and der: [[UInt8]]) throws(OpenSSLError) -> AnchorStore {
    let certificates = try Certificate.parse(pem: roots.pem) + parse(der)
    return try AnchorStore(certificates, digest: contentDigest(certificates))
  }

  /// These alone, DER each.
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
