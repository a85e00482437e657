/// What one token request came to.
public enum TokenAnswer: Sendable, Hashable {
  case token(TokenGrant)
  /// The server answered in OAuth's own words (RFC 6749 section 5.2).
  case refused(OAuthError)
  /// Everything else. `retryAfter`: milliseconds, where the server named a time.
  case failed(TokenFailure, retryAfter: Int64? = nil)
}

/// A token as it was granted, already checked character by character.
public struct TokenGrant: Sendable, Hashable {
  public var accessToken: Secret
  /// Whole seconds, at least 1; nil where the answer had none or none that means anything.
  public var lifetime: Int64?
  public var refreshToken: Secret?
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
    case other = "other"
  }

  public enum Class: Sendable, Hashable {
    /// Nobody needs to do anything.
    case transient
    /// Someone will have to, but trying again harms nobody.
    case permanent
    /// More tries may lock an account or revoke a family of tokens.
    case needsOperator
  }

  public var code: Code
  /// The server's own spelling and its description, bounded and without what we sent.
  public var text: String
  public init(code: Code, text: String) {
    self.code = code
    self.text = text
  }

  public func classified(for grant: OAuth2Policy.Grant) -> Class {
    switch code {
    case .serverError, .temporarilyUnavailable: .transient
    case .invalidGrant:
      switch grant {
      case .refreshToken, .password: .needsOperator
      // An assertion is made anew each time, and what refused it may have been a skewed clock.
      case .clientCredentials, .jwtBearer: .permanent
      }
    case .invalidRequest, .invalidClient, .unauthorizedClient, .unsupportedGrantType, .invalidScope, .other: .permanent
    }
  }
}

/// Why there is no usable answer. Texts hold nothing secret.
public enum TokenFailure: Error, Sendable, Hashable {
  case timedOut
  /// Name resolution, connection, or the connection's end before an answer.
  case unreachable(String)
  /// The token endpoint did not satisfy its trust policy.
  case notTrusted(String)
  case status(Int)
  case redirected
  case empty
  case tooLarge
  case malformed(String)
  /// The lifetime was over before the answer was here.
  case expiredOnArrival
  case discovery(String)
  /// A private key or an assertion could not be used.
  case signing(String)
  case secretUnreadable(String)
  case store(String)
}

extension TokenFailure: CustomStringConvertible {
  public var description: String {
    switch self {
    case .timedOut: "the token server did not answer in time"
    case .unreachable(let why): "the token server could not be reached: \(why)"
    case .notTrusted(let why): "the token server is not trusted: \(why)"
    case .status(let code): "the token server answered with status \(code)"
    case .redirected: "the token server answered with a redirect, which the proxy does not follow with a credential"
    case .empty: "the token server's answer is empty"
    case .tooLarge: "the token server's answer is larger than \(TokenResponse.maximumBody) bytes"
    case .malformed(let why): "the token server's answer cannot be used: \(why)"
    case .expiredOnArrival: "the token was already expired when it arrived"
    case .discovery(let why): why
    case .signing(let why): "the assertion could not be signed: \(why)"
    case .secretUnreadable(let why): "a secret could not be read: \(why)"
    case .store(let why): "the token store failed: \(why)"
    }
  }
}

extension OAuthError: CustomStringConvertible {
  public var description: String { "the token server refused: \(text)" }
}
