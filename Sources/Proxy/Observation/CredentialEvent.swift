import Credentials

/// The result of a token request, as metrics count it.
public enum RefreshResult: String, Sendable, CaseIterable {
  case success
  /// The owner will try again.
  case failure
  /// The server returned the token that the owner already had.
  case sameToken = "same_token"
  /// The server refused for good; an operator must act.
  case needsOperator = "needs_operator"
}

/// How an exchange on behalf of an app's user ended, as metrics count it.
public enum SubjectResult: String, Sendable, CaseIterable {
  case success
  /// The server refused the user's token.
  case refused
  /// The user's token was not at fault.
  case failure
}

/// What happens in the life of a credential, for logs and metrics. Holds nothing secret.
public enum CredentialEvent: Sendable, Hashable {
  /// The source of a static credential has a new value.
  case replaced(version: UInt64)
  /// `lifetime`: milliseconds left.
  case refreshed(version: UInt64, lifetime: Int64, byRefusal: Bool)
  /// Another process, or an earlier run of this one, had refreshed it. `generation`: of the record that a fleet shares; nil: it is not
  /// shared.
  case adopted(version: UInt64, lifetime: Int64, generation: UInt64?)
  /// The process that refreshed it, by its name and host, had all the time for it.
  case claimTakenOver(holder: String, generation: UInt64)
  /// The fleet's store had lost the record.
  case recordPutBack(generation: UInt64)
  case sameToken(byRefusal: Bool)
  /// `retryIn`: milliseconds.
  case failed(String, retryIn: Int64)
  case needsOperator(String)
  /// A person must log in. `refused`: a token request has shown it.
  case needsLogin(String, refused: Bool)
  /// Another process has written a login, or a logout.
  case loggedIn
  case loggedOut
  /// The new refresh token is in use but not on disk yet.
  case notSaved(String)
  case lost
  /// A user's token was exchanged. Never says whose. `lifetime`: milliseconds left.
  case subjectExchanged(version: UInt64, lifetime: Int64)
  /// The server's error code alone, as its description may name the user. `client`: who sent it; nil: an anonymous one. `suspends`: it was the last one that the client may have in this minute.
  case subjectRefused(String, client: String?, suspends: Bool)
  /// No fault of the user's. `retryIn`: milliseconds.
  case subjectFailed(String, retryIn: Int64)
  /// There is a token, with a reservation.
  case warning(String)
  /// A record of the token store was invalid, and was kept next to the others.
  case recordSetAside

  /// nil if the event is not about a token request.
  var refreshResult: RefreshResult? {
    switch self {
    case .refreshed: .success
    case .sameToken: .sameToken
    case .failed: .failure
    case .needsOperator, .needsLogin(_, refused: true): .needsOperator
    case .needsLogin, .loggedIn, .loggedOut, .replaced, .adopted, .claimTakenOver, .recordPutBack, .notSaved, .lost,
      .recordSetAside, .warning, .subjectExchanged, .subjectRefused, .subjectFailed:
      nil
    }
  }

  static func subject(_ report: SubjectTable.Report) -> CredentialEvent {
    switch report {
    case .exchanged(let version, let lifetime): .subjectExchanged(version: version, lifetime: lifetime)
    case .refused(let why, let client, let suspends): .subjectRefused(why, client: client.name, suspends: suspends)
    case .failed(let why, let retryIn): .subjectFailed(why, retryIn: retryIn)
    }
  }

  /// - Parameter generation: of its record in a store that a fleet shares.
  static func token(_ report: OAuth2Machine.Report, generation: UInt64?, now: Int64) -> CredentialEvent {
    switch report {
    case .refreshed(let version, let expiry, let byRefusal):
      .refreshed(version: version, lifetime: expiry - now, byRefusal: byRefusal)
    case .adopted(let version, let expiry): .adopted(version: version, lifetime: expiry - now, generation: generation)
    case .sameToken(let byRefusal): .sameToken(byRefusal: byRefusal)
    case .failed(let why, let retryAt): .failed(why, retryIn: retryAt - now)
    case .needsOperator(let why): .needsOperator(why)
    case .needsLogin(let why, let refused): .needsLogin(why, refused: refused)
    case .loggedIn: .loggedIn
    case .loggedOut: .loggedOut
    case .notSaved(let why): .notSaved(why)
    case .lost: .lost
    case .recordSetAside: .recordSetAside
    case .warning(let text): .warning(text)
    }
  }
}
