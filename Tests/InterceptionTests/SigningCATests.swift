import COpenSSL
import Crypto
import TLS
import Testing

@testable import Interception

@Suite struct SigningCATests {
  private static let bound = NameConstraints(permitted: [.dns("example.com")])

  private func builder(_ name: String, _ change: (inout CertificateBuilder) -> Void = { _ in }) -> CertificateBuilder {
    var builder = CertificateBuilder.authority(name)
    builder.constraints = Self.bound
    change(&builder)
    return builder
  }

  /// Why a chain of issuer and root is refused, each changed so.
  private func error(
    _ issuerKey: PrivateKey? = nil, root changeRoot: (inout CertificateBuilder) -> Void = { _ in },
    issuer changeIssuer: (inout CertificateBuilder) -> Void = { _ in }
  ) throws -> SigningCAError? {
    let rootKey = try PrivateKey.generateP256()
    let key = try issuerKey ?? .generateP256()
    let root = try builder("Root", changeRoot).selfSigned(with: rootKey)
    let issuer = try builder("Issuer", changeIssuer).issued(to: key, by: root, rootKey)
    return error([issuer, root], key)
  }

  private func error(_ chain: [Certificate], _ key: PrivateKey, allowsUnconstrained: Bool = false) -> SigningCAError? {
    do throws(SigningCAError) {
      _ = try SigningCA(chain: chain, key: key, allowsUnconstrained: allowsUnconstrained, now: now)
      return nil
    } catch {
      return error
    }
  }

  @Test func `what verifiers would refuse is no authority`() throws {
    #expect(try error() == nil)
    #expect(try error(issuer: { $0.isCA = false }) == .notAuthority("CN=Issuer"))
    #expect(try error(root: { $0.isCA = false }) == .notAuthority("CN=Root"))
    #expect(try error(issuer: { $0.purposes = [.clientAuth] }) == .notForServers("CN=Issuer"))
    #expect(try error(issuer: { $0.purposes = [.clientAuth, .serverAuth] }) == nil)
    #expect(try error(issuer: { $0.notAfter = now - 1 }) == .expired("CN=Issuer", at: now - 1))
    #expect(try error(root: { $0.notAfter = now - 1 }) == .expired("CN=Root", at: now - 1))
    #expect(try error(issuer: { $0.notBefore = now + 60 }) == .notYetValid("CN=Issuer", until: now + 60))
    #expect(try error(issuer: { $0.digest = .sha1 }) == .weakSignature("CN=Issuer"))
    #expect(try error(.generateRSA(bits: 1024)) == .weakKey("CN=Issuer", bits: 1024))
    #expect(try error(.generateRSA(bits: 2048)) == nil)
    #expect(try error(root: { $0.pathLength = 0 }) == .pathTooLong("CN=Root"))
  }

