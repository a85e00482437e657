import Credentials
import Settings

/// Reads what `oauth2` says about token exchange, and checks the credentials that it names.
extension Reading {
  /// A credential that another one names as the source of a token.
  struct SourceReference {
    var name: Located<String>
    var path: KeyPath
    /// Its key has no type of its own, so the source decides.
    var isUntyped: Bool
    var isActor: Bool
  }

  /// What the keys say, before their grant is known.
  struct ExchangeDraft {
    fileprivate var subject: ExchangedToken?
    fileprivate var subjectType: String?
    fileprivate var actor: ExchangedToken?
    fileprivate var actorType: String?
    fileprivate var requestedType: String?
    fileprivate var audience: [String] = []
    /// A key has an error.
    fileprivate var isBroken = false
  }

  func exchange(_ section: Section<OAuth2Keys>) -> ExchangeDraft {
    var draft = ExchangeDraft()
    draft.subject = section.read(\.exchange.subjectToken)
    draft.subjectType = tokenType(section, \.exchange.subjectTokenType, &draft)
    draft.actor = section.read(\.exchange.actorToken)
    draft.actorType = tokenType(section, \.exchange.actorTokenType, &draft)
    draft.requestedType = tokenType(section, \.exchange.requestedTokenType, &draft)
    if draft.requestedType == TokenType.refreshToken.uri {
      error(
        section.valuePlace(\.exchange.requestedTokenType),
        "\(section.path(\.exchange.requestedTokenType).shown): APIs take no refresh token")
    }
    for (token, path) in [
      (draft.subject, section.path(\.exchange.subjectToken)), (draft.actor, section.path(\.exchange.actorToken)),
    ] {
      if case .secret(let secret)? = token, !TokenResponse.isAccessToken(secret.value.bytes) {
        error(
          secret.place,
          "\(path.shown) contains a character that is not visible ASCII, as tokens are (RFC 6749 appendix A.12)")
      }
    }
    if let audience = section.read(\.exchange.audience) {
      let path = section.path(\.exchange.audience).shown
      if audience.items.isEmpty && audience.isWhole { error(audience.place, "\(path) is empty") }
      draft.audience = audience.items.map(\.text.value)
    }
    return draft
  }

  /// A word or a URI, as URI.
  private func tokenType(
    _ section: Section<OAuth2Keys>, _ key: (OAuth2Keys) -> Key<Located<String>?>, _ draft: inout ExchangeDraft
  ) -> String? {
    guard let text = section.read(key) else { return nil }
    if let known = TokenType(rawValue: text.value) { return known.uri }
    if isURI(text.value) { return text.value }
    draft.isBroken = true
    let names = TokenType.allCases.map(\.rawValue)
    error(
      text.place,
      "\(section.path(key).shown) must be \(listed(names + ["a URI"], "or")), not "
        + "\(shown(text.value))\(suggestion(for: text.value, among: names))")
    return nil
  }

  /// What the keys say together; nil after an error, and for other grants.
  func exchangeSettings(
    _ draft: ExchangeDraft, _ grant: OAuth2Keys.Grant, _ section: Section<OAuth2Keys>
  ) -> ExchangeSettings? {
    guard grant == .tokenExchange else {
      section.refuse(
        [
          \.exchange.subjectToken, \.exchange.subjectTokenType, \.exchange.actorToken, \.exchange.actorTokenType,
          \.exchange.requestedTokenType, \.exchange.audience,
        ], because: "cannot be used with grant \(grant.rawValue)")
      return nil
    }
    section.require(\.exchange.subjectToken, because: "for grant \(grant.rawValue)")
    if !section.mentions(\.exchange.actorToken) {
      section.refuse([\.exchange.actorTokenType], because: "belongs to 'actor_token', which is missing")
    }
    if case .secret? = draft.actor {
      section.require(\.exchange.actorTokenType, because: "for an 'actor_token' that is a secret")
    }
    guard let subject = draft.subject, draft.actor != nil || !section.has(\.exchange.actorToken), !draft.isBroken else {
      return nil
    }
    let standard = TokenType.accessToken.uri
    return ExchangeSettings(
      subject: ExchangeSettings.Party(source(subject, draft.subjectType, isActor: false), type: draft.subjectType ?? standard),
      actor: draft.actor.map {
        ExchangeSettings.Party(source($0, draft.actorType, isActor: true), type: draft.actorType ?? standard)
      },
      requestedType: draft.requestedType, audience: draft.audience)
  }

