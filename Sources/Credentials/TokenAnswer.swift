/// The result of one token request.
public enum TokenAnswer: Sendable, Hashable {
  case token(TokenGrant)
  /// An OAuth error response (RFC 6749 section 5.2).
  case refused(OAuthError)
  /// Any other failure. `retryAfter`: milliseconds, if the server named a time.
  case failed(TokenFailure, retryAfter: Int64? = nil)
}

/// An issued token, with every character checked.
public struct TokenGrant: Sendable, Hashable {
  public var accessToken: Secret
  /// Whole seconds, at least 1; nil if the response had no valid one.
  public var lifetime: Int64?
  public var refreshToken: Secret?
  /// An id_token as received, unchecked: see `IDToken`.
  public var idToken: Secret?
  /// The granted scope; nil if the response did not name it, which means the requested one (RFC 6749 section 5.1).
  public var scope: String?
  /// Whole seconds until the refresh token expires, as Entra ID, Keycloak and others say; nil if the response did not.
  public var refreshLifetime: Int64?
  /// What an operator should know although there is a token; nil: nothing. Without secrets.
  public var warning: String?
  public init(accessToken: Secret, lifetime: Int64?, refreshToken: Secret? = nil) {
    self.accessToken = accessToken
    self.lifetime = lifetime
    self.refreshToken = refreshToken
  }
}

public struct OAuthError: Error, Sendable, Hashable {
  public enum Code: String, Sendable, Hashable {
    case invalidRequest = "invalid_request"
    case invalidClient = "invalid_client"
    case invalidGrant = "invalid_grant"
    case unauthorizedClient = "unauthorized_client"
    case unsupportedGrantType = "unsupported_grant_type"
    case invalidScope = "invalid_scope"
    case serverError = "server_error"
    case temporarilyUnavailable = "temporarily_unavailable"
    /// RFC 6749 section 4.1.2.1 and RFC 8628 section 3.5.
    case accessDenied = "access_denied"
    case authorizationPending = "authorization_pending"
    case slowDown = "slow_down"
    case expiredToken = "expired_token"
    /// RFC 7009 section 2.2.1.
    case unsupportedTokenType = "unsupported_token_type"
    /// RFC 8693 section 2.2.2 and RFC 8707 section 2.
    case invalidTarget = "invalid_target"
    /// RFC 9449 section 8.
    case useDPoPNonce = "use_dpop_nonce"
    /// A user must do something: OpenID Connect Core 3.1.2.6, RFC 9470 section 3.
    case interactionRequired = "interaction_required"
    case consentRequired = "consent_required"
    case loginRequired = "login_required"
    case accountSelectionRequired = "account_selection_required"
    case insufficientUserAuthentication = "insufficient_user_authentication"
    /// RFC 6750 section 3.1; some servers say so of a token to exchange.
    case invalidToken = "invalid_token"
    case other = "other"
  }

  public enum Class: Sendable, Hashable {
    /// Temporary: nobody needs to act.
    case transient
    /// An operator will have to act, but further attempts do no harm.
    case permanent
    /// Further attempts may lock an account or revoke a family of tokens.
    case needsOperator
  }

  public var code: Code
  /// The server's own code and description, bounded and without the secrets that were sent.
  public var text: String
  public init(code: Code, text: String) {
    self.code = code
    self.text = text
  }

  public func classified(for grant: OAuth2Policy.Grant) -> Class {
    if case .source(let source) = grant, source.refusalsAreFinal { return .needsOperator }
    return switch code {
    case .serverError, .temporarilyUnavailable: .transient
    case .invalidGrant:
      switch grant {
      case .refreshToken, .password, .authorizationCode, .deviceCode: .needsOperator
      // Each assertion is new, and the refusal may have been caused by clock skew.
      case .clientCredentials, .jwtBearer, .tokenExchange, .source: .permanent
      }
    case .invalidRequest, .invalidClient, .unauthorizedClient, .unsupportedGrantType, .invalidScope, .accessDenied,
      .authorizationPending, .slowDown, .expiredToken, .unsupportedTokenType, .invalidTarget, .useDPoPNonce,
      .interactionRequired, .consentRequired, .loginRequired, .accountSelectionRequired, .insufficientUserAuthentication,
      .invalidToken, .other:
      .permanent
    }
  }
}

/// Why there is no usable answer. Texts contain no secret.
public enum TokenFailure: Error, Sendable, Hashable {
  case timedOut
  /// Name resolution or connection failed, or the connection ended before an answer.
  case unreachable(String)
  /// The token endpoint failed its trust policy.
  case notTrusted(String)
  case status(Int)
  case redirected
  case empty
  case tooLarge
  case malformed(String)
  /// The same, but it has a refresh token, which may have taken the place of the one that was sent.
  case unusable(String, refreshToken: Secret)
  /// The token expired before its response arrived.
  case expiredOnArrival
  case discovery(String)
  /// A private key or an assertion is unusable.
  case signing(String)
  case secretUnreadable(String)
  case store(String)
  /// A person must log in first.
  case noLogin
  /// The credential whose token is exchanged has none.
  case source(String, CredentialUnavailable)
  /// Of a `TokenSource`'s server, which the text names.
  case server(String)
  /// There is nothing to get a token with. An operator must act, but further attempts do no harm.
  case unfit(String)
}

extension TokenFailure: CustomStringConvertible {
  public var description: String { described(of: "the token server") }

  /// - Parameter server: who has failed.
  func described(of server: String) -> String {
    switch self {
    case .timedOut: "\(server) did not answer in time"
    case .unreachable(let why): "\(server) could not be reached: \(why)"
    case .notTrusted(let why): "\(server) is not trusted: \(why)"
    case .status(let code): "\(server) answered with status \(code)"
    case .redirected: "\(server) answered with a redirect, which the proxy does not follow with a credential"
    case .empty: "\(server)'s answer is empty"
    case .tooLarge: "\(server)'s answer is larger than \(TokenResponse.maximumBody) bytes"
    case .malformed(let why), .unusable(let why, _): "\(server)'s answer cannot be used: \(why)"
    case .expiredOnArrival: "the token was already expired when it arrived"
    case .discovery(let why): why
    case .signing(let why): "a signature could not be made: \(why)"
    case .secretUnreadable(let why): "a secret could not be read: \(why)"
    case .store(let why): "the token store failed: \(why)"
    case .server(let text), .unfit(let text): text
    case .noLogin: "nobody has logged in"
    case .source(let name, .temporarily(let why, _)): "credential \"\(name)\" has no usable token now: \(why)"
    case .source(let name, .needsOperator(let why)): "credential \"\(name)\" cannot be used until an operator acts: \(why)"
    case .source(let name, .needsLogin): "credential \"\(name)\" needs a login: run \"authproxy login \(name)\""
    }
  }
}

extension OAuthError: CustomStringConvertible {
  public var description: String { "the token server refused: \(text)" }
}
