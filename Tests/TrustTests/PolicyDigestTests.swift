import TLS
import Testing

@testable import Trust

@Suite struct PolicyDigestTests {
  static let base = TrustPolicy(
    name: "one", anchors: .only([[1], [2]]),
    evaluators: [
      .chain(.init()), .pinnedPublicKeys(.init(pins: [[1], [2]], expires: 5)), .revocation(.init(methods: [.ocsp, .crl])),
    ])

  @Test func `name and order of sets do not count`() {
    var same = Self.base
    same.name = "two"
    same.anchors = .only([[2], [1]])
    #expect(PolicyDigest.of(same) == PolicyDigest.of(Self.base))
  }

  @Test func `every demand counts`() {
    var changed: [TrustPolicy] = [Self.base]
    func change(_ body: (inout TrustPolicy) -> Void) {
      var policy = Self.base
      body(&policy)
      changed.append(policy)
    }
    change { $0.anchors = .systemAnd([[1], [2]]) }
    change { $0.anchors = .only([[1]]) }
    change { $0.anchors = .system }
    change { $0.minimumVersion = .tls13 }
    change { $0.evaluators.removeLast() }
    change { $0.evaluators.swapAt(0, 1) }
    change { $0.evaluators = [.composite($0.evaluators)] }
    change { $0.evaluators = [.disabled] }
    for validation in [TrustPolicy.Validation(chain: false), .init(host: false), .init(chain: false, host: false)] {
      change { $0.evaluators[0] = .chain(validation) }
      change { $0.evaluators[1] = .pinnedPublicKeys(.init(pins: [[1], [2]], expires: 5, validation: validation)) }
      change { $0.evaluators[2] = .revocation(.init(validation: validation)) }
    }
    change { $0.evaluators[1] = .pinnedPublicKeys(.init(pins: [[1], [3]], expires: 5)) }
    change { $0.evaluators[1] = .pinnedPublicKeys(.init(pins: [[1], [2]])) }
    change { $0.evaluators[1] = .pinnedPublicKeys(.init(pins: [[1], [2]], expires: 6)) }
    change { $0.evaluators[1] = .pinnedPublicKeys(.init(pins: [[1], [2]], expires: 5, enforce: false)) }
    change { $0.evaluators[1] = .pinnedCertificates(.init(certificates: [[1], [2]])) }
    change { $0.evaluators[1] = .pinnedCertificates(.init(certificates: [[1], [2]], acceptSelfSigned: true)) }
    change { $0.evaluators[2] = .revocation(.init(methods: [.crl, .ocsp])) }
    change { $0.evaluators[2] = .revocation(.init(methods: [.ocsp])) }
    change { $0.evaluators[2] = .revocation(.init(responder: "http://ocsp.internal/")) }
    change { $0.evaluators[2] = .revocation(.init(lists: [[1]])) }
    change { $0.evaluators[2] = .revocation(.init(network: false)) }
    change { $0.evaluators[2] = .revocation(.init(timeout: 1)) }
    change { $0.evaluators[2] = .revocation(.init(requirePositiveResponse: true)) }
    change { $0.evaluators[2] = .revocation(.init(scope: .leaf)) }
    #expect(Set(changed.map { PolicyDigest.of($0) }).count == changed.count)
  }

  @Test func `what a policy validates can be asked`() {
    #expect(Self.base.validatesChain && Self.base.validatesHost && Self.base.checksRevocation)
    #expect(Self.base.earliestPinExpiry == 5)
    let loose = TrustPolicy(
      name: "", evaluators: [.composite([.pinnedPublicKeys(.init(pins: [], validation: .init(chain: false, host: false)))])])
    #expect(!loose.validatesChain && !loose.validatesHost && !loose.checksRevocation)
    let off = TrustPolicy(name: "", evaluators: [.disabled])
    #expect(!off.validatesChain && !off.validatesHost)
  }

  @Test func `one store serves all policies with the same anchors`() throws {
    let der = try Authority().certificate.der
    let stores = AnchorStores()
    let one = TrustPolicy(name: "a", anchors: .only([der]), evaluators: [.chain(.init())])
    let two = TrustPolicy(name: "b", anchors: .only([der]), evaluators: [.disabled])
    #expect(try stores.store(for: one) === stores.store(for: two))
    let kept = try stores.store(for: one)
    stores.prune(keeping: [])
    #expect(try stores.store(for: one) !== kept)
  }

  @Test func `the content of the anchors counts, not how it is written`() throws {
    let (one, two) = (try Authority("One").certificate, try Authority("Two").certificate)
    let policy = TrustPolicy(name: "", evaluators: [.chain(.init())])
    let evaluation = try TrustEvaluation(policy)
    let stores = AnchorStores()
    func digest(_ pem: [UInt8]) throws -> [UInt8] {
      evaluation.digest(over: try stores.store(for: policy, system: SystemRoots(path: "/roots.pem", pem: pem)))
    }
    let both = try digest(one.pem + two.pem)
    #expect(try digest(Array("# a comment\n".utf8) + two.pem + one.pem + two.pem) == both)
    #expect(try digest(one.pem) != both)
    #expect(try digest(one.pem) != digest(two.pem))
    let other = try TrustEvaluation(TrustPolicy(name: "", minimumVersion: .tls13, evaluators: [.chain(.init())]))
    let roots = SystemRoots(path: "/roots.pem", pem: one.pem)
    #expect(other.digest(over: try stores.store(for: policy, system: roots)) != (try digest(one.pem)))
    let kept = try stores.store(for: policy, system: roots)
    stores.prune(keeping: [policy], system: roots)
    #expect(try stores.store(for: policy, system: roots) === kept)
    stores.prune(keeping: [policy], system: SystemRoots(path: "/roots.pem", pem: two.pem))
    #expect(try stores.store(for: policy, system: roots) !== kept)
  }
}
