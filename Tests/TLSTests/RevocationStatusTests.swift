import Crypto
import RevocationAnswers
import Testing

@testable import TLS

@Suite struct RevocationStatusTests {
  let authority: Authority
  let leaf: Certificate
  let other: Certificate
  let now = Wire.now

  init() throws {
    authority = try Authority()
    var builder = CertificateBuilder.server(["api.example.com"])
    builder.revocation.lists = ["http://crl.example.com/7.crl"]
    leaf = try builder.issued(to: .generateP256(), by: authority.certificate, authority.key)
    other = try CertificateBuilder.server(["b.example.com"])
      .issued(to: .generateP256(), by: authority.certificate, authority.key)
  }

  private func answer(
    _ status: OCSPAnswerBuilder.Status = .good, _ change: (inout OCSPAnswerBuilder) -> Void = { _ in }
  ) throws -> [UInt8] {
    var builder = OCSPAnswerBuilder([.init(leaf, issuer: authority.certificate, status)])
    change(&builder)
    return try builder.signed(by: authority.certificate, authority.key)
  }

  private func read(_ der: [UInt8]) -> RevocationStatus {
    OCSP.status(der, of: leaf, issuer: authority.certificate, now: now)
  }

  @Test func `a request asks about one certificate`() throws {
    let request = try OCSP.request(for: leaf, issuer: authority.certificate)
    #expect(OCSPAnswerBuilder.serialNumbers(ofRequest: request) == [leaf.serialNumber])
  }

  @Test func `good, revoked and unknown are told apart`() throws {
    guard case .good(let until) = try read(answer()) else {
      Issue.record("must be good")
      return
    }
    #expect(abs(until - now - 3600) < 5)
    #expect(try read(answer(.revoked(at: 1_700_000_000))) == .revoked(at: 1_700_000_000))
    #expect(try read(answer(.unknown)) == .unusable(.unknown))
  }

