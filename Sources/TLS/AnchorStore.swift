import COpenSSL
import Glibc

/// The roots that a chain may end in: one X509_STORE, shared by contexts and threads. Making one reads files and takes tens
/// of milliseconds: never on an event loop.
// SAFETY: nothing is added after init; OpenSSL counts the store's references and guards its look-ups with a lock of its own.
public final class AnchorStore: @unchecked Sendable {
  let pointer: OpaquePointer
  /// SHA-256 of what the store was made of; equal stores have equal digests.
  public let digest: [UInt8]

  private init(_ certificates: [Certificate], digest: [UInt8]) throws(TLSError) {
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

  /// The system's bundle: `SSL_CERT_FILE`, else OpenSSL's default, else where Debian or Fedora put it. Only the file is used:
  /// OpenSSL's folder of hashed names is read during handshakes, which an event loop cannot wait for.
  public static func systemRoots() throws(TLSError) -> AnchorStore { try systemRoots(and: []) }

  /// Also these, DER each.
  public static func systemRoots(and der: [[UInt8]]) throws(TLSError) -> AnchorStore {
    let bundle = try systemBundle()
    let added = try parse(der)
    let digest = SHA256.digest(SHA256.digest(bundle) + contentDigest(added))
    return try AnchorStore(Certificate.parse(pem: bundle) + added, digest: digest)
  }

  /// These alone, DER each.
  public static func certificates(_ der: [[UInt8]]) throws(TLSError) -> AnchorStore {
    let certificates = try parse(der)
    return try AnchorStore(certificates, digest: contentDigest(certificates))
  }

  private static func parse(_ der: [[UInt8]]) throws(TLSError) -> [Certificate] {
    var result: [Certificate] = []
    for bytes in der { result.append(try Certificate(der: bytes)) }
    return result
  }

  private static func contentDigest(_ certificates: [Certificate]) -> [UInt8] {
    let sorted = certificates.map(\.fingerprint).sorted { $0.lexicographicallyPrecedes($1) }
    return SHA256.digest(Array(sorted.joined()))
  }

  private static func systemBundle() throws(TLSError) -> [UInt8] {
    var candidates: [String] = []
    if let path = getenv("SSL_CERT_FILE") { candidates.append(String(cString: path)) }
    if let path = X509_get_default_cert_file() { candidates.append(String(cString: path)) }
    candidates += ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"]
    for path in candidates {
      if let bytes = contents(of: path), !bytes.isEmpty { return bytes }
    }
    throw TLSError(.configuration, "no system roots found (the package ca-certificates brings them)")
  }

  private static func contents(of path: String) -> [UInt8]? {
    guard let file = fopen(path, "re") else { return nil }
    defer { fclose(file) }
    var result: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = fread(&chunk, 1, chunk.count, file)
      guard count > 0 else { return ferror(file) == 0 ? result : nil }
      result += chunk[..<count]
    }
  }
}
