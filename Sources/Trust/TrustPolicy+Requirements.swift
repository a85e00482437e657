import TLS

extension TrustPolicy.Evaluator {
  /// As the configuration calls it; bounded, as it becomes a metric's label.
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

  /// What it demands of chain and host by itself; nil where it has no such options.
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
  /// Every evaluator that is no composite, in order, with its place: `composite.revocation`.
  public var flattened: [(name: String, evaluator: Evaluator)] { Self.flatten(evaluators, within: "") }

  private static func flatten(_ evaluators: [Evaluator], within prefix: String) -> [(name: String, evaluator: Evaluator)] {
    evaluators.flatMap { evaluator -> [(name: String, evaluator: Evaluator)] in
      guard case .composite(let inner) = evaluator else { return [(prefix + evaluator.name, evaluator)] }
      return flatten(inner, within: prefix + "composite.")
    }
  }

  /// Whether any evaluator has the chain built and validated.
  public var validatesChain: Bool { flattened.contains { $0.evaluator.validation?.chain == true } }
  /// Whether any evaluator has the host compared.
  public var validatesHost: Bool { flattened.contains { $0.evaluator.validation?.host == true } }

  public var checksRevocation: Bool {
    flattened.contains { if case .revocation = $0.evaluator { true } else { false } }
  }

  /// When the first of its pins stop being enforced, in seconds since 1970.
  public var earliestPinExpiry: Int64? {
    flattened.compactMap { if case .pinnedPublicKeys(let pins) = $0.evaluator { pins.expires } else { nil } }.min()
  }

  /// What the chain is verified against. Certificates pinned with `accept_self_signed` are the only anchors where there are
  /// such: each of those evaluators still demands one of its own in the chain.
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
