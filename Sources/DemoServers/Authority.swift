import Crypto
import RevocationAnswers
import TLS

/// A certificate authority for this run, and its certificates. The private keys never leave the process.
public final class DemoAuthority: Sendable {
  /// A server's certificate and key.
  public struct Issued: Sendable {
    /// For people: `the API`.
    public var name: String
    public var identity: TLSIdentity
    var isRevoked: Bool
  }

  private let certificate: Certificate
  private let key: PrivateKey
  public let api, tokenServer: Issued
  /// A server with a revoked certificate.
  public let retired: Issued

  /// Valid for two months, as the configuration's reader warns of certificates that expire within one.
  /// - Parameter names: of every server, DNS names and IP literals.
  public init(names: [String]) throws(OpenSSLError) {
    let key = try PrivateKey.generateP256()
    var builder = CertificateBuilder(commonName: "authproxy demo authority", days: 60)
    builder.isCA = true
    let certificate = try builder.selfSigned(with: key)
    func issue(_ name: String, isRevoked: Bool = false) throws(OpenSSLError) -> Issued {
      let own = try PrivateKey.generateP256()
      var builder = CertificateBuilder.server(names)
      builder.notAfter = certificate.notAfter
      let identity = try TLSIdentity(chain: [builder.issued(to: own, by: certificate, key)], key: own)
      return Issued(name: name, identity: identity, isRevoked: isRevoked)
    }
    api = try issue("the API")
    tokenServer = try issue("the token server")
    retired = try issue("the retired server", isRevoked: true)
    (self.certificate, self.key) = (certificate, key)
  }

  /// The certificate that clients must trust.
  public var pem: [UInt8] { certificate.pem }

  /// - Returns: the answer in DER; nil if the request is invalid or about another authority's certificate.
  func answer(toOCSPRequest request: [UInt8]) -> (name: String, isRevoked: Bool, der: [UInt8])? {
    guard let serial = OCSPAnswerBuilder.serialNumbers(ofRequest: request)?.first,
      let issued = [api, tokenServer, retired].first(where: { $0.identity.chain[0].serialNumber == serial })
    else { return nil }
    let leaf = issued.identity.chain[0]
    let status: OCSPAnswerBuilder.Status = issued.isRevoked ? .revoked(at: leaf.notBefore) : .good
    let builder = OCSPAnswerBuilder([.init(leaf, issuer: certificate, status)])
    guard let der = try? builder.signed(by: certificate, key) else { return nil }
    return (issued.name, issued.isRevoked, der)
  }
}
