import EventIO
import Trust
import Upstreams

/// Why a request was sent again.
public enum RetryReason: String, Sendable, CaseIterable {
  /// The entry's `retry`, for an answer's status.
  case status
  /// The entry's `retry`, as no answer came.
  case failure
  /// A pooled connection turned out closed.
  case staleConnection = "stale_connection"
}

/// What became of an answer in `retry_statuses`.
public enum UnauthorizedResult: String, Sendable, CaseIterable {
  /// Sent again with a newer version that was there already.
  case newerVersion = "newer_version"
  /// Sent again after a refresh.
  case refreshed
  /// Relayed: the second refusal, or one that is remembered.
  case relayed
  /// Relayed, as no refresh could be had.
  case notRefreshed = "not_refreshed"
  /// Relayed, as the body was gone.
  case bodyGone = "body_gone"
}

/// What happens on one loop, told to whoever logs and counts it. Called on the loop; must not block.
open class LoopObserver: UpstreamObserver {
  /// Requests begin on this snapshot from now on.
  open func adopted(_ snapshot: Snapshot) {}
  /// A request has ended, whoever answered it.
  open func ended(_ request: borrowing RequestRecord) {}
  open func retried(_ entry: Entry, _ reason: RetryReason) {}
  open func unauthorized(_ entry: Entry, _ result: UnauthorizedResult) {}
  /// A tunnel began (+1) or ended (-1).
  open func tunnels(_ change: Int) {}
  /// A credential's life; told on its home loop only.
  open func credential(_ name: String, _ event: CredentialEvent) {}
  /// Something an operator should know, already free of secrets.
  open func notice(_ message: String) {}
}
