import Credentials
import Settings

/// What a store that a fleet shares means.
extension Describing {
  /// Where the credential's tokens are shared; nil: they are not.
  static func shared(_ credential: CredentialPolicy, _ settings: Settings) -> String? {
    guard let store = settings.tokenStore.shared, let policy = credential.tokens else { return nil }
    guard let binding = policy.sharing else { return "not shared: each process has its own" }
    return "shared by \(store.address) as \(store.name(of: credential.name, binding: binding).key)"
  }

  static func rows(of store: SharedStoreSettings) -> [(String, String)] {
    switch store.engine {
    case .redis(let redis): rows(of: redis)
    case .kubernetes(let kubernetes):
      [
        ("kubernetes", "Secret \(kubernetes.secret) of namespace \(kubernetes.namespace), by \(kubernetes.address)"),
        ("token", "\(kubernetes.token)"),
        ("trust", trust(kubernetes)),
      ]
    }
  }

  private static func trust(_ kubernetes: KubernetesStoreSettings) -> String {
    switch kubernetes.trust {
    case .serviceAccount: "the CA of the service account"
    case .named(let name): name ?? "as for upstreams"
    }
  }

  private static func rows(of redis: RedisStoreSettings) -> [(String, String)] {
    var rows: [(String, String)] = []
    switch redis.location {
    case .server(let address): rows.append(("redis", "\(address)"))
    case .sentinels(let addresses, let name, _):
      rows.append(("redis", "the primary \(name), by the Sentinels \(addresses.map { "\($0)" }.joined(separator: ", "))"))
    }
    if let login = redis.login { rows.append(("user", String(decoding: login.user, as: UTF8.self))) }
    rows.append(("keys", "\(redis.prefix)..., in database \(redis.database)"))
    if redis.replicas > 0 {
      rows.append(("replicas", "\(count(redis.replicas, "acknowledgement")) before a claim is acted on"))
    }
    if redis.location.isTLS { rows.append(("trust", redis.trust ?? "as for upstreams")) }
    if redis.clientCertificate != nil { rows.append(("", "with a client certificate")) }
    if redis.allowsPlaintext, !redis.location.isTLS { rows.append(("", "the password may go in the clear")) }
    return rows
  }
}
