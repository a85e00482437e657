import Credentials

/// What happens in the life of a credential, for logs and metrics. Holds nothing secret.
public enum CredentialEvent: Sendable, Hashable {
  /// A static one: its source has changed.
  case replaced(version: UInt64)
  /// `lifetime`: milliseconds left.
  case refreshed(version: UInt64, lifetime: Int64, byRefusal: Bool)
  /// Another process had refreshed, or an earlier run of this one.
  case adopted(version: UInt64, lifetime: Int64)
  case sameToken(byRefusal: Bool)
  /// `retryIn`: milliseconds.
  case failed(String, retryIn: Int64)
  case needsOperator(String)
  /// The new refresh token is in use but not on disk yet.
  case notSaved(String)
  /// A record of the token store made no sense and was kept beside the others.
  case recordSetAside

  /// What came of a token request, as a label of metrics; nil where the event is not about one.
  var refreshResult: String? {
    switch self {
    case .refreshed: "success"
    case .sameToken: "same_token"
    case .failed: "failure"
    case .needsOperator: "needs_operator"
    case .replaced, .adopted, .notSaved, .recordSetAside: nil
    }
  }

  static func token(_ report: OAuth2Machine.Report, now: Int64) -> CredentialEvent {
    switch report {
    case .refreshed(let version, let expiry, let byRefusal):
      .refreshed(version: version, lifetime: expiry - now, byRefusal: byRefusal)
    case .adopted(let version, let expiry): .adopted(version: version, lifetime: expiry - now)
    case .sameToken(let byRefusal): .sameToken(byRefusal: byRefusal)
    case .failed(let why, let retryAt): .failed(why, retryIn: retryAt - now)
    case .needsOperator(let why): .needsOperator(why)
    case .notSaved(let why): .notSaved(why)
    case .recordSetAside: .recordSetAside
    }
  }
}
