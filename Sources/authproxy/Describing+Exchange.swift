import Credentials

extension Describing {
  /// Label and text about a token exchange; nil: it is none.
  static func subject(of policy: CredentialPolicy) -> String? {
    guard case .oauth2(let oauth2) = policy.kind else { return nil }
    if case .jwtBearer(.client) = oauth2.grant { return "subject source: \(app) (assertion)" }
    guard let exchange = oauth2.exchange else { return nil }
    let actor = exchange.actor.map { "; actor: \(source($0))" } ?? ""
    let audience = exchange.audience.isEmpty ? "" : "; audience \(exchange.audience.joined(separator: ", "))"
    let requested = exchange.requestedType.map { "; asks for \(type($0))" } ?? ""
    return "subject source: \(source(exchange.subject))\(actor)\(audience)\(requested)"
  }

  private static let app = "the token that the app sends as Authorization: Bearer, one exchange for each user"

  private static func source(_ party: ExchangeSettings.Party) -> String {
    let source =
      switch party.source {
      case .secret: "a secret"
      case .credential(let name): "the token of credential \(name)"
      case .client: app
      }
    return "\(source) (\(type(party.type)))"
  }

  private static func type(_ uri: String) -> String { TokenType.allCases.first { $0.uri == uri }?.rawValue ?? uri }
}
