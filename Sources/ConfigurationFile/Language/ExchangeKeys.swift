import Credentials
import Settings

/// Keys of `credentials.*.oauth2` that concern token exchange (RFC 8693).
struct ExchangeKeys: KeyGroup {
  let subjectToken = Key(
    "subject_token", .exchanged(mayBeApps: true), .otherwise("needed by grant token_exchange"),
    "On whose behalf the new token is: a token, another credential's token, or 'client' for the one that the app sends.")
  let subjectTokenType = Key(
    "subject_token_type", tokenType, .otherwise("access_token, or id_token for a login that uses it"),
    "The type of the subject's token.")
  let actorToken = Key(
    "actor_token", .exchanged(mayBeApps: false), .otherwise("not sent"), "Says who acts on behalf of the subject.")
  let actorTokenType = Key(
    "actor_token_type", tokenType, .otherwise("as for the subject; needed by a secret"), "The type of the actor's token.")
  let requestedTokenType = Key(
    "requested_token_type", tokenType, .otherwise("not sent"), "The type of the token that the proxy asks for.")
  let audience = Key(
    "audience", .oneOrMore(of: .item(.anything)), .otherwise("not sent"), "Names the service that the new token is for.")

  /// Stands for the token that the app itself sends.
  static let clientWord = "client"

  private static var tokenType: Form<Located<String>> {
    .text(shape: .oneOf([.words(TokenType.allCases.map(\.rawValue)), .text(.uri)]))
  }
}

/// A token of another credential.
struct ExchangedKeys: KeySet {
  static let table = KeyTable(ExchangedKeys())

  let credential = Key("credential", .text(.nameInCredentials), .required, "Names the credential whose token is exchanged.")
}

/// Where a token that is exchanged comes from.
enum ExchangedToken {
  case client(Place)
  case credential(Located<String>, KeyPath)
  case secret(Located<Secret>)
}

/// A signed assertion, the claims of one, or the word for the app's own token.
enum AssertionValue {
  case client(Place)
  case secret(Located<Secret>)
  case section(Section<AssertionKeys>)
}

extension Form where Value == ExchangedToken {
  /// - Parameter mayBeApps: the token that the app sends can be it.
  static func exchanged(mayBeApps: Bool) -> Form {
    let word = ExchangeKeys.clientWord
    return Form(shape: .oneOf((mayBeApps ? [.words([word])] : []) + [.secret, .section(ExchangedKeys.self)])) {
      reading, written in
      if written.node.isWord(word) {
        if mayBeApps { return .client(written.node.place) }
        reading.error(
          written.node.place, "\(written.path.shown): only 'subject_token' can be '\(word)', the token that the app sends")
        return nil
      }
      if case .mapping(let entries) = written.node.content,
        !entries.contains(where: { SecretKeys.table.byName[$0.key] != nil })
      {
        guard let section: Section<ExchangedKeys> = reading.section(written) else { return nil }
        return section.read(\.credential).map { .credential($0, section.path(\.credential)) }
      }
      return reading.secret(written).map { .secret($0) }
    }
  }
}

extension Form where Value == AssertionValue {
  static var assertion: Form {
    let secret = Form<SecretOr<AssertionKeys>>.secret(or: AssertionKeys.self)
    return Form(shape: .oneOf([.words([ExchangeKeys.clientWord]), .secret, .section(AssertionKeys.self)])) {
      reading, written in
      if written.node.isWord(ExchangeKeys.clientWord) { return .client(written.node.place) }
      return secret.read(reading, written).map { value in
        switch value {
        case .secret(let ready): .secret(ready)
        case .section(let section): .section(section)
        }
      }
    }
  }
}

extension Node {
  fileprivate func isWord(_ word: String) -> Bool { if case .scalar(word, _) = content { true } else { false } }
}
