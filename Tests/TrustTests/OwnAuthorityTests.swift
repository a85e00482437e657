import Crypto
import TLS
import Testing

@testable import Trust

/// Origins that show what our own authorities have signed.
@Suite struct OwnAuthorityTests {
  private let root: Authority
  private let issuer: Authority

  init() throws {
    root = try Authority("Own Root")
    issuer = try root.intermediate("Own Issuer")
  }

  private func refusal(
    _ evaluators: [TrustPolicy.Evaluator], refusing keys: [PrivateKey], anchor: Certificate, _ chain: [Certificate],
    _ key: PrivateKey
  ) throws -> PeerRefusal? {
    let refused = Set(keys.map { SHA256.digest($0.publicKeyInfo) })
    let evaluation = try TrustEvaluation(.over(anchor, evaluators), refusedKeys: refused)
    let context = try TLSContext.client(evaluation.clientOptions(anchors: AnchorStores().store(for: evaluation.policy)))
    let judged = try Judged(context, Judged.server(chain, key))
    #expect((judged.result == .done) == (judged.refusal == nil))
    return judged.refusal
  }

  @Test func `a chain with the key of our authority is refused, whatever is an anchor`() throws {
    let leaf = try issuer.leaf()
    for (anchor, chain) in [
      (root.certificate, [leaf.certificate, issuer.certificate]), (issuer.certificate, [leaf.certificate]),
      (leaf.certificate, [leaf.certificate]),
    ] {
      let found = try refusal([.chain(.init())], refusing: [issuer.key], anchor: anchor, chain, leaf.key)
      // An anchor ends a chain: above the leaf itself there is no key of ours.
      if anchor == leaf.certificate {
        #expect(found == nil)
      } else {
        #expect(found?.reason == .ownAuthority)
        #expect(found?.evaluator == "intercept")
        #expect(found?.detail == "the chain has the key of a CA that signs for apps (CN=Own Issuer)")
      }
    }
  }

  @Test func `another certificate for the same key is no way around it, and pins are none`() throws {
    let other = try Authority("Other Root")
    let renamed = try CertificateBuilder.authority("Renamed").issued(to: issuer.key, by: other.certificate, other.key)
    let leafKey = try PrivateKey.generateP256()
    let leaf = try CertificateBuilder.server(["api.example.com"]).issued(to: leafKey, by: renamed, issuer.key)
    let pins = TrustPolicy.Evaluator.pinnedPublicKeys(.init(pins: [leaf.publicKeyDigest]))
    #expect(
      try refusal([pins], refusing: [issuer.key], anchor: other.certificate, [leaf, renamed], leafKey)?.reason == .ownAuthority)
    #expect(try refusal([pins], refusing: [], anchor: other.certificate, [leaf, renamed], leafKey) == nil)
  }

  @Test func `others are not concerned, and a bad chain is bad for its own reason`() throws {
    let other = try Authority("Other Root")
    let leaf = try other.leaf()
    #expect(
      try refusal([.chain(.init())], refusing: [issuer.key], anchor: other.certificate, [leaf.certificate], leaf.key) == nil)
    let ours = try issuer.leaf()
    let unknown = try refusal(
      [.chain(.init())], refusing: [issuer.key], anchor: other.certificate, [ours.certificate, issuer.certificate], ours.key)
    #expect(unknown?.reason == .unknownIssuer)
  }

  @Test func `what hangs on a policy hangs on the refused keys, too`() throws {
    let policy = TrustPolicy.over(root.certificate)
    let (one, two): ([UInt8], [UInt8]) = (Array(repeating: 1, count: 32), Array(repeating: 2, count: 32))
    let digests = try [[], [one], [two], [one, two]].map { try TrustEvaluation(policy, refusedKeys: Set($0)).digest }
    #expect(Set(digests).count == 4)
    #expect(try TrustEvaluation(policy, refusedKeys: [two, one]).digest == digests[3])
    #expect(try TrustEvaluation(policy).digest == digests[0])
  }
}
