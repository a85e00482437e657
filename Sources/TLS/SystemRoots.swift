import COpenSSL
import Crypto
import Files
import Glibc

/// The system's bundle of roots, as read. Equal bundles are equal, whatever their path.
///
/// Only a file counts. OpenSSL also reads a folder of hashed names (`SSL_CERT_DIR`), but during handshakes, which would block a
/// loop, and without noticing removed files.
public struct SystemRoots: Sendable, Hashable {
  public let path: String
  public let pem: [UInt8]
  /// SHA-256 of `pem`.
  public let digest: [UInt8]

  public init(path: String, pem: [UInt8]) {
    self.path = path
    self.pem = pem
    digest = SHA256.digest(pem)
  }

  public static func == (one: SystemRoots, other: SystemRoots) -> Bool { one.digest == other.digest }
  public func hash(into hasher: inout Hasher) { hasher.combine(digest) }

  /// Possible paths of the bundle; the first existing file counts. If `SSL_CERT_FILE` is set, it is the only one, as for
  /// OpenSSL: an operator who restricts the roots with it must not get the distribution's roots if the file is missing. Else
  /// OpenSSL's default, then the paths of Debian and Fedora.
  public static func candidates(_ environment: [String: String]) -> [String] {
    if let own = environment["SSL_CERT_FILE"], !own.isEmpty { return [own] }
    let built = X509_get_default_cert_file().map { [String(cString: $0)] } ?? []
    return built + ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"]
  }

  /// Blocks on files.
  /// - Parameter read: returns a file's content; nil if it cannot be read.
  public static func read(
    _ environment: [String: String], through read: (String) -> [UInt8]?
  ) -> SystemRoots? {
    for path in candidates(environment) {
      if let pem = read(path), !pem.isEmpty { return SystemRoots(path: path, pem: pem) }
    }
    return nil
  }

  /// Bytes; a distribution's bundle has about 220 KB.
  private static let largest = 16 << 20

  /// With the process's environment. Blocks on files.
  public static func read() throws(OpenSSLError) -> SystemRoots {
    let environment = getenv("SSL_CERT_FILE").map { ["SSL_CERT_FILE": String(cString: $0)] } ?? [:]
    guard let roots = read(environment, through: { try? FileReading.read($0, limit: largest).bytes }) else {
      throw OpenSSLError(
        .configuration,
        "no system roots in \(candidates(environment).joined(separator: ", ")) (the package ca-certificates provides them)")
    }
    return roots
  }
}
