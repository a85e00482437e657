import Credentials
import Fetch
import Settings
import TLS
import Trust

/// A credential in one configuration, with all that its owner needs. Immutable.
public final class CredentialSetup: Sendable {
  public let policy: CredentialPolicy
  let identity: CredentialIdentity
  /// The identity's, copied because every request reads it.
  let serial: UInt64
  /// Of the configuration; a larger one is newer.
  let generation: Int
  /// The trust of the token endpoint.
  let trust: TrustMaterial
  /// What the proxy presents to the authorization server; nil: nothing.
  let certificate: TLSIdentity?
  let store: any TokenStore
  /// Where its record is in the store that a fleet shares; nil: it has none there.
  let shared: RecordPlace?
  let sources: CredentialSources
  /// The credentials whose tokens it exchanges.
  let exchanged: [CredentialSetup]
  /// The tokens of apps' users; nil: there is one token for all requests.
  let subjects: SubjectTokens?
  /// There is a token for each user. Copied because every request reads it.
  let isPerSubject: Bool
  /// How many of them are kept.
  let subjectLimit: Int
  /// Statuses by which an origin refuses this credential.
  let refusals: [Int]
  /// How many requests may wait for it in the whole process.
  let waitingLimit: Int
  /// Milliseconds that a request waits for it at most: the longest `timeouts.credential`.
  let patience: Int64

  public var name: String { policy.name }

  init(
    _ policy: CredentialPolicy, _ identity: CredentialIdentity, generation: Int, trust: TrustMaterial,
    certificate: TLSIdentity?, store: any TokenStore, fleet: StorePlan?,
    sources: CredentialSources, exchanged: [CredentialSetup], subjects: SubjectTokens?, limits: Limits,
    patience: Int64
  ) {
    self.policy = policy
    self.identity = identity
    serial = identity.serial
    self.generation = generation
    self.trust = trust
    self.certificate = certificate
    self.store = store
    shared = RecordPlace(of: policy, in: fleet)
    self.sources = sources
    self.exchanged = exchanged
    self.subjects = subjects
    isPerSubject = subjects != nil
    subjectLimit = limits.subjectTokens
    waitingLimit = limits.waitingForCredential
    self.patience = patience
    refusals =
      switch policy.kind {
      case .jwt(let jwt): Array(jwt.retryStatuses)
      case .oauth2, .sigv4: Array(policy.tokens?.retryStatuses ?? [])
      case .basic, .bearer, .header, .hmac, .httpSignature, .digest, .query, .path: [401]
      // Its signer reads them.
      case .negotiate: []
      }
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

  /// Whether a source is a program. A program may be slow, and must not hold up files.
  var runProgram: Bool { sources.values.contains { if case .command = $0 { true } else { false } } }

  /// Reads the sources again. nil if one of them cannot be read, or if nothing can have changed.
  func reread(_ kind: CredentialPolicy.Kind) -> CredentialPolicy.Kind? {
    switch kind {
    case .basic(let username, _): read("basic.password").map { .basic(username: username, password: $0) }
    case .bearer: read("bearer.token").map { .bearer(token: $0) }
    case .header(let name, _, let format): read("header.value").map { .header(name: name, value: $0, format: format) }
    case .sigv4(let policy): keys(of: policy).map { .sigv4(policy.with(.fixed($0))) }
    case .digest(let policy):
      read("digest.password").map {
        .digest(DigestPolicy(username: policy.username, password: $0, algorithms: policy.algorithms))
      }
    case .jwt(let policy): reread(policy).map { .jwt($0) }
    case .hmac(let policy): reread(policy).map { .hmac($0) }
    case .httpSignature(let policy): reread(policy).map { .httpSignature($0) }
    case .query(let name, _): read("query.value").map { .query(name: name, value: $0) }
    case .path(let segment, _): read("path.value").map { .path(segment: segment, value: $0) }
    case .oauth2, .negotiate: nil
    }
  }

  private func reread(_ policy: JWTPolicy) -> JWTPolicy? {
    switch policy.key {
    case .secret: read("jwt.secret").flatMap { policy.replacing(.secret($0)) }
    case .privateKey(_, let passphrase):
      read("jwt.private_key").flatMap {
        policy.replacing(.privateKey($0, passphrase: passphrase.map { read("jwt.passphrase") ?? $0 }))
      }
    }
  }

  private func reread(_ policy: HMACPolicy) -> HMACPolicy? {
    guard let key = read("hmac.key") else { return nil }
    var values: [String: Secret] = [:]
    for value in policy.values { values[value.name] = read("hmac.values.\(value.name)") }
    return policy.replacing(key: key, values: values)
  }

  private func reread(_ policy: HTTPSignaturePolicy) -> HTTPSignaturePolicy? {
    switch policy.key {
    case .secret: read("http_signature.secret").flatMap { policy.replacing(.secret($0)) }
    case .privateKey(_, let passphrase):
      read("http_signature.private_key").flatMap {
        policy.replacing(.privateKey($0, passphrase: passphrase.map { read("http_signature.passphrase") ?? $0 }))
      }
    }
  }

  private func keys(of policy: SigV4Policy) -> AWSKeys? {
    guard case .fixed(let keys) = policy.keys, let secret = read("sigv4.secret_access_key") else { return nil }
    let token = read("sigv4.session_token")
    guard (token == nil) == (keys.sessionToken == nil) else { return nil }
    return AWSKeys(accessKeyID: keys.accessKeyID, secretAccessKey: secret, sessionToken: token)
  }

  /// Reads ready assertions again for each use, because their issuer replaces them before they expire.
  func material(refreshToken: Secret?) throws(SecretError) -> TokenRequest.Material {
    var material = TokenRequest.Material(
      refreshToken: refreshToken, clientAssertion: try sources["oauth2.client_assertion"]?.read(),
      grantAssertion: try sources["oauth2.assertion"]?.read())
    material.subject = try sources["oauth2.subject_token"]?.read()
    material.actor = try sources["oauth2.actor_token"]?.read()
    return material
  }

  private func read(_ path: String) -> Secret? { try? sources[path]?.read() }
}
