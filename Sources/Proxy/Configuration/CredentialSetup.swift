import Credentials
import Fetch
import Settings

/// A credential as one configuration has it, with all that its owner needs. Immutable.
public final class CredentialSetup: Sendable {
  public let policy: CredentialPolicy
  let identity: CredentialIdentity
  /// The identity's: looked at for every request.
  let serial: UInt64
  /// Of the configuration: the larger one is the newer.
  let generation: Int
  /// Of the token endpoint.
  let trust: FetchTrust
  let store: any TokenStore
  let sources: CredentialSources
  /// Which statuses mean "this credential was refused".
  let refusals: Set<Int>
  /// Requests that may wait for it, in the whole process.
  let waitingLimit: Int

  public var name: String { policy.name }

  init(
    _ policy: CredentialPolicy, _ identity: CredentialIdentity, generation: Int, trust: FetchTrust, store: any TokenStore,
    sources: CredentialSources, waitingLimit: Int
  ) {
    self.policy = policy
    self.identity = identity
    serial = identity.serial
    self.generation = generation
    self.trust = trust
    self.store = store
    self.sources = sources
    self.waitingLimit = waitingLimit
    if case .oauth2(let oauth2) = policy.kind { refusals = oauth2.retryStatuses } else { refusals = [401] }
  }
}

/// Where the secrets of one credential came from, for reading them again. Reading blocks.
struct CredentialSources: Sendable {
  /// By key path below the credential: `bearer.token`, `oauth2.client_assertion`.
  private let sources: [String: SecretSource]

  /// - Parameter all: those of a configuration, by whole key path.
  init(of credential: String, in all: [String: SecretSource]) {
    let prefix = "credentials.\(credential)."
    var sources: [String: SecretSource] = [:]
    for (path, source) in all where path.hasPrefix(prefix) { sources[String(path.dropFirst(prefix.count))] = source }
    self.sources = sources
  }

  /// A program may take its time, and must not hold up files.
  var runProgram: Bool { sources.values.contains { if case .command = $0 { true } else { false } } }

  /// What the sources hold now; nil where one of them cannot be read, or nothing can have changed.
  func reread(_ kind: CredentialPolicy.Kind) -> CredentialPolicy.Kind? {
    switch kind {
    case .basic(let username, _): read("basic.password").map { .basic(username: username, password: $0) }
    case .bearer: read("bearer.token").map { .bearer(token: $0) }
    case .header(let name, _, let format): read("header.value").map { .header(name: name, value: $0, format: format) }
    case .oauth2: nil
    }
  }

  /// Ready assertions are read anew for each use: whoever issues them replaces them before they end.
  func material(refreshToken: Secret?) throws(SecretError) -> TokenRequest.Material {
    TokenRequest.Material(
      refreshToken: refreshToken, clientAssertion: try sources["oauth2.client_assertion"]?.read(),
      grantAssertion: try sources["oauth2.assertion"]?.read())
  }

  private func read(_ path: String) -> Secret? { try? sources[path]?.read() }
}
