import Credentials
import Settings

/// Who has logged in, as a token store in a file says. Reads the file without its lock and changes nothing. Never asks a store
/// on another machine.
struct LoginStandings {
  private var records: [String: StoredRecord.Content] = [:]
  /// Why nobody knows; nil: it is known.
  private(set) var problem: String?
  /// Another machine's store is not asked.
  private let isElsewhere: Bool

  init(_ settings: Settings) {
    isElsewhere = settings.tokenStore.shared != nil
    guard settings.credentials.values.contains(where: { Self.oauth2(of: $0) != nil }),
      case .file(let path, let key) = settings.tokenStore
    else { return }
    do {
      for record in try FileTokenStore(path: path, key: key).records() { records[record.name] = record.content }
    } catch { problem = "\(error)" }
  }

  /// nil: the credential has no login, or nobody knows.
  func standing(of policy: CredentialPolicy) -> LoginStanding? {
    guard problem == nil, !isElsewhere, let oauth2 = Self.oauth2(of: policy) else { return nil }
    return LoginStanding(records[policy.name], binding: TokenBinding.digest(of: oauth2))
  }

  /// What `check` and `explain` say about the credential; nil: it has no login.
  func row(of policy: CredentialPolicy) -> String? {
    guard Self.oauth2(of: policy) != nil else { return nil }
    if isElsewhere { return "\"authproxy tokens\" says who has logged in" }
    guard let standing = standing(of: policy) else { return "login unknown: the token store cannot be read" }
    return Describing.login(standing) + (Self.remedy(for: standing, policy.name).map { "; \($0)" } ?? "")
  }

  /// For credentials that cannot be used as their logins are, sorted by name.
  func warnings(_ settings: Settings) -> [String] {
    if let problem { return ["nobody knows who has logged in: \(problem)"] }
    return settings.credentials.values.sorted { $0.name < $1.name }.compactMap { policy in
      guard let standing = standing(of: policy), let remedy = Self.remedy(for: standing, policy.name) else { return nil }
      return "credentials.\(policy.name): \(Describing.login(standing)); \(remedy)"
    }
  }

  private static func oauth2(of policy: CredentialPolicy) -> OAuth2Policy? {
    guard case .oauth2(let oauth2) = policy.kind, oauth2.login != nil else { return nil }
    return oauth2
  }

  /// nil: nothing is to be done.
  private static func remedy(for standing: LoginStanding, _ name: String) -> String? {
    switch standing {
    case .loggedIn: nil
    case .never, .loggedOut, .refused, .otherConfiguration: "run \"authproxy login \(name)\""
    case .wrongKey: "compare 'token_store.key'"
    }
  }
}

extension Describing {
  static func login(_ standing: LoginStanding) -> String {
    switch standing {
    case .loggedIn: "somebody has logged in"
    case .loggedOut: "nobody has logged in since the last logout"
    case .never: "nobody has logged in yet"
    case .refused: "the server has refused the stored login"
    case .otherConfiguration: "the stored login is of another issuer, token_url, client_id or dpop"
    case .wrongKey: "the stored login is encrypted with another key"
    }
  }
}