  private func source(_ token: ExchangedToken, _ type: String?, isActor: Bool) -> ExchangeSettings.Source {
    switch token {
    case .client: return .client
    case .secret(let secret): return .secret(secret.value)
    case .credential(let name, let path):
      sourceReferences.append(SourceReference(name: name, path: path, isUntyped: type == nil, isActor: isActor))
      return .credential(name.value)
    }
  }

  // MARK: The credentials that are named

  /// Checks the references between credentials. A login that uses its id_token gives its exchanges the type.
  /// - Parameter names: in the order of the file.
  func checkSources(_ drafts: inout [String: CredentialDraft], _ names: [String]) {
    for name in names {
      guard let draft = drafts[name] else { continue }
      for reference in draft.sources {
        let path = reference.path.shown
        guard let source = drafts[reference.name.value] else {
          error(
            reference.name.place,
            "\(path): there is no \(shown(reference.name.value)) in "
              + "'credentials'\(suggestion(for: reference.name.value, among: drafts.keys))")
          continue
        }
        if let circle = circle(from: name, through: reference.name.value, drafts) {
          error(reference.name.place, "\(path) is circular: \(circle.joined(separator: " needs "))")
          continue
        }
        guard let kind = source.policy?.kind else { continue }
        guard case .oauth2(let policy) = kind else {
          error(reference.name.place, "\(path): credential \(shown(reference.name.value)) has no oauth2")
          continue
        }
        if policy.isPerSubject {
          error(
            reference.name.place,
            "\(path): credential \(shown(reference.name.value)) has a token for each user of an app, so it cannot be exchanged")
        }
        if policy.login?.use == .idToken, reference.isUntyped {
          drafts[name]?.policy?.typeAsIDToken(isActor: reference.isActor)
        }
      }
    }
  }

  /// A credential of the app's user takes the app's token, so the app's token goes nowhere else.
  func checkSubject(_ settings: UpstreamSettings, _ entry: Section<UpstreamKeys>, _ credential: CredentialDraft?) {
    guard case .oauth2(let policy)? = credential?.policy?.kind, policy.isPerSubject, settings.clientAuthorization != .replace
    else { return }
    error(
      entry.valuePlace(\.clientAuthorization),
      "\(entry.path(\.clientAuthorization).shown) must be replace: credential \(shown(settings.credential ?? "")) exchanges the "
        + "token that the app sends")
  }

  /// Whether the way through `next` leads back to `start`: then the names on it, with `start` at both ends.
  private func circle(from start: String, through next: String, _ drafts: [String: CredentialDraft]) -> [String]? {
    var seen: Set<String> = []
    func walk(_ name: String) -> [String]? {
      if name == start { return [name] }
      guard seen.insert(name).inserted else { return nil }
      for reference in drafts[name]?.sources ?? [] {
        if let rest = walk(reference.name.value) { return [name] + rest }
      }
      return nil
    }
    return walk(next).map { [start] + $0 }
  }
}

extension CredentialPolicy {
  /// The tokens of this source are id_tokens.
  fileprivate mutating func typeAsIDToken(isActor: Bool) {
    guard case .oauth2(let policy) = kind, var settings = policy.exchange else { return }
    if isActor { settings.actor?.type = TokenType.idToken.uri } else { settings.subject.type = TokenType.idToken.uri }
    var typed = policy
    typed.grant = .tokenExchange(settings)
    kind = .oauth2(typed)
  }
}
