import Credentials
import RedisProtocol
import Trust

/// Where tokens live that outlast a request.
public enum TokenStoreSettings: Sendable, Hashable {
  case memory
  /// `key`: 32 bytes, decoded.
  case file(path: String, key: Secret?)
  /// Many processes have it.
  case shared(SharedStoreSettings)

  public var shared: SharedStoreSettings? { if case .shared(let settings) = self { settings } else { nil } }
}

/// A store that the processes of a fleet share.
public struct SharedStoreSettings: Sendable, Hashable {
  public enum Engine: Sendable, Hashable {
    case redis(RedisStoreSettings)
    case kubernetes(KubernetesStoreSettings)

    /// The same records, however the store is reached.
    public func isSamePlace(as other: Engine) -> Bool {
      switch (self, other) {
      case (.redis(let one), .redis(let other)):
        one.location == other.location && one.database == other.database && one.prefix == other.prefix
      case (.kubernetes(let one), .kubernetes(let other)):
        one.address == other.address && one.namespace == other.namespace && one.secret == other.secret
      case (.redis, .kubernetes), (.kubernetes, .redis): false
      }
    }
  }
  public var engine: Engine
  public var seal: RecordSeal

  public init(_ engine: Engine, seal: RecordSeal) {
    self.engine = engine
    self.seal = seal
  }

  /// For people: `redis://host:6379`, `sentinel mymaster`, `kubernetes secret namespace/name`.
  public var address: String {
    switch engine {
    case .redis(let redis): "\(redis.location)"
    case .kubernetes(let kubernetes): "kubernetes secret \(kubernetes.namespace)/\(kubernetes.secret)"
    }
  }

  /// The trust policy that it names, and whether it needs the one that stands for none.
  public var trust: (name: String?, isStandard: Bool) {
    switch engine {
    case .redis(let redis): (redis.trust, redis.location.isTLS && redis.trust == nil)
    case .kubernetes(let kubernetes):
      switch kubernetes.trust {
      case .named(let name): (name, name == nil && kubernetes.address.hasPrefix("https:"))
      case .serviceAccount: (nil, false)
      }
    }
  }

  /// Acknowledgements without which a claim is not acted on.
  public var replicas: Int { if case .redis(let redis) = engine { redis.replicas } else { 0 } }

  /// Where the store keeps the record of a credential.
  /// - Parameter binding: of `TokenBinding.shared`.
  public func name(of credential: String, binding: [UInt8]) -> RecordName {
    switch engine {
    case .redis(let redis): RecordName(prefix: redis.prefix, credential: credential, binding: binding)
    case .kubernetes(let kubernetes):
      RecordName(
        prefix: "\(kubernetes.namespace)/\(kubernetes.secret)", credential: credential, binding: binding, form: .entry)
    }
  }
}

/// Redis or Valkey.
public struct RedisStoreSettings: Sendable, Hashable {
  public var location: RedisLocation
  /// nil: the server wants none.
  public var login: RedisLogin?
  public var database = 0
  /// Of keys, and of the channel of changes.
  public var prefix = Self.standardPrefix
  public var replicas = 0
  /// Milliseconds, for connecting and for each command.
  public var timeout = Self.standardTimeout
  /// Name of the trust policy of rediss://; nil: as for upstreams.
  public var trust: String?
  public var clientCertificate: CertificateFiles?
  /// Servers beyond loopback may be spoken to in clear.
  public var allowsPlaintext = false

  public init(_ location: RedisLocation) { self.location = location }

  public static let standardPrefix = "authproxy:"
  public static let standardTimeout = 2_000
  /// Of Sentinels.
  public static let sentinelPort: UInt16 = 26379
}

/// A Secret of Kubernetes, through the API server.
public struct KubernetesStoreSettings: Sendable, Hashable {
  /// Name of the Secret, which exists already.
  public var secret: String
  public var namespace: String
  /// Of the API server: `https://host:port`, or `http://` on loopback, without a path.
  public var address: String
  /// The bearer token, read again when the server refuses it, as kubelets replace it. Reading blocks.
  public var token: SecretSource
  public var trust: Trust

  public enum Trust: Sendable, Hashable {
    /// Name of a trust policy; nil: as for upstreams.
    case named(String?)
    /// That of the service account: its CA alone.
    case serviceAccount(TrustPolicy)
  }

  public init(secret: String, namespace: String, address: String, token: SecretSource, trust: Trust) {
    self.secret = secret
    self.namespace = namespace
    self.address = address
    self.token = token
    self.trust = trust
  }

  /// Where a pod finds the token, the CA and the namespace of its service account.
  public static let folder = "/var/run/secrets/kubernetes.io/serviceaccount"
}
