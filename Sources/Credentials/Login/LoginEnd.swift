/// Exit statuses of `login` and `logout` (sysexits.h).
public enum LoginExit: Int32, Sendable, Hashable {
  case done = 0
  /// The server is unreachable or failing, the token store fails, or a port is in use.
  case unavailable = 69
  /// No answer in time.
  case timedOut = 75
  /// By the person, by the server, or by our own checks.
  case refused = 77
  case configuration = 78
}

/// How a login or logout ended. The text contains no secret, and text from servers only as `LogText` allows it.
public struct LoginEnd: Error, Sendable, Hashable {
  public var exit: LoginExit
  public var text: String

  init(_ exit: LoginExit, _ text: String) {
    self.exit = exit
    self.text = text
  }

  init(_ failure: TokenFailure) {
    let exit: LoginExit =
      switch failure {
      case .notTrusted: .refused
      case .signing, .secretUnreadable: .configuration
      case .timedOut, .unreachable, .status, .redirected, .empty, .tooLarge, .malformed, .unusable, .expiredOnArrival, .server,
        .unfit,
        .discovery, .store, .noLogin, .source:
        .unavailable
      }
    self.init(exit, "\(failure)")
  }

  init(_ error: OAuthError) {
    switch error.code {
    case .serverError, .temporarilyUnavailable: self.init(.unavailable, "\(error)")
    default: self.init(.refused, "\(error)")
    }
  }

  init(_ failure: Discovery.Failure) {
    let exit: LoginExit =
      switch failure {
      case .badIssuer: .configuration
      case .tooLarge, .notJSON: .unavailable
      case .missing, .otherIssuer, .badEndpoint, .badAlias: .refused
      }
    self.init(exit, "\(failure)")
  }

  /// With the request that led to it, as several go to one server.
  func during(_ request: String) -> LoginEnd { LoginEnd(exit, "\(request): \(text)") }
}
