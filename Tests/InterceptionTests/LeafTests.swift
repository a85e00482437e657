import Crypto
import TLS
import Testing

@testable import Interception

@Suite struct LeafTests {
  private static let longName = String(repeating: "a.", count: 40) + "example.com"

  @Test(arguments: [
    ("api.example.com", "CN=api.example.com"), ("deep.down.api.example.com", "CN=deep.down.api.example.com"),
    ("192.0.2.7", ""), ("2001:db8::7", ""), (longName, ""),
  ])
  func `a leaf is for one host, and strict verification passes it`(_ host: String, _ subject: String) throws {
    let (made, signing) = try authority(for: ["example.com", "192.0.2.7", "2001:db8::7"])
    let leaf = try signing.makeLeaf(for: PeerName(host), lifetime: 86_400, now: now)
    let certificate = leaf.identity.chain[0]
    #expect(leaf.identity.chain.dropFirst() == [made.issuer])
    #expect(strictVerdict(leaf.identity.chain, root: made.root, host: host) == nil)
    #expect(certificate.subject == subject)
    #expect(certificate.alternativeNames == [PeerName(host).address.map { .ip($0) } ?? .dns(host)])
    #expect(certificate.notBefore == now - 3600)
    #expect(certificate.notAfter == now + 86_400)
    #expect(leaf.renewal == now + 43_200)
    #expect(certificate.publicKeyInfo != made.issuer.publicKeyInfo)
    #expect(certificate.ocspURLs.isEmpty && certificate.revocationListURLs.isEmpty)
    let shown = text(certificate)
    for line in [
      "Signature Algorithm: ecdsa-with-SHA256", "NIST CURVE: P-256", "X509v3 Extended Key Usage: ", "Digital Signature\n",
      "TLS Web Server Authentication\n", "X509v3 Authority Key Identifier", "X509v3 Subject Key Identifier",
      subject.isEmpty ? "X509v3 Subject Alternative Name: critical" : "X509v3 Subject Alternative Name: \n",
    ] {
      #expect(shown.contains(line), "\(line) in \(shown)")
    }
    #expect(!shown.contains("Key Encipherment") && !shown.contains("Authority Information Access"))
  }

  @Test func `a leaf ends with its CA at the latest, and none is made for what the CA does not permit`() throws {
    let (made, signing) = try authority(for: ["api.example.com"], days: 1)
    let leaf = try signing.makeLeaf(for: PeerName("api.example.com"), lifetime: 720 * 3600, now: now)
    #expect(leaf.notAfter == made.issuer.notAfter)
    #expect(leaf.identity.chain[0].notAfter == made.issuer.notAfter)
    #expect(throws: OpenSSLError.self) { try signing.makeLeaf(for: PeerName("other.example.com"), lifetime: 60, now: now) }
    #expect(throws: OpenSSLError.self) {
      try signing.makeLeaf(for: PeerName("api.example.com"), lifetime: 60, now: made.issuer.notAfter)
    }
  }

  @Test func `a listener's leaf has all of its names`() throws {
    let (made, signing) = try authority(for: ["proxy.internal", "10.0.0.1"])
    let names = ["proxy.internal", "p2.proxy.internal", "10.0.0.1"]
    let leaf = try signing.makeLeaf(forAll: hosts(names), lifetime: 86_400, now: now)
    for name in names { #expect(strictVerdict(leaf.identity.chain, root: made.root, host: name) == nil) }
    #expect(leaf.identity.chain[0].subject == "CN=proxy.internal")
    #expect(throws: OpenSSLError.self) {
      try signing.makeLeaf(forAll: hosts(names + ["other.internal"]), lifetime: 60, now: now)
    }
    #expect(throws: OpenSSLError.self) { try signing.makeLeaf(forAll: [], lifetime: 60, now: now) }
    #expect(SigningCAs([signing]).signer(forAll: hosts(names), at: now) == signing)
    #expect(SigningCAs([signing]).signer(forAll: hosts(["proxy.internal", "x.test"]), at: now) == nil)
  }

  @Test func `an RSA authority without a key identifier signs, too`() throws {
    let key = try PrivateKey.generateRSA(bits: 2048)
    var builder = CertificateBuilder.authority("Company")
    builder.constraints = NameConstraints(permitted: [.dns("example.com")])
    let root = try builder.selfSigned(with: key)
    let signing = try SigningCA(chain: [root], key: key, now: now)
    #expect(signing.signsSlowly)
    let leaf = try signing.makeLeaf(for: PeerName("api.example.com"), lifetime: 86_400, now: now)
    #expect(leaf.identity.chain.count == 1)
    #expect(strictVerdict(leaf.identity.chain, root: root, host: "api.example.com") == nil)
  }

  @Test(
    arguments: [
      (["api.example.com"], "api.example.com", true), (["api.example.com"], "v2.api.example.com", true),
      (["api.example.com"], "www.example.com", false), (["api.example.com"], "example.com", false),
      (["api.example.com"], "xapi.example.com", false), (["api.example.com"], "bank.example", false),
      (["api.example.com"], "192.0.2.7", false), (["api.example.com"], "::1", false), (["api.example.com"], "0.0.0.0", false),
      (["192.0.2.7"], "192.0.2.7", true), (["192.0.2.7"], "192.0.2.8", false), (["192.0.2.7"], "api.example.com", false),
      (["192.0.2.7"], "::1", false), (["2001:db8::7"], "2001:db8::7", true), (["2001:db8::7"], "2001:db8::8", false),
      (["2001:db8::7"], "192.0.2.7", false), (["2001:db8::7"], "api.example.com", false),
    ] as [([String], String, Bool)])
  func `a stolen issuer key signs for no other host`(_ permitted: [String], _ host: String, _ isGood: Bool) throws {
    let (made, signing) = try authority(for: permitted)
    let forged = try forgedLeaf(for: host, by: made)
    #expect((strictVerdict(forged.chain, root: made.root, host: host) == nil) == isGood)
    #expect(signing.permits(PeerName(host)) == isGood)
  }
}
