import COpenSSL
import Crypto

/// The roots in which a chain may end: one X509_STORE, shared by contexts and threads. Making one reads files and takes milliseconds, so
/// never do it on a loop.
// SAFETY: OpenSSL counts the store's references, and guards look-ups and what they add with its own lock.
public final class AnchorStore: @unchecked Sendable {
  let pointer: OpaquePointer
  /// SHA-256 of the store's content; equal stores have equal digests.
  public let digest: [UInt8]

  /// - Parameter bundle: in DER, parsed when a chain needs them.
  private init(_ der: [[UInt8]], bundle: [[UInt8]] = []) throws(OpenSSLError) {
    var certificates: [Certificate] = []
    for bytes in der { certificates.append(try Certificate(der: bytes)) }
    let digests = Set((bundle + der).map { SHA256.digest($0) }).sorted { $0.lexicographicallyPrecedes($1) }
    guard let pointer = X509_STORE_new() else { throw .drained(.configuration, "out of memory") }
    self.pointer = pointer
    digest = SHA256.digest(Array(digests.joined()))
    // Those of one name must all be there, or none: OpenSSL asks a directory only for a name of which it has nothing.
    let directory = try RootDirectory(bundle.isEmpty ? [] : bundle + der)
    for certificate in directory.parsed + (bundle.isEmpty ? certificates : []) {
      guard X509_STORE_add_cert(pointer, certificate.pointer) == 1 else { throw .drained(.configuration, "anchor") }
    }
    if !bundle.isEmpty { try directory.attach(to: pointer) }
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
    try AnchorStore(der, bundle: Certificate.blocks(ofPEM: roots.pem))
  }

  /// Only these certificates, in DER.
  public static func certificates(_ der: [[UInt8]]) throws(OpenSSLError) -> AnchorStore { try AnchorStore(der) }
}
