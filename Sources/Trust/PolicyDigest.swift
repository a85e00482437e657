import Crypto
import TLS

/// SHA-256 over a policy's requirements, without its name. Pools, sessions and verdicts are keyed by it and by the content of
/// the anchors (`TrustEvaluation.digest(over:)`). So a change of a policy retires them, but renaming it does not.
public enum PolicyDigest {
  public static func of(_ policy: TrustPolicy) -> [UInt8] {
    var content = Content()
    content.add(policy.minimumVersion.rawValue)
    switch policy.effectiveAnchors {
    case .system: content.add("system")
    case .systemAnd(let certificates):
      content.add("system and")
      content.add(unordered: certificates)
    case .only(let certificates):
      content.add("only")
      content.add(unordered: certificates)
    }
    content.add(policy.evaluators)
    return SHA256.digest(content.bytes)
  }

  /// Digest of a client certificate: the identity's own; empty without one.
  public static func of(_ identity: TLSIdentity?) -> [UInt8] { identity?.digest ?? [] }

  /// Each part follows its length or count, so that no two policies produce the same bytes.
  private struct Content {
    var bytes: [UInt8] = []

    mutating func add(_ number: Int) {
      withUnsafeBytes(of: Int64(number).bigEndian) { bytes.append(contentsOf: $0) }
    }
    mutating func add(_ part: [UInt8]) {
      add(part.count)
      bytes += part
    }
    mutating func add(_ text: String) { add(Array(text.utf8)) }
    mutating func add(_ flag: Bool) { bytes.append(flag ? 1 : 0) }
    mutating func add(unordered parts: some Sequence<[UInt8]>) {
      let digests = parts.map { SHA256.digest($0) }.sorted { $0.lexicographicallyPrecedes($1) }
      add(digests.count)
      for digest in digests { bytes += digest }
    }
    mutating func add(_ validation: TrustPolicy.Validation) {
      add(validation.chain)
      add(validation.host)
    }

    mutating func add(_ evaluators: [TrustPolicy.Evaluator]) {
      add(evaluators.count)
      for evaluator in evaluators {
        add(evaluator.name)
        switch evaluator {
        case .chain(let validation): add(validation)
        case .pinnedPublicKeys(let pins):
          add(unordered: pins.pins)
          add(pins.expires != nil)
          add(Int(pins.expires ?? 0))
          add(pins.enforce)
          add(pins.validation)
        case .pinnedCertificates(let pins):
          add(unordered: pins.certificates)
          add(pins.acceptSelfSigned)
          add(pins.validation)
        case .revocation(let revocation): add(revocation)
        case .composite(let inner): add(inner)
        case .disabled: break
        }
      }
    }

    mutating func add(_ revocation: TrustPolicy.Revocation) {
      add(revocation.methods.count)
      for method in revocation.methods { add(method.rawValue) }
      add(revocation.responder != nil)
      add(revocation.responder ?? "")
      add(unordered: revocation.lists)
      add(revocation.network)
      add(revocation.timeout)
      add(revocation.requirePositiveResponse)
      add(revocation.scope.rawValue)
      add(revocation.validation)
    }
  }
}
