/// What an answer to a validation, or to a request with a stale stored answer, means for that one.
public enum OriginVerdict: Sendable, Hashable {
  /// 304: it may renew the stored answer; see `ResponseFacts.validated`.
  case notModified
  /// The origin has a fault: the stored answer may serve (`stale-if-error`), and stays.
  case fault
  /// The answer is relayed, and the stored one is dropped: there is a newer one, or the asker must not have it.
  case replaces
  /// The answer is relayed and says nothing about the stored one.
  case other

  public init(status: Int) {
    switch status {
    case 304: self = .notModified
    case 500, 502, 503, 504: self = .fault
    case 200..<400, 401, 403, 404, 407, 410, 451: self = .replaces
    default: self = .other
    }
  }
}

/// Why there is no answer.
public enum OriginFailure: Sendable, Hashable, CaseIterable {
  /// Not reached, or the connection broke before or in the answer.
  case connection
  case timeout
  /// The token server is down, or there is no token for another passing reason.
  case noToken
  /// The trust policy refuses the origin.
  case untrusted
  /// The credential works no more until someone acts.
  case needsOperator
  /// A rule of the proxy refuses the request.
  case refused

  /// Whether a stale answer may take the place of the error, if its time allows it.
  public var permitsStale: Bool {
    switch self {
    case .connection, .timeout, .noToken: true
    // A stored answer would hide that the origin is not who it was, or that the account is closed.
    case .untrusted, .needsOperator, .refused: false
    }
  }
}
