import CSystem
import Credentials
import RedisClient
import Settings
import TLS
import Trust

/// The fleet's token store in one configuration, with all that a connection to it needs. Immutable.
final class StorePlan: Sendable {
  enum Server: Sendable {
    case redis(RedisSettings)
    /// `trust`: nil: http on loopback.
    case kubernetes(KubernetesStoreSettings, trust: TrustMaterial?)
  }

  let server: Server
  let settings: SharedStoreSettings
  /// Of the configuration; a larger one is newer.
  let generation: Int
  /// How the server is judged; empty without TLS.
  private let trustDigest: [UInt8]

  var address: String { settings.address }
  /// What claims name: `name@host`.
  let holder: String

  /// - Parameter name: of this proxy.
  init(_ settings: SharedStoreSettings, name: String, generation: Int, trust: TrustMaterial?, identity: TLSIdentity?) {
    self.settings = settings
    self.generation = generation
    trustDigest = trust?.digest ?? []
    holder = "\(name)@\(Self.hostName)"
    switch settings.engine {
    case .kubernetes(let kubernetes): server = .kubernetes(kubernetes, trust: trust)
    case .redis(let redis):
      var client = RedisSettings(redis.location)
      client.login = redis.login
      client.database = redis.database
      client.prefix = Array(redis.prefix.utf8)
      client.timeout = redis.timeout
      client.trust = trust
      client.identity = identity
      client.allowsPlaintext = redis.allowsPlaintext
      server = .redis(client)
    }
  }

  /// As printable text.
  private static let hostName: String = {
    var buffer = [CChar](repeating: 0, count: 256)
    guard gethostname(&buffer, buffer.count - 1) == 0 else { return "unknown" }
    let name = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }.filter { (0x21...0x7e).contains($0) }
    return String(decoding: name.prefix(64), as: UTF8.self)
  }()

  /// Whether a connection of the other one serves this, too. The keys of records are not the connection's.
  func connects(as other: StorePlan) -> Bool {
    settings.engine == other.settings.engine && trustDigest == other.trustDigest
  }
}

extension StorePlan {
  /// Whether a record that is written under the other one is found here, and can be opened. If not, it would be lost, or lie in the way.
  func keeps(_ other: StorePlan) -> Bool {
    settings.seal.opens(what: other.settings.seal) && settings.engine.isSamePlace(as: other.settings.engine)
  }
}

/// Where a credential's record is in the fleet's store.
struct RecordPlace: Sendable {
  let plan: StorePlan
  let name: RecordName
  let grant: OAuth2Policy.Grant
  let terms: ClaimTerms

  /// - Returns: nil: its tokens are not there.
  init?(of credential: CredentialPolicy, in plan: StorePlan?) {
    guard let plan, case .oauth2(let policy) = credential.kind, let binding = policy.sharing else { return nil }
    self.plan = plan
    name = plan.settings.name(of: credential.name, binding: binding)
    grant = policy.grant
    terms = policy.claimTerms
  }

  var sealed: SealedRecord {
    SealedRecord(plan.settings.seal, as: name, replicas: plan.settings.replicas, of: grant)
  }

  /// For people: where, and under which name.
  var description: String { "\(plan.address) as \(name.key)" }
}
