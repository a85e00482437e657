/// Why the proxy relays a refusal instead of sending the request again. `description` goes into the details of Proxy-Status.
public enum RelayReason: Sendable, Hashable {
  /// The proxy sent it again with another credential, and the upstream refused it again.
  case refusedAgain
  /// This request refused a fresh token recently.
  case remembered
  case windowUsedUp
  case backingOff
  case refreshFailed
  case sameToken
  case needsOperator
  case insufficientScope
  /// The origin wants another proof although it got the one that it asked for, or names no nonce for it. No refusal of the token.
  case nonceRefused
  /// The origin challenges the answer to its challenge. No refusal of a token.
  case challengedAgain
  /// It challenges with nothing that the credential can answer. No refusal of the credential.
  case challengeUnknown
  /// The origin offers NTLM and nothing better.
  case onlyNTLM
  /// A static credential whose source has not changed.
  case unchanged
  /// A reload has replaced the credential.
  case replaced
  case bodyNotKept
  case notIdempotent
  /// `limits.waiting_for_credential`.
  case tooManyWait
  /// Too large to be copied, as many others that are held.
  case tooManyHeld
  /// No other version came within `timeouts.credential`.
  case timeUp
}

extension RelayReason: CustomStringConvertible {
  public var description: String {
    switch self {
    case .refusedAgain: "refused again with a fresh credential"
    case .remembered: "not retried, this request refused a fresh credential before"
    case .windowUsedUp: "not retried, refresh_window is used up"
    case .backingOff: "not retried, the last refresh failed and the next one is not due"
    case .refreshFailed: "not retried, the credential could not be refreshed"
    case .sameToken: "not retried, the refresh brought the same token"
    case .needsOperator: "not retried, the credential needs an operator"
    case .insufficientScope: "not retried, the token's scope does not suffice"
    case .nonceRefused: "not retried, the origin asks for yet another DPoP nonce, or names none"
    case .challengedAgain: "not retried, the upstream challenges the request again"
    case .challengeUnknown: "not retried, the upstream names no challenge that the credential can answer"
    case .onlyNTLM: "not retried, the upstream offers NTLM alone, which the proxy does not speak"
    case .replaced: "not retried, a reload has replaced the credential"
    case .unchanged: "not retried, the credential has not changed"
    case .bodyNotKept: "not retried, the request body was not kept"
    case .notIdempotent: "not retried, the method is not idempotent"
    case .tooManyWait: "not retried, too many requests wait for the credential"
    case .tooManyHeld: "not retried, too many large refusals are held"
    case .timeUp: "not retried, no other token came in time"
    }
  }
}

/// Why a request cannot get a credential now.
public enum CredentialUnavailable: Error, Sendable, Hashable {
  /// 503. `retryAfter`: milliseconds, at least 1.
  case temporarily(String, retryAfter: Int64)
  /// 502: an operator must act.
  case needsOperator(String)
  /// 502: a person must log in.
  case needsLogin
}

extension CredentialUnavailable: CustomStringConvertible {
  public var description: String {
    switch self {
    case .temporarily(let why, _): why
    case .needsOperator(let why): why
    case .needsLogin: "needs a login"
    }
  }

  /// Whole seconds for Retry-After, rounded up.
  public var retryAfterSeconds: Int64? {
    if case .temporarily(_, let milliseconds) = self { max(1, (milliseconds + 999) / 1000) } else { nil }
  }
}
