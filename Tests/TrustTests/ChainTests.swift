import Crypto
import TLS
import Testing

@testable import Trust

/// Real handshakes with every kind of chain a server may present, each judged by `default` over one root.
@Suite struct ChainTests {
  let root: Authority
  init() throws { root = try Authority() }

  private func reason(
    _ chain: [Certificate], _ key: PrivateKey, host: String = "api.example.com",
    _ change: (inout ServerOptions) -> Void = { _ in }
  ) throws -> PeerRefusal.Reason? {
    let judged = try Judged(
      Judged.context(.over(root.certificate)), Judged.server(chain, key, change), host: host)
    if judged.refusal == nil { #expect(judged.result == .done) } else { #expect(judged.refusal?.evaluator == "default") }
    return judged.refusal?.reason
  }

  private func reason(
    _ names: [String] = ["api.example.com"], host: String = "api.example.com", key: PrivateKey? = nil,
    _ change: (inout CertificateBuilder) -> Void = { _ in }
  ) throws -> PeerRefusal.Reason? {
    let leaf = try root.leaf(names, key: key, change)
    return try reason([leaf.certificate], leaf.key, host: host)
  }

  @Test func `what is in order passes`() throws { #expect(try reason() == nil) }

  @Test func `dates count`() throws {
    #expect(
      try reason {
        $0.notBefore = now - 7200
        $0.notAfter = now - 60
      } == .expired)
    #expect(try reason { $0.notBefore = now + 600 } == .notYetValid)
  }

  @Test func `an expired root ends the chain too`() throws {
    let old = try Authority("Old") {
      $0.notBefore = now - 7200
      $0.notAfter = now - 60
    }
    let leaf = try old.leaf()
    let judged = try Judged(Judged.context(.over(old.certificate)), Judged.server([leaf.certificate], leaf.key))
    #expect(judged.refusal?.reason == .expired)
  }

  @Test(arguments: [
    (["other.example.com"], "api.example.com", false), (["*.example.com"], "api.example.com", true),
    (["*.example.com"], "a.b.example.com", false), (["*.example.com"], "example.com", false),
    (["192.0.2.1"], "192.0.2.1", true), (["192.0.2.1"], "192.0.2.2", false), (["2001:db8::5"], "2001:db8:0:0::5", true),
    (["api.example.com"], "192.0.2.1", false),
  ])
  func `the host counts`(_ names: [String], _ host: String, _ good: Bool) throws {
    #expect(try reason(names, host: host) == (good ? nil : .hostMismatch))
  }

  @Test func `the common name does not count`() throws {
    #expect(
      try reason {
        $0.commonName = "api.example.com"
        $0.dnsNames = []
      } == .hostMismatch)
  }

  @Test func `an anchor is needed`() throws {
    let key = try PrivateKey.generateP256()
    #expect(try reason([CertificateBuilder.server(["api.example.com"]).selfSigned(with: key)], key) == .selfSigned)
    let stranger = try Authority("Stranger")
    let leaf = try stranger.leaf()
    #expect(try reason([leaf.certificate], leaf.key) == .unknownIssuer)
    #expect(try reason([leaf.certificate, stranger.certificate], leaf.key) == .untrustedRoot)
  }

  @Test func `an incomplete chain fails, a disordered one with strangers in it does not`() throws {
    let one = try root.intermediate("One")
    let two = try one.intermediate("Two")
    let leaf = try two.leaf()
    let stranger = try Authority("Stranger")
    #expect(try reason([leaf.certificate], leaf.key) == .unknownIssuer)
    #expect(try reason([leaf.certificate, one.certificate], leaf.key) == .unknownIssuer)
    #expect(try reason([leaf.certificate, two.certificate, one.certificate], leaf.key) == nil)
    let disorder = [leaf.certificate, root.certificate, stranger.certificate, one.certificate, two.certificate]
    #expect(try reason(disorder, leaf.key) == nil)
  }

  @Test func `a certificate for another purpose is none for a server`() throws {
    #expect(try reason { $0.purposes = [.clientAuth] } == .wrongPurpose)
    #expect(try reason { $0.purposes = [.codeSigning] } == .wrongPurpose)
    #expect(try reason { $0.purposes = [] } == nil)
  }

