import EventIO
import Routing
import Trust
import Upstreams

/// Why a request was sent again.
public enum RetryReason: String, Sendable, CaseIterable {
  /// The entry's `retry`, for an answer's status.
  case status
  /// The entry's `retry`, because no answer came.
  case failure
  /// A pooled connection was found closed.
  case staleConnection = "stale_connection"
  /// The origin said that it has not processed the request.
  case unprocessed
}

/// What happened to an answer in `retry_statuses`.
public enum UnauthorizedResult: String, Sendable, CaseIterable {
  /// Sent again with a newer version that already existed.
  case newerVersion = "newer_version"
  /// Sent again after a refresh.
  case refreshed
  /// Relayed: a second refusal, or a remembered one.
  case relayed
  /// Relayed, because no refresh was possible.
  case notRefreshed = "not_refreshed"
  /// Relayed, because the body was not kept.
  case bodyGone = "body_gone"
}

/// What came of an origin's challenge to a credential that answers challenges.
public enum ChallengeResult: String, Sendable, CaseIterable {
  /// The request was sent again, with an answer.
  case answered
  /// Relayed: there is no answer, or it was challenged again.
  case relayed
  /// Relayed, because the body was not kept.
  case bodyGone = "body_gone"
}

/// What became of a redirect of an entry that has the proxy follow them.
public enum RedirectResult: String, Sendable, CaseIterable {
  case followed
  /// Relayed, as are those below: its target is none that may be asked.
  case notListed = "not_listed"
  /// From https to http.
  case insecure
  /// Its Location is missing, repeated or unreadable, or has userinfo.
  case invalid
  case loop
  case tooMany = "too_many"
  /// 301 and 302 for other methods than GET, HEAD and POST.
  case method
  /// The body was not kept, or not whole.
  case bodyGone = "body_gone"

  init(_ refusal: RedirectRefusal) {
    switch refusal {
    case .notListed, .notServed, .withdrawn, .secretInTarget, .appCredential: self = .notListed
    case .insecure: self = .insecure
    case .noLocation, .repeatedLocation, .unreadable, .userinfo: self = .invalid
    case .metBefore: self = .loop
    case .tooMany, .cookies: self = .tooMany
    case .method: self = .method
    case .bodyNotKept, .bodyOnItsWay: self = .bodyGone
    }
  }
}

/// Gets the events of one loop, for log and metrics. Called on the loop; must not block.
open class LoopObserver: UpstreamObserver {
  /// From now on, requests begin on this snapshot.
  open func adopted(_ snapshot: Snapshot) {}
  /// A request has ended, whether the origin or the proxy answered it.
  open func ended(_ request: borrowing RequestRecord) {}
  open func retried(_ entry: Entry, _ reason: RetryReason) {}
  /// - Parameter entry: the one that the app asked.
  open func redirected(_ entry: Entry, _ result: RedirectResult) {}
  /// The request goes on to the target of a redirect: what it has noted of this hop is forgotten.
  open func leftHop(_ request: borrowing RequestRecord) {}
  /// A request was sent again with the nonce that the origin asked for.
  open func challenged(_ entry: Entry) {}
  open func challenged(_ credential: String, _ result: ChallengeResult) {}
  /// An origin of the entry has refused a request because its clock differs: from now on what is signed for it has its time.
  /// - Parameter seconds: that its clock is ahead of ours.
  open func clockSkewed(_ entry: Entry, _ seconds: Int64) {}
  /// Requests with this credential cannot be signed. `why` contains no secret. At most once a minute for a loop.
  open func signingFailed(_ credential: String, _ why: String) {}
  open func unauthorized(_ entry: Entry, _ result: UnauthorizedResult) {}
  /// A tunnel began (+1) or ended (-1).
  open func tunnels(_ change: Int) {}
  /// An event of a credential. Called on the credential's home loop only.
  open func credential(_ name: String, _ event: CredentialEvent) {}
  /// The fleet's store has answered, or not.
  open func storeAnswered(_ operation: StoreOperation, _ result: StoreResult, nanoseconds: Int64) {}
  /// It can be reached now, or no more.
  open func storeChanged(_ address: String, isUp: Bool, reason: String?) {}
  /// How an attempt to claim the credential's shared record has ended.
  open func claimed(_ credential: String, _ result: ClaimResult) {}
  /// A TLS handshake of an app has ended.
  open func handshake(_ outcome: HandshakeOutcome) {}
  /// Apps do not trust what they are shown.
  open func refused(_ refusal: HandshakeRefusal) {}
  /// A connection to this listener did not begin with the PROXY header that it had to begin with.
  open func proxyHeaderFailed(at listener: Address) {}
  /// Something that an operator should know. It contains no secrets.
  open func notice(_ message: String) {}
}
