import Crypto
import TLS
import Testing

@testable import Trust

@Suite struct PinTests {
  let root: Authority
  let intermediate: Authority
  let leaf: (certificate: Certificate, key: PrivateKey)
  let stranger: Authority

  init() throws {
    root = try Authority()
    intermediate = try root.intermediate()
    leaf = try intermediate.leaf()
    stranger = try Authority("Stranger")
  }

  private func server(_ extra: [Certificate] = []) throws -> TLSContext {
    try Judged.server([leaf.certificate, intermediate.certificate] + extra, leaf.key)
  }

  private func refusal(
    _ evaluators: [TrustPolicy.Evaluator], anchor: Certificate? = nil, server: TLSContext? = nil,
    host: String = "api.example.com", _ warnings: Warnings? = nil
  ) throws -> TrustRefusal? {
    let policy = TrustPolicy.over(anchor ?? root.certificate, evaluators)
    return try Judged(Judged.context(policy, warnings), server ?? self.server(), host: host).refusal
  }

  private func keys(
    _ certificates: [Certificate], _ change: (inout TrustPolicy.PinnedPublicKeys) -> Void = { _ in }
  ) -> TrustPolicy.Evaluator {
    var pins = TrustPolicy.PinnedPublicKeys(pins: Set(certificates.map(\.publicKeyDigest)))
    change(&pins)
    return .pinnedPublicKeys(pins)
  }

  @Test func `a pinned key may be leaf, intermediate or root, alone or beside a backup`() throws {
    for certificate in [leaf.certificate, intermediate.certificate, root.certificate] {
      #expect(try refusal([keys([certificate])]) == nil)
      #expect(try refusal([keys([stranger.certificate, certificate])]) == nil)
    }
    let refused = try refusal([keys([stranger.certificate])])
    #expect(refused?.evaluator == "pinned_public_keys")
    #expect(refused?.reason == .pinMismatch)
  }

  @Test func `a certificate that was served along, but is not in the verified chain, fulfils no pin`() throws {
    let server = try server([stranger.certificate])
    #expect(try refusal([keys([stranger.certificate])], server: server)?.reason == .pinMismatch)
    let pinned = TrustPolicy.Evaluator.pinnedCertificates(.init(certificates: [stranger.certificate.der]))
    #expect(try refusal([pinned], server: server)?.reason == .pinMismatch)
  }

  @Test func `a re-issued certificate keeps the key's pin, and not the certificate's`() throws {
    let again = try intermediate.leaf(key: leaf.key)
    let server = try Judged.server([again.certificate, intermediate.certificate], again.key)
    #expect(try refusal([keys([leaf.certificate])], server: server) == nil)
    let pinned = TrustPolicy.Evaluator.pinnedCertificates(.init(certificates: [leaf.certificate.der]))
    #expect(try refusal([pinned]) == nil)
    #expect(try refusal([pinned], server: server)?.evaluator == "pinned_certificates")
  }

  @Test func `without a validated chain the leaf alone is compared`() throws {
    let loose: (inout TrustPolicy.PinnedPublicKeys) -> Void = { $0.validation.chain = false }
    #expect(try refusal([keys([leaf.certificate], loose)], anchor: stranger.certificate) == nil)
    #expect(try refusal([keys([intermediate.certificate], loose)], anchor: stranger.certificate)?.reason == .pinMismatch)
    #expect(try refusal([keys([leaf.certificate], loose)], host: "other.example.com")?.reason == .hostMismatch)
    // Also if another evaluator requires a valid chain.
    #expect(try refusal([.chain(.init()), keys([root.certificate], loose)])?.reason == .pinMismatch)
  }

  @Test func `expired pins are not enforced, with a warning; chain and host still are`() throws {
    let warnings = Warnings()
    let expired: (inout TrustPolicy.PinnedPublicKeys) -> Void = { $0.expires = now - 1 }
    #expect(try refusal([keys([stranger.certificate], expired)], warnings) == nil)
    #expect(warnings.all.map(\.kind) == [.pinsExpired])
    #expect(try refusal([keys([stranger.certificate], expired)], anchor: stranger.certificate)?.reason == .unknownIssuer)
    #expect(try refusal([keys([stranger.certificate]) { $0.expires = now + 60 }])?.reason == .pinMismatch)
  }

