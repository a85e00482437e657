import Crypto
import TLS

/// A policy prepared for judging: certificates parsed, digests computed, local lists read. Immutable; shared by all loops and
/// by every snapshot with the same policy.
public final class TrustEvaluation: PeerVerifier {
  public let policy: TrustPolicy
  /// Digest of the policy's content; see `PolicyDigest`.
  public let digest: [UInt8]
  public let buildsChain: Bool
  private let evaluators: [(name: String, check: Check)]
  let revocationRules: [RevocationRule]
  /// SHA-256 of the SubjectPublicKeyInfo of authorities that are the proxy's own.
  private let refusedKeys: Set<[UInt8]>
  /// Called inside handshakes, on any loop. It must neither wait nor touch the connection.
  private let warn: @Sendable (TrustWarning) -> Void

  private enum Check: Sendable {
    case validation(TrustPolicy.Validation)
    case pins(Set<[UInt8]>, TrustPolicy.PinnedPublicKeys)
    case certificates(Set<[UInt8]>, TrustPolicy.Validation)
    case nothing
  }

  /// What refuses a chain for `refusedKeys`, beside the evaluators of the policy.
  public static let ownAuthorities = "intercept"

  /// Throws if a certificate or list of the policy cannot be parsed.
  /// - Parameter refusedKeys: SHA-256 of the SubjectPublicKeyInfo of keys that sign for apps: no verified chain with one of them in it
  ///   is accepted, whatever the anchors are, or whoever has such a key could be any origin.
  public init(
    _ policy: TrustPolicy, refusedKeys: Set<[UInt8]> = [], warn: @escaping @Sendable (TrustWarning) -> Void = { _ in }
  ) throws(OpenSSLError) {
    self.policy = policy
    self.warn = warn
    self.refusedKeys = refusedKeys
    let content = PolicyDigest.of(policy)
    // A session or pooled connection from before must not outlive a key's refusal.
    digest =
      refusedKeys.isEmpty
      ? content : SHA256.digest(parts: [content] + refusedKeys.sorted { $0.lexicographicallyPrecedes($1) })
    buildsChain = policy.validatesChain
    var evaluators: [(name: String, check: Check)] = []
    var rules: [RevocationRule] = []
    for (name, evaluator) in policy.flattened {
      switch evaluator {
      case .chain(let validation): evaluators.append((name, .validation(validation)))
      case .pinnedPublicKeys(let pins): evaluators.append((name, .pins(pins.pins, pins)))
      case .pinnedCertificates(let pins):
        var fingerprints: Set<[UInt8]> = []
        for der in pins.certificates { fingerprints.insert(try Certificate(der: der).fingerprint) }
        evaluators.append((name, .certificates(fingerprints, pins.validation)))
      case .revocation(let revocation):
        evaluators.append((name, .validation(revocation.validation)))
        rules.append(try RevocationRule(name: name, revocation))
      case .composite, .disabled: evaluators.append((name, .nothing))
      }
    }
    self.evaluators = evaluators
    revocationRules = rules
  }

  /// Key of pools, sessions and verdicts: the policy's content and that of its anchors, as the system's roots can change
  /// without the policy.
  public func digest(over anchors: AnchorStore) -> [UInt8] { SHA256.digest(digest + anchors.digest) }

  /// Judges chain, host and pins. All must pass; returns the first reason against the peer.
  public func judge(_ evidence: PeerEvidence) -> PeerRefusal? {
    if !refusedKeys.isEmpty, case .verified(let chain) = evidence.chain,
      let own = chain.first(where: { refusedKeys.contains($0.publicKeyDigest) })
    {
      return PeerRefusal(
        evaluator: Self.ownAuthorities, reason: .ownAuthority,
        detail: "the chain has the key of a CA that signs for apps (\(own.subject.prefix(120)))")
    }
    for (name, check) in evaluators {
      if let refusal = judge(evidence, name, check) { return refusal }
    }
    return nil
  }

