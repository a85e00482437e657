import Trust

/// What a policy proves, as far as the configuration has to know it. A policy is a conjunction: what one evaluator validates is
/// validated.
extension TrustPolicy {
  var isDisabled: Bool { evaluators == [.disabled] }
  var validatesChain: Bool { evaluators.contains { $0.validation.contains(where: \.chain) } }
  var validatesHost: Bool { evaluators.contains { $0.validation.contains(where: \.host) } }
}

extension TrustPolicy.Evaluator {
  /// Those of the evaluator itself, or of everything within a composite.
  var validation: [TrustPolicy.Validation] {
    switch self {
    case .chain(let validation): [validation]
    case .pinnedPublicKeys(let pins): [pins.validation]
    case .pinnedCertificates(let pins): [pins.validation]
    case .revocation(let revocation): [revocation.validation]
    case .composite(let inner): inner.flatMap(\.validation)
    case .disabled: []
    }
  }
}