  @Test func `report only skips the comparison and nothing else`() throws {
    let warnings = Warnings()
    let reporting: (inout TrustPolicy.PinnedPublicKeys) -> Void = { $0.enforce = false }
    #expect(try refusal([keys([stranger.certificate], reporting)], warnings) == nil)
    #expect(warnings.all.map(\.kind) == [.pinMismatch])
    #expect(warnings.all.first?.host == "api.example.com")
    #expect(try refusal([keys([leaf.certificate], reporting)], warnings) == nil)
    #expect(warnings.all.count == 1)
    #expect(try refusal([keys([stranger.certificate], reporting)], host: "x.example.com")?.reason == .hostMismatch)
    #expect(try refusal([keys([stranger.certificate], reporting)], anchor: stranger.certificate)?.reason == .unknownIssuer)
  }

  @Test func `a self-signed certificate is accepted where it is pinned, host and dates counting`() throws {
    let key = try PrivateKey.generateP256()
    let alone = try CertificateBuilder.server(["api.example.com"]).selfSigned(with: key)
    let server = try Judged.server([alone], key)
    let pinned = TrustPolicy.PinnedCertificates(certificates: [alone.der], acceptSelfSigned: true)
    #expect(try refusal([.pinnedCertificates(pinned)], server: server) == nil)
    #expect(try refusal([.pinnedCertificates(pinned)], server: server, host: "x.example.com")?.reason == .hostMismatch)
    var strict = pinned
    strict.acceptSelfSigned = false
    #expect(try refusal([.pinnedCertificates(strict)], server: server)?.reason == .selfSigned)
    // The pinned certificates are the only anchors: the policy's own root is none.
    #expect(try refusal([.pinnedCertificates(pinned)])?.reason == .unknownIssuer)

    var builder = CertificateBuilder.server(["api.example.com"])
    builder.notBefore = now - 7200
    builder.notAfter = now - 60
    let old = try builder.selfSigned(with: key)
    let oldPin = TrustPolicy.PinnedCertificates(certificates: [old.der], acceptSelfSigned: true)
    #expect(try refusal([.pinnedCertificates(oldPin)], server: Judged.server([old], key))?.reason == .expired)
  }

  @Test func `evaluators are a conjunction; the first reason wins and its place is named`() throws {
    let wrong = keys([stranger.certificate])
    #expect(try refusal([.chain(.init()), keys([leaf.certificate]), keys([root.certificate])]) == nil)
    #expect(try refusal([.chain(.init()), keys([leaf.certificate]), wrong])?.evaluator == "pinned_public_keys")
    let nested = TrustPolicy.Evaluator.composite([.chain(.init()), .composite([keys([leaf.certificate]), wrong])])
    #expect(try refusal([nested])?.evaluator == "composite.composite.pinned_public_keys")
    // Host and pin are both wrong.
    #expect(try refusal([.chain(.init()), wrong], host: "x.example.com")?.evaluator == "default")
    let pinsFirst = keys([stranger.certificate]) { $0.validation = .init(chain: false, host: false) }
    #expect(try refusal([pinsFirst, .chain(.init())], host: "x.example.com")?.evaluator == "pinned_public_keys")
  }

  @Test func `a pinned certificate that cannot be read fails at load`() {
    let policy = TrustPolicy.over(nil, [.pinnedCertificates(.init(certificates: [[1, 2, 3]]))])
    #expect(throws: OpenSSLError.self) { try TrustEvaluation(policy) }
    let lists = TrustPolicy.over(nil, [.revocation(.init(lists: [[1, 2, 3]]))])
    #expect(throws: OpenSSLError.self) { try TrustEvaluation(lists) }
  }
}
