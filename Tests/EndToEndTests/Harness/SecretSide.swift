import Foundation

/// An origin with its own token server, and secrets that are meant for it alone: each says so.
struct SecretSide {
  enum Kind: CaseIterable { case fixed, oauth2 }

  let label: String
  let server: TokenServer
  var origin: Origin { server.origin }
  private var mark: String { "for-\(label)-5ecret" }

  /// - Parameter name: of the realm, the same on both sides: the app's URLs do not say which it is.
  init(_ label: String, name: String) throws {
    self.label = label
    server = try TokenServer("{\"prefix\": \"for-\(label)\"}", origin: try Origin(), name: name)
    try acceptFixed()
  }

  func acceptFixed() throws { try server.set("{\"accept\": [\"\(mark)-fixed\"]}") }
  /// No token that it issued is valid any more; nor, for a while, the fixed one.
  func revoke() throws { try server.set(#"{"revoke": true}"#) }

  /// - Parameter entry: further keys of the entry, each with a comma before it.
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

  /// Secrets that came here, to the API or the token endpoint, and are meant for another; "none" where there was none.
  /// - Parameter names: of exchanges that had scripts.
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
