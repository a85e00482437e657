import Foundation

/// An origin with its own token server, and secrets for it alone. Each secret contains the name of its side.
struct SecretSide {
  enum Kind: CaseIterable { case fixed, oauth2 }

  let label: String
  let server: TokenServer
  var origin: Origin { server.origin }
  private var mark: String { "for-\(label)-5ecret" }

  /// - Parameter name: of the realm, the same on both sides, as the app's URLs do not say which side it is.
  init(_ label: String, name: String) throws {
    self.label = label
    server = try TokenServer("{\"prefix\": \"for-\(label)\"}", origin: try Origin(), name: name)
    try acceptFixed()
  }

  func acceptFixed() throws { try server.set("{\"accept\": [\"\(mark)-fixed\"]}") }
  /// Revokes all its tokens; and refuses the fixed one for a while.
  func revoke() throws { try server.set(#"{"revoke": true}"#) }

  /// - Parameter entry: more keys of the entry, each with a comma before it.
  func configuration(_ kind: Kind, entry: String = "", top: String) -> String {
    let credential: String
    switch kind {
    case .fixed: credential = "bearer: {token: \(mark)-fixed}"
    case .oauth2:
      credential = """
        oauth2:
              grant: client_credentials
              token_url: \(server.tokenURL)
              client_id: me
              client_secret: \(mark)-client
              client_auth: post
              timeout: 60s
              refresh_window: {interval: 1s, attempts: 1000}
        """
    }
    return """
      \(top)
      upstreams:
        - {match: api.test, origin: "https://localhost:\(origin.ports.https)", credential: api\(entry)}
      credentials:
        api:
          \(credential)

      """
  }

  /// Secrets that arrived here, at the API or the token endpoint, and belong to another side; "none" without a secret.
  /// - Parameter names: of exchanges with scripts.
  func foreignSecrets(exchanges names: [String] = []) throws -> [String] {
    let state = try server.state()
    var seen = state.uses.map(\.token) + state.requests.map { $0.form["client_secret"] ?? "" }
    for name in names {
      seen += try origin.exchanges(name).map { String($0["Authorization"]?.split(separator: " ").last ?? "") }
    }
    return seen.filter { !$0.hasPrefix("for-\(label)-") }.map { $0.isEmpty ? "none" : $0 }
  }

  var served: Int { get throws { try server.state().uses.filter { $0.status == 200 }.count } }
}