  @Test func `errors of the responder are no answers`() {
    #expect(read(OCSPAnswerBuilder.error(6)) == .unusable(.unauthorized))
    for code: Int32 in [1, 2, 3, 5] { #expect(read(OCSPAnswerBuilder.error(code)) == .unusable(.responderError)) }
    #expect(read([]) == .unusable(.malformed))
    #expect(read(Array("<html>".utf8)) == .unusable(.malformed))
  }

  @Test func `dates are judged with five minutes for the clocks`() throws {
    func dated(_ from: Int64, _ until: Int64?) throws -> RevocationStatus {
      try read(
        answer {
          $0.entries[0].thisUpdate = now + from
          $0.entries[0].nextUpdate = until.map { now + $0 }
        })
    }
    #expect(try dated(-7200, -400) == .unusable(.stale))
    #expect(try dated(-7200, -200) == .good(until: now - 200))
    #expect(try dated(400, 7200) == .unusable(.notYetValid))
    #expect(try dated(200, 7200) == .good(until: now + 7200))
    #expect(try dated(-60, nil) == .good(until: now - 60 + 900))
    #expect(try dated(-1300, nil) == .unusable(.stale))
    #expect(try dated(-60, -120) == .unusable(.malformed))
  }

  @Test func `a revocation stands though its answer is stale`() throws {
    let old = try answer(.revoked(at: 1)) {
      $0.entries[0].thisUpdate = now - 90_000
      $0.entries[0].nextUpdate = now - 80_000
    }
    #expect(read(old) == .revoked(at: 1))
  }

  @Test func `an answer about another certificate says nothing`() throws {
    let stray = try OCSPAnswerBuilder([.init(other, issuer: authority.certificate, .good)])
      .signed(by: authority.certificate, authority.key)
    #expect(read(stray) == .unusable(.notCovering))
    let both = try OCSPAnswerBuilder([
      .init(other, issuer: authority.certificate, .revoked(at: 1)), .init(leaf, issuer: authority.certificate, .good),
    ]).signed(by: authority.certificate, authority.key)
    guard case .good = read(both) else {
      Issue.record("its own entry counts")
      return
    }
  }

  @Test func `only the issuer, or a responder that it authorised, may sign`() throws {
    let stranger = try Authority("Stranger")
    let entries = [OCSPAnswerBuilder.Entry(leaf, issuer: authority.certificate, .good)]
    #expect(try read(OCSPAnswerBuilder(entries).signed(by: stranger.certificate, stranger.key)) == .unusable(.wrongSigner))

    func delegated(_ authority: Authority, _ change: (inout CertificateBuilder) -> Void = { _ in }) throws -> RevocationStatus {
      var builder = CertificateBuilder(commonName: "Responder")
      builder.purposes = [.ocspSigning]
      change(&builder)
      let key = try PrivateKey.generateP256()
      let responder = try builder.issued(to: key, by: authority.certificate, authority.key)
      return try read(OCSPAnswerBuilder(entries).signed(by: responder, key))
    }
    guard case .good = try delegated(authority) else {
      Issue.record("a delegated responder may")
      return
    }
    #expect(try delegated(stranger) == .unusable(.wrongSigner))
    #expect(try delegated(authority) { $0.purposes = [.serverAuth] } == .unusable(.wrongSigner))
    #expect(try delegated(authority) { $0.purposes = [] } == .unusable(.wrongSigner))
    #expect(try delegated(authority) { $0.notAfter = now - 60 } == .unusable(.wrongSigner))
    #expect(try delegated(authority) { $0.digest = .sha1 } == .unusable(.weakSignature))
  }

  @Test func `a forged or weak signature is none`() throws {
    var changed = try answer()
    // The last digit of producedAt, a GeneralizedTime of 15 bytes.
    let time = try #require(changed.indices.first { changed[$0...].starts(with: [0x18, 15]) })
    changed[time + 15] ^= 1
    #expect(read(changed) == .unusable(.badSignature))
    #expect(try read(answer { $0.digest = .sha1 }) == .unusable(.weakSignature))
    let impostor = try CertificateBuilder.authority("Test Root").selfSigned(with: .generateP256())
    let key = try PrivateKey.generateP256()
    let twin = try CertificateBuilder.authority("Test Root").selfSigned(with: key)
    let entries = [OCSPAnswerBuilder.Entry(leaf, issuer: authority.certificate, .good)]
    #expect(try read(OCSPAnswerBuilder(entries).signed(by: twin, key)) == .unusable(.badSignature))
    #expect(impostor != authority.certificate)
  }

  private func list(
    revoking: [Certificate] = [], _ change: (inout CertificateListBuilder) -> Void = { _ in }
  ) throws -> RevocationStatus {
    var builder = CertificateListBuilder(revoking: revoking)
    change(&builder)
    return try builder.signed(by: authority.certificate, authority.key)
      .status(of: leaf, issuer: authority.certificate, now: now)
  }

  @Test func `a list says revoked, or good until its next update`() throws {
    guard case .good(let until) = try list(revoking: [other]) else {
      Issue.record("must be good")
      return
    }
    #expect(abs(until - now - 3600) < 5)
    guard case .revoked(let at) = try list(revoking: [other, leaf]) else {
      Issue.record("must be revoked")
      return
    }
    #expect(abs(at - now) < 5)
    #expect(
      try list {
        $0.thisUpdate = now - 7200
        $0.nextUpdate = now - 3600
      } == .unusable(.stale))
    #expect(
      try list {
        $0.thisUpdate = now - 60
        $0.nextUpdate = nil
      } == .good(until: now + 840))
  }

  @Test func `a list covers its issuer and its scope only`() throws {
    let stranger = try Authority("Stranger")
    let foreign = try CertificateListBuilder(revoking: [leaf]).signed(by: stranger.certificate, stranger.key)
    #expect(foreign.status(of: leaf, issuer: authority.certificate, now: now) == .unusable(.notCovering))
    let key = try PrivateKey.generateP256()
    let twin = try CertificateBuilder.authority("Test Root").selfSigned(with: key)
    let forged = try CertificateListBuilder().signed(by: twin, key)
    #expect(forged.status(of: leaf, issuer: authority.certificate, now: now) == .unusable(.badSignature))
    #expect(try list { $0.digest = .sha1 } == .unusable(.weakSignature))
    #expect(try list { $0.scope = "onlyCA:TRUE" } == .unusable(.notCovering))
    #expect(try list { $0.scope = "indirectCRL:TRUE" } == .unusable(.notCovering))
    #expect(try list { $0.scope = "onlysomereasons:keyCompromise" } == .unusable(.notCovering))
    #expect(try list { $0.scope = "fullname:URI:http://crl.example.com/8.crl" } == .unusable(.notCovering))
    for scope in ["onlyuser:TRUE", "fullname:URI:http://crl.example.com/7.crl"] {
      guard case .good = try list({ $0.scope = scope }) else {
        Issue.record("\(scope) covers")
        return
      }
    }
  }

  /// RFC 5280 sections 5.2 and 5.3. Of the critical extensions only issuingDistributionPoint is processed. In a valid list
  /// crlNumber and authorityKeyIdentifier are never critical. Delta and indirect lists are not combined.
  @Test(arguments: [
    ("crlNumber", "020107"), ("authorityKeyIdentifier", "300a80080102030405060708"), ("deltaCRL", "020105"),
    ("freshestCRL", "3000"), ("1.3.6.1.4.1.55555.1", "0500"),
  ])
  func `a list with a critical extension that is not processed covers no certificate`(name: String, der: String) throws {
    let value = "DER:" + der
    for revoked in [[], [leaf], [other]] {
      let answer = try list(revoking: revoked) { $0.extensions = [(name, "critical," + value)] }
      #expect(answer == .unusable(.unknownExtension))
    }
    if name == "deltaCRL" {
      // Not critical, against RFC 5280 section 5.2.4, but still only a part of a list.
      #expect(try list(revoking: [leaf]) { $0.extensions = [(name, value)] } == .unusable(.notCovering))
    } else {
      guard case .revoked = try list(revoking: [leaf], { $0.extensions = [(name, value)] }) else {
        Issue.record("what is not critical is passed over")
        return
      }
    }
  }

  @Test(arguments: ["CRLReason", "invalidityDate", "certificateIssuer", "1.3.6.1.4.1.55555.1"])
  func `an entry's critical extension invalidates the whole list, whatever certificate the entry is about`(name: String) throws
  {
    let values = [
      "CRLReason": "0a0101", "invalidityDate": "180f32303236303130313030303030305a", "certificateIssuer": "3003820161",
    ]
    let value = "DER:" + (values[name] ?? "0500")
    for revoked in [[leaf], [other]] {
      #expect(
        try list(revoking: revoked) { $0.entryExtensions = [(name, "critical," + value)] } == .unusable(.unknownExtension))
    }
    if name != "certificateIssuer" {
      guard case .revoked = try list(revoking: [leaf], { $0.entryExtensions = [(name, value)] }) else {
        Issue.record("what is not critical is passed over")
        return
      }
    }
  }

  /// RFC 6960 section 4.4.
  @Test(arguments: [true, false]) func `an OCSP answer with an unknown critical extension says nothing`(ofEntries: Bool) throws
  {
    for status in [OCSPAnswerBuilder.Status.good, .revoked(at: 1)] {
      #expect(try read(answer(status) { $0.strangeExtension = (ofEntries, true) }) == .unusable(.unknownExtension))
    }
    #expect(try read(answer(.revoked(at: 1)) { $0.strangeExtension = (ofEntries, false) }) == .revoked(at: 1))
  }

  @Test func `lists are read from DER and PEM`() throws {
    let one = try CertificateListBuilder(revoking: [leaf]).signed(by: authority.certificate, authority.key)
    #expect(try CertificateList.parse(one.der).count == 1)
    #expect(try CertificateList.parse(one.pem + Array("comment\n".utf8) + one.pem).map(\.der) == [one.der, one.der])
    #expect(throws: OpenSSLError.self) { try CertificateList.parse([]) }
    #expect(throws: OpenSSLError.self) { try CertificateList.parse([0x30, 0x03]) }
  }
}
