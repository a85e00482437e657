import TLS

/// A certificate authority of this run alone, and what it issues. The private keys never leave the process.
public struct DemoAuthority: Sendable {
  private let certificate: Certificate
  private let key: PrivateKey

  /// Valid from an hour ago for two days: a demo may be left running.
  public init() throws(TLSError) {
    key = try PrivateKey.generateP256()
    var builder = CertificateBuilder(commonName: "authproxy demo authority", days: 2)
    builder.isCA = true
    certificate = try builder.selfSigned(with: key)
  }

  /// What clients must trust.
  public var pem: [UInt8] { certificate.pem }

  /// - Parameter names: DNS names and IP literals.
  public func server(_ names: [String]) throws(TLSError) -> TLSIdentity {
    let key = try PrivateKey.generateP256()
    var builder = CertificateBuilder.server(names)
    builder.notAfter = certificate.notAfter
    return try TLSIdentity(chain: [builder.issued(to: key, by: certificate, self.key)], key: key)
  }
}
