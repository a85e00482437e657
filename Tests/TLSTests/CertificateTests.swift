import Crypto
import Testing

@testable import TLS

@Suite struct CertificateTests {
  @Test func `a certificate tells what it was made of`() throws {
    let authority = try Authority("Root, \"quoted\"\n")
    let key = try PrivateKey.generateP256()
    var builder = CertificateBuilder.server(["api.example.com", "*.example.org", "192.0.2.7", "2001:db8::1"])
    builder.revocation.responders = ["http://ocsp.example.com/x", "https://ocsp.example.com/no"]
    builder.revocation.lists = ["http://crl.example.com/a.crl", "ldap://crl.example.com/b"]
    builder.notBefore = 1_700_000_000
    builder.notAfter = 2_900_000_000
    let leaf = try builder.issued(to: key, by: authority.certificate, authority.key)
    #expect(leaf.subject == "CN=api.example.com")
    #expect(leaf.issuer == #"CN=Root\, \"quoted\"\0A"#)
    #expect(leaf.notBefore == 1_700_000_000)
    #expect(leaf.notAfter == 2_900_000_000)
    #expect(
      leaf.alternativeNames == [
        .dns("api.example.com"), .dns("*.example.org"), .ip([192, 0, 2, 7]),
        .ip([0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
      ])
    #expect(leaf.ocspURLs == ["http://ocsp.example.com/x"])
    #expect(leaf.revocationListURLs == ["http://crl.example.com/a.crl"])
    #expect(!leaf.isCA)
    #expect(authority.certificate.isCA)
    #expect(leaf.publicKeyDigest == SHA256.digest(key.publicKeyInfo))
    #expect(leaf.isIssued(by: authority.certificate))
    #expect(!authority.certificate.isIssued(by: leaf))
    #expect(try Certificate(der: leaf.der) == leaf)
    #expect(try Certificate(der: leaf.der).hashValue == leaf.hashValue)
    #expect(leaf != authority.certificate)
  }

  @Test func `PEM files hold many, with comment between, and what is broken is an error`() throws {
    let authority = try Authority()
    let other = try Authority("Other")
    let pem = Array("comment\n".utf8) + authority.certificate.pem + Array("\nmore\n".utf8) + other.certificate.pem
    #expect(try Certificate.parse(pem: pem) == [authority.certificate, other.certificate])
    #expect(throws: OpenSSLError.self) { try Certificate.parse(pem: []) }
    #expect(throws: OpenSSLError.self) { try Certificate.parse(pem: Array("nothing here".utf8)) }
    #expect(throws: OpenSSLError.self) { try Certificate.parse(pem: Array(authority.certificate.pem.dropLast(40))) }
    #expect(throws: OpenSSLError.self) { try Certificate(der: authority.certificate.der + [0]) }
    #expect(throws: OpenSSLError.self) { try Certificate(der: [1, 2, 3]) }
  }

  @Test(arguments: [
    ("api.example.com", true), ("API.Example.Com.", true), ("example.com", false), ("x.api.example.com", false),
    ("a.example.org", true), ("a.b.example.org", false), ("example.org", false), ("fa.partial.net", false),
    ("192.0.2.7", true), ("192.0.2.8", false), ("[2001:db8::1]", true), ("2001:DB8:0::1", true), ("2001:db8::2", false),
    ("common.name", false), (".example.com", false), ("", false), ("dns-address", false), ("198.51.100.1", false),
  ])
  func `a name counts only where the alternative names have it`(_ host: String, _ expected: Bool) throws {
    let key = try PrivateKey.generateP256()
    var builder = CertificateBuilder(commonName: "common.name")
    builder.dnsNames = ["api.example.com", "*.example.org", "f*.partial.net", "198.51.100.1"]
    builder.addresses = ["192.0.2.7", "2001:db8::1"]
    #expect(try builder.selfSigned(with: key).isValid(for: PeerName(host)) == expected)
  }

  @Test func `a certificate without alternative names matches no host`() throws {
    let certificate = try CertificateBuilder(commonName: "api.example.com").selfSigned(with: .generateP256())
    #expect(!certificate.isValid(for: PeerName("api.example.com")))
  }

  @Test func `a store's digest follows its content, not its order`() throws {
    let one = try Authority("One").certificate.der
    let two = try Authority("Two").certificate.der
    #expect(try AnchorStore.certificates([one, two]).digest == AnchorStore.certificates([two, one]).digest)
    #expect(try AnchorStore.certificates([one]).digest != AnchorStore.certificates([two]).digest)
    #expect(throws: OpenSSLError.self) { try AnchorStore.certificates([[1, 2]]) }
    #expect(try AnchorStore.systemRoots().digest != AnchorStore.systemRoots(and: [one]).digest)
  }

  @Test func `a key must belong to its certificate`() throws {
    let authority = try Authority()
    #expect(throws: OpenSSLError.self) { try TLSIdentity(chain: [authority.certificate], key: .generateP256()) }
    #expect(throws: OpenSSLError.self) { try TLSIdentity(chain: [], key: .generateP256()) }
  }

  @Test func `a certificate that OpenSSL would not present is found before a connection needs it`() throws {
    let authority = try Authority()
    func check(_ key: PrivateKey) throws {
      try authority.identity(CertificateBuilder(commonName: "client"), key: key).checkForClients()
    }
    try check(.generateP256())
    try check(.generateRSA(bits: 2048))
    let problem = #expect(throws: OpenSSLError.self) { try check(.generateRSA(bits: 1024)) }
    #expect("\(problem.map { "\($0)" } ?? "")".contains("key too small"))
  }
}
