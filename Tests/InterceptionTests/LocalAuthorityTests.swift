import Crypto
import TLS
import Testing

@testable import Interception

@Suite struct LocalAuthorityTests {
  private static let nothing = NameConstraints.Subtree.address([UInt8](repeating: 0xFF, count: 4))
  private static let nothing6 = NameConstraints.Subtree.address([UInt8](repeating: 0xFF, count: 16))
  private static let loopback6 = [UInt8](repeating: 0, count: 15) + [1]

  @Test(
    arguments: [
      (["api.example.com"], [.dns("api.example.com"), nothing, nothing6]),
      (["192.0.2.7"], [.dns("invalid"), .address([192, 0, 2, 7]), nothing6]),
      (["::1"], [.dns("invalid"), nothing, .address(loopback6)]),
      (
        ["B.example.com.", "a.example.com", "10.0.0.1", "[::1]"],
        [.dns("b.example.com"), .dns("a.example.com"), .address([10, 0, 0, 1]), .address(loopback6)]
      ),
    ] as [([String], [NameConstraints.Subtree])])
  func `both certificates permit these hosts, and of every other form one that cannot be`(
    _ names: [String], _ permitted: [NameConstraints.Subtree]
  ) throws {
    let made = try authority(for: names).made
    for certificate in [made.root, made.issuer] {
      #expect(certificate.nameConstraints == NameConstraints(permitted: permitted, isCritical: true))
      #expect(text(certificate).contains("X509v3 Name Constraints: critical"))
      #expect(text(certificate).contains("X509v3 Basic Constraints: critical"))
      #expect(text(certificate).contains("X509v3 Key Usage: critical"))
      #expect(text(certificate).contains("X509v3 Subject Key Identifier"))
      #expect(text(certificate).contains("NIST CURVE: P-256"))
      #expect(certificate.isMarkedAuthority)
      #expect(certificate.maySignCertificates)
    }
  }

  @Test func `the issuer is for TLS servers and has nobody below it`() throws {
    let made = try authority(for: ["api.example.com"]).made
    #expect(made.issuer.pathLength == 0)
    #expect(text(made.issuer).contains("X509v3 Extended Key Usage: \n                TLS Web Server Authentication\n"))
    #expect(text(made.issuer).contains("X509v3 Authority Key Identifier"))
    #expect(made.issuer.isIssued(by: made.root))
    #expect(made.root.isIssued(by: made.root))
    #expect(made.issuer.publicKeyInfo == made.key.publicKeyInfo)
    #expect(made.root.publicKeyInfo != made.key.publicKeyInfo)
  }

  @Test func `name and days are as asked for, and no two authorities have one subject`() throws {
    let made = try LocalAuthority.create(for: hosts(["a.example"]), name: "Team \"A\", x", days: 10, now: 1_800_000_000)
    #expect(made.root.subject.hasPrefix(#"CN=Team \"A\"\, x root "#))
    #expect(made.issuer.subject.hasPrefix(#"CN=Team \"A\"\, x issuer "#))
    for certificate in [made.root, made.issuer] {
      #expect(certificate.notBefore == 1_800_000_000 - 3600)
      #expect(certificate.notAfter == 1_800_000_000 + 864_000)
    }
    let other = try LocalAuthority.create(for: hosts(["a.example"]), name: "Team \"A\", x", days: 10, now: 1_800_000_000)
    #expect(other.root.subject != made.root.subject)
    let longest = String(repeating: "n", count: LocalAuthority.longestName)
    #expect(try LocalAuthority.create(for: hosts(["a.example"]), name: longest, now: now).issuer.subject.contains(longest))
  }

  @Test func `serial numbers are 128 random bits`() throws {
    let serials = try (0..<64).map { _ in
      try CertificateBuilder.server(["a.example"]).selfSigned(with: .generateP256()).serialNumber
    }
    #expect(Set(serials).count == 64)
    // One byte fewer is one in 256.
    #expect(serials.allSatisfy { (14...16).contains($0.count) })
    #expect(serials.contains { $0[0] >= 0x80 })
    #expect(serials.contains { $0[0] < 0x80 })
  }
}