  private func judge(_ evidence: PeerEvidence, _ name: String, _ check: Check) -> PeerRefusal? {
    switch check {
    case .nothing: return nil
    case .validation(let validation): return refusal(evidence, name, validation)
    case .certificates(let pinned, let validation):
      if let refusal = refusal(evidence, name, validation) { return refusal }
      guard !candidates(evidence, validation).contains(where: { pinned.contains($0.fingerprint) }) else { return nil }
      return PeerRefusal(evaluator: name, reason: .pinMismatch, detail: "no pinned certificate in \(place(validation))")
    case .pins(let pinned, let settings):
      if let refusal = refusal(evidence, name, settings.validation) { return refusal }
      if let expires = settings.expires, evidence.now >= expires {
        report(.pinsExpired, name, evidence, "the pins have expired and are no longer enforced")
        return nil
      }
      let found = candidates(evidence, settings.validation).contains { pinned.contains($0.publicKeyDigest) }
      if found { return nil }
      let detail = "no pinned public key in \(place(settings.validation))"
      guard settings.enforce else {
        report(.pinMismatch, name, evidence, detail)
        return nil
      }
      return PeerRefusal(evaluator: name, reason: .pinMismatch, detail: detail)
    }
  }

  private func refusal(_ evidence: PeerEvidence, _ name: String, _ validation: TrustPolicy.Validation) -> PeerRefusal? {
    if validation.chain {
      switch evidence.chain {
      case .verified: break
      case .failed(let failure): return PeerRefusal(evaluator: name, reason: failure.reason, detail: failure.detail)
      case .notBuilt: return PeerRefusal(evaluator: name, reason: .invalidChain, detail: "the chain was not validated")
      }
    }
    guard !validation.host || evidence.hostMatches else {
      return PeerRefusal(
        evaluator: name, reason: .hostMismatch, detail: "the certificate does not name \(evidence.host)")
    }
    return nil
  }

  /// The certificates to compare pins with. Never includes one that the server sent but that is not in the chain.
  private func candidates(_ evidence: PeerEvidence, _ validation: TrustPolicy.Validation) -> [Certificate] {
    guard validation.chain else { return Array(evidence.served.prefix(1)) }
    if case .verified(let chain) = evidence.chain { return chain }
    return []
  }

  private func place(_ validation: TrustPolicy.Validation) -> String {
    validation.chain ? "the verified chain" : "the leaf (the chain is not validated)"
  }

  private func report(_ kind: TrustWarning.Kind, _ name: String, _ evidence: PeerEvidence, _ detail: String) {
    warn(TrustWarning(kind: kind, policy: policy.name, evaluator: name, host: evidence.host.text, detail: detail))
  }
}

extension TrustEvaluation {
  /// Options of a context for connections under this policy. `anchors` comes from `AnchorStores` for this policy.
  public func clientOptions(anchors: AnchorStore, identity: TLSIdentity? = nil) -> ClientOptions {
    var options = ClientOptions(anchors: anchors, verifier: self)
    options.minimumVersion = policy.minimumVersion.protocolVersion
    options.identity = identity
    options.requestsStaple = !revocationRules.isEmpty
    return options
  }

  /// The gate between a handshake, or an expired verdict, and the next byte. `chain` is the connection's verified chain; for a
  /// resumed session, chain and `staple` come from the session's record.
  /// - Parameter judgesParent: the peer is a parent proxy.
  public func gate(host: PeerName, chain: [Certificate], staple: [UInt8]?, judgesParent: Bool = false) -> RevocationCheck {
    let validator = evaluators.first { entry in
      switch entry.check {
      case .validation(let validation), .certificates(_, let validation): validation.chain
      case .pins(_, let settings): settings.validation.chain
      case .nothing: false
      }
    }
    return RevocationCheck(
      policy: policy.name, host: host, rules: revocationRules, chain: chain, validator: validator?.name, staple: staple,
      judgesParent: judgesParent)
  }
}
