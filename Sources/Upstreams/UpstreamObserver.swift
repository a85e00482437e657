import EventIO
import TLS
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
  /// The origin behind an entry to which HTTP/2 was offered has chosen what to speak.
  open func negotiated(upstream: String, _ chosen: ApplicationProtocol) {}
  /// An HTTP/2 stream was reset.
  /// - Parameter code: of RFC 9113 section 7.
  open func streamReset(upstream: String, byOrigin: Bool, code: UInt32) {}
  /// An origin has sent GOAWAY.
  /// - Parameter text: its debug data, printable.
  open func wentAway(upstream: String, code: UInt32, lastStream: Int32, text: String) {}
  /// An origin has answered 421 on an HTTP/2 connection. At most once a connection.
  open func misdirected(upstream: String) {}
  open func pinged(upstream: String, isAnswered: Bool) {}
  /// A connection was ended, as the origin broke a bound.
  open func abused(upstream: String, _ abuse: HTTP2Abuse) {}
  /// The same of an app's.
  open func abused(by app: Address, _ abuse: HTTP2Abuse) {}
  /// A connection through a parent was tried.
  /// - Parameter nanoseconds: from the beginning of the try to its end.
  open func parentTried(_ parent: String, _ result: ParentResult, nanoseconds: Int64) {}
  /// A parent is down, or works again.
  /// - Parameter reason: what failed; nil: nothing, or nobody knows. Without secrets.
  open func parentChanged(_ parent: String, isUp: Bool, reason: String?) {}
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
