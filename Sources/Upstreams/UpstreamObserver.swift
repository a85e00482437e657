import Trust

/// What happens on one loop's way to origins, told to whoever logs and counts it. Called on the loop; must not block.
open class UpstreamObserver {
  public init() {}
  /// A connection to an origin was closed instead of being lent again: bytes had come that nobody asked for.
  /// - Parameter upstream: name of the entry.
  open func discarded(upstream: String) {}
  /// An evaluator refused the peer behind an entry.
  open func trustFailed(upstream: String, evaluator: String, reason: TrustRefusalReason) {}
  /// Where an answer about revocation came from, and what it was.
  open func revocationChecked(_ observation: RevocationCheck.Observation) {}
  /// A connection was trusted with something that should be known.
  open func trustWarned(_ warning: TrustWarning) {}
  open func descriptorsExhausted() {}
}

extension UpstreamObserver {
  /// What was found on the way to a verdict.
  func report(_ check: RevocationCheck) {
    for observation in check.observations { revocationChecked(observation) }
    for warning in check.warnings { trustWarned(warning) }
  }
}
