/// What the configuration says about the grant `token_exchange` (RFC 8693).
public struct ExchangeSettings: Sendable, Hashable {
  /// Where a token comes from.
  public enum Source: Sendable, Hashable {
    /// As read at load; the proxy reads it again for each exchange.
    case secret(Secret)
    /// The current token of this credential.
    case credential(String)
    /// What the app itself sends as `Authorization: Bearer`. Only for the subject.
    case client
  }

  /// The subject or the actor.
  public struct Party: Sendable, Hashable {
    public var source: Source
    /// A URI.
    public var type: String
    public init(_ source: Source, type: String) {
      self.source = source
      self.type = type
    }
  }

  /// On whose behalf the new token is.
  public var subject: Party
  /// Who acts on behalf of the subject; nil: whoever has the new token.
  public var actor: Party?
  /// A URI; nil: not sent.
  public var requestedType: String?
  public var audience: [String]

  public init(subject: Party, actor: Party? = nil, requestedType: String? = nil, audience: [String] = []) {
    self.subject = subject
    self.actor = actor
    self.requestedType = requestedType
    self.audience = audience
  }
}

/// Types of tokens, RFC 8693 section 3.
public enum TokenType: String, Sendable, CaseIterable {
  case accessToken = "access_token"
  case idToken = "id_token"
  case refreshToken = "refresh_token"
  case jwt, saml1, saml2

  public var uri: String { "urn:ietf:params:oauth:token-type:\(rawValue)" }
}

extension OAuth2Policy {
  /// nil for other grants.
  public var exchange: ExchangeSettings? {
    if case .tokenExchange(let settings) = grant { settings } else { nil }
  }

  /// The subject is whoever sends the request: each has a token of his own.
  public var isPerSubject: Bool {
    switch grant {
    case .tokenExchange(let settings): settings.subject.source == .client
    case .jwtBearer(.client): true
    case .clientCredentials, .refreshToken, .password, .jwtBearer, .authorizationCode, .deviceCode, .source: false
    }
  }

  /// Names of the credentials whose tokens it exchanges, subject first.
  public var sourceNames: [String] {
    [exchange?.subject, exchange?.actor].compactMap { party in
      if case .credential(let name) = party?.source { name } else { nil }
    }
  }
}

extension ExchangeSettings {
  /// What makes it the same exchange in another configuration, as parts of a digest. Leaves out secrets.
  var continuity: [[UInt8]] {
    var parts = [subject, actor].flatMap { party -> [String] in
      guard let party else { return ["none"] }
      return switch party.source {
      case .secret: ["secret", party.type]
      case .credential(let name): ["credential", name, party.type]
      case .client: ["client", party.type]
      }
    }
    parts += [requestedType ?? "", "audience"] + audience
    return parts.map { Array($0.utf8) }
  }
}

extension EndpointForm {
  /// RFC 8693 section 2.1.
  /// - Parameters:
  ///   - subject: read just now, or the app's; nil = the configuration's.
  mutating func add(
    _ settings: ExchangeSettings, subject: Secret?, actor: Secret?
  ) throws(TokenFailure) {
    add("grant_type", TokenRequest.exchangeGrant)
    add(secret: "subject_token", try token(settings.subject, subject))
    add("subject_token_type", settings.subject.type)
    if let party = settings.actor {
      add(secret: "actor_token", try token(party, actor))
      add("actor_token_type", party.type)
    }
    if let type = settings.requestedType { add("requested_token_type", type) }
    add("audience", each: settings.audience)
  }

  private func token(_ party: ExchangeSettings.Party, _ fresh: Secret?) throws(TokenFailure) -> Secret {
    if let fresh { return fresh }
    if case .secret(let first) = party.source { return first }
    throw .source("", .temporarily("it has no token", retryAfter: 1))
  }
}

extension OAuthError {
  /// Whether another subject or actor token may avoid it (RFC 8693 section 2.2.2: a token that is not valid is invalid_request;
  /// many servers say invalid_grant).
  public var mayConcernToken: Bool { code == .invalidRequest || code == .invalidGrant }
}
