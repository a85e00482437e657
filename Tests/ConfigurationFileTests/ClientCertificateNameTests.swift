import Crypto
import Settings
import TLS
import Testing

@Suite("Clients known by certificate")
struct ClientCertificateNameTests {
  private let key: PrivateKey
  init() throws { key = try .generateP256() }

  private func certificate(_ commonName: String, dns: [String] = [], uris: [String] = []) throws -> Certificate {
    var builder = CertificateBuilder(commonName: commonName)
    builder.dnsNames = dns
    builder.names.uris = uris
    return try builder.selfSigned(with: key)
  }

  @Test("a client is known by an alternative name or the key, never by the common name")
  func names() throws {
    let clients = ClientCertificateNames([
      ClientSettings(name: "none"), ClientSettings(name: "uri", certificate: .uri("spiffe://example.com/Billing")),
      ClientSettings(name: "dns", certificate: .dns("billing.internal")),
      ClientSettings(name: "pin", certificate: .pin(SHA256.digest(try PrivateKey.generateP256().publicKeyInfo))),
    ])
    #expect(!clients.isEmpty)
    #expect(try clients.client(of: certificate("x", uris: ["spiffe://example.com/Billing"])) == 1)
    #expect(try clients.client(of: certificate("x", uris: ["spiffe://example.com/billing"])) == nil)
    #expect(try clients.client(of: certificate("x", dns: ["other", "Billing.INTERNAL"])) == 2)
    #expect(try clients.client(of: certificate("x", dns: ["*.internal"])) == nil)
    #expect(try clients.client(of: certificate("x", dns: ["spiffe://example.com/Billing"])) == nil)
    #expect(try clients.client(of: certificate("billing.internal")) == nil)
    #expect(try clients.client(of: certificate("x", dns: ["billing.internal"], uris: ["spiffe://example.com/Billing"])) == 1)
  }

  @Test("a pin is of the key, whatever the certificate says")
  func pins() throws {
    let clients = ClientCertificateNames([
      ClientSettings(name: "dns", certificate: .dns("billing.internal")),
      ClientSettings(name: "pin", certificate: .pin(SHA256.digest(key.publicKeyInfo))),
    ])
    #expect(try clients.client(of: certificate("x")) == 1)
    #expect(try clients.client(of: certificate("x", dns: ["billing.internal"])) == 0)
    #expect(ClientCertificateNames([ClientSettings(name: "a")]).isEmpty)
  }
}
