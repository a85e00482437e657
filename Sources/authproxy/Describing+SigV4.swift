import Credentials

extension Describing {
  static func sigV4(_ policy: SigV4Policy) -> String {
    let payload =
      switch policy.payload {
      case .auto: ""
      case .signed: "; bodies are hashed"
      case .unsigned: "; bodies are not hashed"
      }
    return "sigv4, \(scope("service", policy.service)), \(scope("region", policy.region, policy.defaultRegion)), "
      + keys(policy.keys) + payload
  }

  private static func scope(_ name: String, _ scope: SigV4Policy.Scope, _ fallback: String? = nil) -> String {
    let last = fallback.map { ", last \($0)" } ?? ""
    return switch scope {
    case .auto: "\(name) from the app's signature or the host\(last)"
    case .oneOf(let names): "\(name) from the app's signature or the host\(last), if \(names.joined(separator: " or "))"
    case .named(let value): "\(name) \(value)"
    }
  }

  private static func keys(_ keys: SigV4Policy.Keys) -> String {
    switch keys {
    case .fixed(let keys): "static key \(keys.accessKeyID)" + (keys.sessionToken == nil ? "" : " with a session token")
    case .fetched(let policy): policy.source.map(source) ?? "temporary keys"
    }
  }
}
