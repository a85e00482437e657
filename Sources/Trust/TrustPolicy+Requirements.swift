import TLS

extension TrustPolicy.Evaluator {
  /// Its name in the configuration. From a fixed list, as it becomes a metric's label.
  public var name: String {
    switch self {
    case .chain: "default"
    case .pinnedPublicKeys: "pinned_public_keys"
    case .pinnedCertificates: "pinned_certificates"
    case .revocation: "revocation"
    case .composite: "composite"
    case .disabled: "disabled"
    }
  }

  /// Its requirements for chain and host; nil if it has no such options.
  var validation: TrustPolicy.Validation? {
    switch self {
    case .chain(let validation): validation
    case .pinnedPublicKeys(let pins): pins.validation
    case .pinnedCertificates(let pins): pins.validation
    case .revocation(let revocation): revocation.validation
    case .composite, .disabled: nil
    }
  }
}

extension TrustPolicy {
  /// Every evaluator that is not a composite, in order, with its path: `composite.revocation`.
  public var flattened: [(name: String, evaluator: Evaluator)] { Self.flatten(evaluators, within: "") }

  private static func flatten(_ evaluators: [Evaluator], within prefix: String) -> [(name: String, evaluator: Evaluator)] {
    evaluators.flatMap { evaluator -> [(name: String, evaluator: Evaluator)] in
      guard case .composite(let inner) = evaluator else { return [(prefix + evaluator.name, evaluator)] }
      return flatten(inner, within: prefix + "composite.")
    }
  }

  /// Whether any evaluator requires a valid chain.
  public var validatesChain: Bool { flattened.contains { $0.evaluator.validation?.chain == true } }
  /// Whether any evaluator compares the host.
  public var validatesHost: Bool { flattened.contains { $0.evaluator.validation?.host == true } }

  public var checksRevocation: Bool {
    flattened.contains { if case .revocation = $0.evaluator { true } else { false } }
  }

  /// Earliest expiry of its pins, in seconds since 1970; nil = none expires.
  public var earliestPinExpiry: Int64? {
    flattened.compactMap { if case .pinnedPublicKeys(let pins) = $0.evaluator { pins.expires } else { nil } }.min()
  }

  /// The anchors for validating the chain. If there are certificates pinned with `accept_self_signed`, they are the only
  /// anchors; each of these evaluators still requires one of its own in the chain.
  public var effectiveAnchors: Anchors {
    let pinned = flattened.flatMap { entry -> [[UInt8]] in
      guard case .pinnedCertificates(let pins) = entry.evaluator, pins.acceptSelfSigned else { return [] }
      return pins.certificates
    }
    return pinned.isEmpty ? anchors : .only(pinned)
  }
}

extension TrustPolicy.TLSVersion {
  public var protocolVersion: ProtocolVersion { self == .tls13 ? .tls13 : .tls12 }
}