  /// With another extension of name constraints of these bytes, signed again.
  private func adding(_ bytes: [UInt8], to certificate: Certificate, _ key: PrivateKey) throws -> Certificate {
    let value = try #require(ASN1_OCTET_STRING_new())
    defer { ASN1_OCTET_STRING_free(value) }
    #expect(ASN1_OCTET_STRING_set(value, bytes, Int32(bytes.count)) == 1)
    let added = try #require(X509_EXTENSION_create_by_NID(nil, NID_name_constraints, 1, value))
    defer { X509_EXTENSION_free(added) }
    let copy = try #require(X509_dup(certificate.pointer))
    defer { X509_free(copy) }
    #expect(X509_add_ext(copy, added, -1) == 1)
    #expect(X509_sign(copy, key.pointer, EVP_sha256()) > 0)
    var output: UnsafeMutablePointer<UInt8>?
    let count = Int(i2d_X509(copy, &output))
    defer { CRYPTO_free(output, #file, #line) }
    return try Certificate(der: Array(UnsafeBufferPointer(start: output, count: count)))
  }

  @Test func `name constraints that cannot be read, or twice, are not none`() throws {
    let key = try PrivateKey.generateP256()
    // permittedSubtrees with one DNS name, c.example.
    let readable: [UInt8] = [0x30, 0x0F, 0xA0, 0x0D, 0x30, 0x0B, 0x82, 0x09] + Array("c.example".utf8)
    for (bytes, constraints) in [
      ([0x30, 0x05, 0xA0], NameConstraints()), ([], NameConstraints()), (readable, Self.bound), ([0x00], Self.bound),
    ] as [([UInt8], NameConstraints)] {
      let plain = try builder("Root") { $0.constraints = constraints }.selfSigned(with: key)
      let odd = try adding(bytes, to: plain, key)
      #expect(error([odd], key, allowsUnconstrained: true) == .unreadableConstraints("CN=Root"), "\(bytes)")
    }
    let plain = try builder("Root") { $0.constraints = NameConstraints() }.selfSigned(with: key)
    #expect(try error([adding(readable, to: plain, key)], key) == nil)
  }

  @Test func `certificates follow each other up to a root, and the key is the first one's`() throws {
    let one = try authority(for: ["a.example"]).made
    let other = try authority(for: ["a.example"]).made
    #expect(error([], one.key) == .noCertificate)
    #expect(error([one.issuer, other.root], one.key) == .notIssued(one.issuer.subject, by: other.root.subject))
    #expect(error([one.issuer], one.key) == .notSelfSigned(one.issuer.subject))
    #expect(error([one.root, one.issuer], one.key) == .notIssued(one.root.subject, by: one.issuer.subject))
    #expect(error([one.issuer, one.root], other.key) == .foreignKey)
    #expect(error([one.issuer, one.root], one.key) == nil)
  }

  @Test func `without critical constraints for names somebody has to allow it`() throws {
    for constraints in [
      NameConstraints(), NameConstraints(permitted: [.dns("example.com")], isCritical: false),
      NameConstraints(excluded: [.dns("bank.example")]), NameConstraints(permitted: [.address([10, 0, 0, 1])]),
    ] {
      let key = try PrivateKey.generateP256()
      let root = try builder("Root") { $0.constraints = constraints }.selfSigned(with: key)
      #expect(error([root], key) == .unconstrained)
      #expect(error([root], key, allowsUnconstrained: true) == nil)
    }
  }

  @Test func `what any certificate of the chain forbids is forbidden`() throws {
    let rootKey = try PrivateKey.generateP256()
    let key = try PrivateKey.generateP256()
    let root = try builder("Root").selfSigned(with: rootKey)
    let narrow = builder("Issuer") {
      $0.constraints = NameConstraints(permitted: [.dns("a.example.com"), .dns("b.example.org")])
    }
    let signing = try SigningCA(chain: [narrow.issued(to: key, by: root, rootKey), root], key: key, now: now)
    #expect(signing.permits(PeerName("a.example.com")))
    #expect(!signing.permits(PeerName("c.example.com")))
    #expect(!signing.permits(PeerName("b.example.org")))
    #expect(signing.permits(namesBelow: "a.example.com"))
    #expect(!signing.permits(namesBelow: "example.com"))
    #expect(!signing.isConstrainedByRootAlone)
    let open = builder("Issuer") { $0.constraints = NameConstraints() }
    #expect(try SigningCA(chain: [open.issued(to: key, by: root, rootKey), root], key: key, now: now).isConstrainedByRootAlone)
  }

  @Test func `the first authority that permits a host and has not expired signs for it`() throws {
    let old = try authority(for: ["a.example", "b.example"], days: 2).signing
    let new = try authority(for: ["b.example", "c.example"]).signing
    let all = SigningCAs([old, new])
    #expect(all.signer(for: PeerName("a.example"), at: now) == old)
    #expect(all.signer(for: PeerName("b.example"), at: now) == old)
    #expect(all.signer(for: PeerName("c.example"), at: now) == new)
    #expect(all.signer(for: PeerName("d.example"), at: now) == nil)
    #expect(all.signer(forNamesBelow: "b.example", at: now) == old)
    #expect(all.signer(forNamesBelow: "example", at: now) == nil)
    let later = now + 3 * 86_400
    #expect(all.signer(for: PeerName("a.example"), at: later) == nil)
    #expect(all.signer(for: PeerName("b.example"), at: later) == new)
    #expect(all.roots(at: now) == [old.root, new.root])
    #expect(all.roots(at: later) == [new.root])
    #expect(SigningCAs([old, old]).roots(at: now) == [old.root])
  }
}
