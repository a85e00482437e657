import Trust

/// Gets the events of one loop's connections to origins, for log and metrics. Called on the loop; must not block.
open class UpstreamObserver {
  public init() {}
  /// The proxy closed a connection to an origin instead of lending it again: bytes had arrived that no request asked for.
  /// - Parameter upstream: name of the entry.
  open func discarded(upstream: String) {}
  /// An evaluator refused the peer behind an entry.
  open func trustFailed(upstream: String, evaluator: String, reason: TrustRefusalReason) {}
  /// Where a revocation answer came from, and what it was.
  open func revocationChecked(_ observation: RevocationCheck.Observation) {}
  /// The proxy trusted a connection, but an operator should know of this.
  open func trustWarned(_ warning: TrustWarning) {}
  open func descriptorsExhausted() {}
  /// A connection through a parent was tried.
  /// - Parameter nanoseconds: from the beginning of the try to its end.
  open func parentTried(_ parent: String, _ result: ParentResult, nanoseconds: Int64) {}
  /// A parent is down, or works again.
  open func parentChanged(_ parent: String, isUp: Bool) {}
  /// One of an entry's several origins is down, or works again.
  /// - Parameters:
  ///   - upstream: name of the entry; the first, if several have the origin.
  ///   - origin: `https://host[:port]`.
  open func originChanged(upstream: String, origin: String, isUp: Bool) {}
}

extension UpstreamObserver {
  /// Reports what a check found on the way to its verdict.
  func report(_ check: RevocationCheck) {
    for observation in check.observations { revocationChecked(observation) }
    for warning in check.warnings { trustWarned(warning) }
  }
}
