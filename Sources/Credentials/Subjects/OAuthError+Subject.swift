extension OAuthError {
  /// Whether it is the subject that the server refuses, not the client or the configuration: RFC 8693 section 2.2.2, and codes
  /// that ask this user to do something (OpenID Connect Core 3.1.2.6, RFC 9470). An unknown code is no user's fault.
  var isAboutSubject: Bool {
    switch code {
    case .invalidRequest, .invalidGrant, .accessDenied, .expiredToken, .invalidToken, .interactionRequired, .consentRequired,
      .loginRequired, .accountSelectionRequired, .insufficientUserAuthentication:
      true
    case .invalidClient, .unauthorizedClient, .unsupportedGrantType, .invalidScope, .serverError, .temporarilyUnavailable,
      .authorizationPending, .slowDown, .unsupportedTokenType, .invalidTarget, .useDPoPNonce, .other:
      false
    }
  }

  /// The server's own code. What it says beyond may name the user.
  var name: String { code == .other ? String(text.prefix { $0 != " " }.prefix(80)) : code.rawValue }
}

extension TokenAnswer {
  var isToken: Bool { if case .token = self { true } else { false } }
}
