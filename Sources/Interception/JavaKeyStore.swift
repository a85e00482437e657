import Crypto
import TLS

/// Certificates in the form that every Java reads as a trust store: JKS, version 2. Java wants no password to read it; one that is
/// given is checked.
enum JavaKeyStore {
  static let password = "changeit"

  private static let magic: [UInt8] = [0xFE, 0xED, 0xFE, 0xED]
  private static let version: UInt32 = 2
  private static let trustedCertificate: UInt32 = 2

  /// - Parameter entries: under aliases, in lower case and each another one.
  static func encode(_ entries: [(alias: String, certificate: Certificate)]) -> [UInt8] {
    var store = magic
    store += bigEndian(version)
    store += bigEndian(UInt32(entries.count))
    for (alias, certificate) in entries {
      let der = certificate.der
      store += bigEndian(trustedCertificate)
      store += text(alias)
      // When the entry was made, in milliseconds: of the certificate, so that equal stores are equal files.
      store += bigEndian(UInt64(clamping: certificate.notBefore) &* 1000)
      store += text("X.509")
      store += bigEndian(UInt32(der.count))
      store += der
    }
    // The password as UTF-16, a constant, and all before.
    let key = password.utf16.flatMap { bigEndian($0) } + Array("Mighty Aphrodite".utf8)
    return store + SHA1.digest(key + store)
  }

  /// ASCII behind its length.
  private static func text(_ text: String) -> [UInt8] { bigEndian(UInt16(text.utf8.count)) + Array(text.utf8) }

  private static func bigEndian<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian) { Array($0) }
  }
}