  @Test func `an issuer must be an authority`() throws {
    let clerk = try root.intermediate("Clerk") { $0.isCA = false }
    let leaf = try clerk.leaf()
    let found = try reason([leaf.certificate, clerk.certificate], leaf.key)
    #expect(found == .issuerNotCA || found == .unknownIssuer)
  }

  @Test func `path lengths count`() throws {
    let short = try root.intermediate("Short") { $0.pathLength = 0 }
    let below = try short.intermediate("Below")
    let leaf = try below.leaf()
    #expect(try reason([leaf.certificate, below.certificate, short.certificate], leaf.key) == .pathLength)
    let direct = try short.leaf()
    #expect(try reason([direct.certificate, short.certificate], direct.key) == nil)
  }

  @Test func `name constraints count`() throws {
    for (permitted, excluded, good) in [
      (["example.com"], [], true), (["example.org"], [], false), ([], ["api.example.com"], false), ([], ["example.org"], true),
    ] as [([String], [String], Bool)] {
      let bound = try root.intermediate("Bound") {
        $0.constraints = NameConstraints(
          permitted: permitted.map { .dns($0) }, excluded: excluded.map { .dns($0) }, isCritical: false)
      }
      let leaf = try bound.leaf()
      #expect(try reason([leaf.certificate, bound.certificate], leaf.key) == (good ? nil : .nameConstraints))
    }
  }

  @Test func `weak signatures and keys are refused`() throws {
    #expect(try reason { $0.digest = .sha1 } == .weakSignature)
    #expect(try reason(key: .generateRSA(bits: 1024)) == .weakKey)
    #expect(try reason(key: .generateRSA(bits: 2048)) == nil)
  }

  @Test func `a signature that is not the issuer's is none`() throws {
    let twin = try Authority("Test Root")
    let leaf = try twin.leaf()
    // Without matching key identifiers the real root is not a candidate. In either case the chain has no anchor.
    let found = try reason([leaf.certificate], leaf.key)
    #expect(found == .unknownIssuer || found == .badSignature)
  }

  @Test func `old protocols and those under min_version fail`() throws {
    let leaf = try root.leaf()
    let old = try Judged.server([leaf.certificate], leaf.key) {
      $0.minimumVersion = .tls10
      $0.maximumVersion = .tls11
    }
    let judged = try Judged(Judged.context(.over(root.certificate)), old)
    guard case .failed = judged.result else {
      Issue.record("TLS 1.1 must fail")
      return
    }
    var strict = TrustPolicy.over(root.certificate)
    strict.minimumVersion = .tls13
    let twelve = try Judged.server([leaf.certificate], leaf.key) { $0.maximumVersion = .tls12 }
    guard case .failed = try Judged(Judged.context(strict), twelve).result else {
      Issue.record("TLS 1.2 must fail under min_version tls1.3")
      return
    }
    #expect(try Judged(Judged.context(.over(root.certificate)), twelve).result == .done)
  }

  @Test func `validate_host false spares the host alone, disabled spares everything`() throws {
    let leaf = try root.leaf(["other.example.com"])
    let server = try Judged.server([leaf.certificate], leaf.key)
    let hostless = TrustPolicy.over(root.certificate, [.chain(.init(chain: true, host: false))])
    #expect(try Judged(Judged.context(hostless), server).result == .done)
    let stranger = try Authority("Stranger")
    let unanchored = TrustPolicy.over(stranger.certificate, [.chain(.init(chain: true, host: false))])
    #expect(try Judged(Judged.context(unanchored), server).refusal?.reason == .unknownIssuer)
    let judged = try Judged(Judged.context(.over(nil, [.disabled])), server)
    #expect(judged.result == .done)
    #expect(judged.client.verifiedChain.isEmpty)
  }

  @Test func `system roots do not accept a private authority, unless it is added`() throws {
    let leaf = try root.leaf()
    let server = try Judged.server([leaf.certificate], leaf.key)
    #expect(try Judged(Judged.context(.systemDefault), server).refusal?.reason == .unknownIssuer)
    var added = TrustPolicy.systemDefault
    added.anchors = .systemAnd([root.certificate.der])
    #expect(try Judged(Judged.context(added), server).result == .done)
  }
}
