import Credentials
import Proxy
import Trust

/// States and rules in words.

extension CredentialPolicy.Kind {
  /// As its section of the configuration is called; for oauth2 with its grant.
  var word: String {
    switch self {
    case .basic: "basic"
    case .bearer: "bearer"
    case .header: "header"
    case .oauth2(let policy): "oauth2 \(policy.grant.word)"
    case .sigv4: "sigv4"
    case .jwt: "jwt"
    case .hmac: "hmac"
    case .httpSignature: "http_signature"
    case .digest: "digest"
    case .negotiate: "negotiate"
    case .query: "query"
    case .path: "path"
    }
  }
}

extension OAuth2Policy.Grant {
  fileprivate var word: String {
    switch self {
    case .clientCredentials: "client_credentials"
    case .refreshToken: "refresh_token"
    case .password: "password"
    case .jwtBearer: "jwt_bearer"
    case .authorizationCode: "authorization_code"
    case .deviceCode: "device_code"
    case .tokenExchange: "token_exchange"
    case .source: "source"
    }
  }
}

/// What people should know about a credential.
struct CredentialWords {
  var state: String
  var tone: Tone
  /// What to do about it; nil: nothing.
  var advice: String?

  /// - Parameter now: seconds since 1970.
  init(_ report: CredentialReport, now: Int64) {
    let failing = report.attempts.failingSince.map { "failing for \(VisibleText.span(now - $0))" }
    let retry = report.attempts.next.map {
      $0 > now ? "The proxy tries again in \(VisibleText.span($0 - now))." : "The proxy tries again."
    }
    if report.login?.isNeeded == true {
      (state, tone, advice) = ("needs you: run authproxy login \(report.name)", .bad, nil)
      return
    }
    switch report.phase {
    case .ready where failing != nil:
      (state, tone, advice) = ("fresh, but \(failing ?? "")", .warning, retry)
    case .ready: (state, tone, advice) = ("fresh", .good, nil)
    case .refreshing:
      (state, tone, advice) = (failing.map { "refreshing, \($0)" } ?? "refreshing", failing == nil ? .plain : .warning, nil)
    case .failed: (state, tone, advice) = (failing ?? "failing", .bad, retry ?? "The proxy tries again with the next request.")
    case .needsOperator:
      (state, tone, advice) = ("needs an operator", .bad, "Correct the cause, then reload: systemctl reload authproxy")
    case .empty:
      state = report.version == 0 ? "not used yet" : "expired; the next request refreshes it"
      (tone, advice) = (.plain, nil)
    }
  }
}

extension TrustPolicy {
  /// What it demands.
  var words: [String] { evaluators.map(\.words) + (minimumVersion == .tls13 ? ["TLS 1.3"] : []) }
}

extension TrustPolicy.Evaluator {
  fileprivate var words: String {
    switch self {
    case .chain(let validation): validation.host ? "valid chain and host" : "valid chain, any host"
    case .pinnedPublicKeys(let pins):
      (pins.pins.count == 1 ? "1 pinned key" : "\(pins.pins.count) pinned keys") + (pins.enforce ? "" : ", report only")
    case .pinnedCertificates(let pins):
      pins.certificates.count == 1 ? "1 pinned certificate" : "\(pins.certificates.count) pinned certificates"
    case .revocation(let rule):
      "revocation by \(rule.methods.map { $0.rawValue.uppercased() }.joined(separator: ", "))"
        + (rule.requirePositiveResponse ? ", an answer is required" : "")
    case .composite(let inner): inner.map(\.words).joined(separator: "; ")
    case .disabled: "disabled: everything is accepted"
    }
  }
}
