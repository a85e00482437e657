import Credentials

/// Describes where tokens and keys come from that no OAuth 2.0 server issues.
extension Describing {
  static func source(_ source: TokenSource) -> String {
    switch source {
    case .aws(let source): aws(source)
    case .cloudIdentity(.google(.access(let scopes), _)):
      "cloud_identity google, access token" + (scopes.isEmpty ? "" : " for \(scopes.joined(separator: ", "))")
    case .cloudIdentity(.google(.identity(let audience), _)): "cloud_identity google, ID token for \(audience)"
    case .cloudIdentity(.azure(let resource, let client, _)):
      "cloud_identity azure, token for \(resource)" + (client.map { ", identity \($0)" } ?? "")
    case .githubApp(let app): github(app)
    }
  }

  private static func aws(_ source: AWSKeySource) -> String {
    let base =
      switch source.base {
      case .fixed(let keys): "static key \(keys.accessKeyID)"
      case .process(let process): "keys from \(process.arguments.first ?? "a program")"
      case .profile: "keys from source profile" + (source.profile.map { " \($0)" } ?? "")
      case .standard, .environment, .webIdentity, .container, .instance: "keys from source \(source.base.name)"
      }
    let roles = source.roles.map { ", then role \($0.arn)" }.joined()
    return base + roles + (source.sts.map { " by STS at \($0)" } ?? "")
  }

  private static func github(_ app: GitHubApp) -> String {
    let repositories = app.repositories.isEmpty ? "all repositories" : app.repositories.joined(separator: ", ")
    let permissions =
      app.permissions.isEmpty ? "all permissions" : app.permissions.map { "\($0.name) \($0.access)" }.joined(separator: ", ")
    return "github_app \(app.appID), installation \(app.installationID) at \(app.api): \(repositories); \(permissions); "
      + "sent as \(app.scheme.rawValue)"
  }
}
