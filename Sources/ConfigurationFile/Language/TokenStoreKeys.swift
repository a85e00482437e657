import Credentials
import Settings

/// `token_store`, if it is a section.
struct TokenStoreKeys: KeySet {
  static let table = KeyTable(TokenStoreKeys())
  static var alternatives: [(TokenStoreKeys) -> DescribedKey] { [\.file, \.redis, \.kubernetes] }
  /// Means a store without a file.
  static let memory = "memory"

  let file = Key("file", .file, .otherwise("another store"), "Names the file that keeps the tokens.")
  let redis = Key(
    "redis", .section(RedisStoreKeys.self), .otherwise("another store"),
    "Says which Redis, Valkey or cluster of it keeps the tokens of a fleet.")
  let kubernetes = Key(
    "kubernetes", .section(KubernetesStoreKeys.self), .otherwise("another store"),
    "Says which Secret of Kubernetes keeps the tokens of a fleet.")
  let key = Key(
    "key", .storeKey, .otherwise("a file is not encrypted; another store needs it"),
    "Encrypts the tokens with AES-256-GCM: 32 bytes in base64; 'none' for kubernetes alone.")
  let previousKeys = Key(
    "previous_keys", .list(of: .secret), .otherwise("none"),
    "Keys of a fleet's store with which the proxy still reads, and no longer writes.")
}

/// `token_store.redis`.
struct RedisStoreKeys: KeySet {
  static let table = KeyTable(RedisStoreKeys())
  static var alternatives: [(RedisStoreKeys) -> DescribedKey] { [\.address, \.sentinel] }

  let address = Key(
    "address", .text(.redisAddress), .otherwise("'sentinel' says it"),
    "Where the server is; rediss:// means TLS, and the default port is 6379.")
  let sentinel = Key(
    "sentinel", .section(SentinelKeys.self), .otherwise("'address' says it"), "Says who knows the primary server.")
  let username = Key(
    "username", .text(.anything), .text("default"), "The user of the server (ACL) that the proxy logs in as.")
  let password = Key("password", .secret, .otherwise("the server wants none"), "The user's password.")
  let database = Key("database", .integer(0...1_000_000), default: 0, "The number of the database.")
  let prefix = Key(
    "prefix", .text(.anything), .text(RedisStoreSettings.standardPrefix),
    "Begins the names of keys and of the channel; two fleets on one server need two.")
  let replicas = Key(
    "replicas", .integer(0...100), .otherwise("1 with 'sentinel', else 0"),
    "Acknowledgements of replicas without which the proxy does not act on a claim.")
  let timeout = Key(
    "timeout", .duration(10...60_000), default: RedisStoreSettings.standardTimeout,
    "Bounds the time to connect, and that of each command.")
  let trust = Key(
    "trust", .text(.nameInTrust), .otherwise("the policy named 'default' if there is one, else the system's roots"),
    "Names the trust policy that a rediss:// server must satisfy.")
  let clientCertificate = Key(
    "client_certificate", .section(ClientCertificateKeys.self), .otherwise("none"),
    "The certificate that the proxy presents to a rediss:// server.")
  let allowPlaintext = Key(
    "allow_plaintext", .boolean, default: false,
    "Allows redis:// to other machines: the password goes there in the clear.")
}

/// `token_store.redis.sentinel`.
struct SentinelKeys: KeySet {
  static let table = KeyTable(SentinelKeys())

  let name = Key("name", .text(.anything), .required, "The name by which the Sentinels know the primary server.")
  let addresses = Key(
    "addresses", .oneOrMore(of: .item(.redisAddress)), .required,
    "Where the Sentinels are; their scheme is the server's as well, and the default port is 26379.")
  let username = Key("username", .text(.anything), .text("default"), "The user of the Sentinels themselves.")
  let password = Key("password", .secret, .otherwise("the Sentinels want none"), "The password of the Sentinels' user.")
}

/// `token_store.kubernetes`.
struct KubernetesStoreKeys: KeySet {
  static let table = KeyTable(KubernetesStoreKeys())

  let secret = Key("secret", .text(.objectName), .required, "The Secret's name; it must exist, and may be empty.")
  let namespace = Key("namespace", .text(.objectName), .otherwise("the pod's"), "The namespace of the Secret.")
  let address = Key(
    "address", .text(.url), .otherwise("as the pod's environment says"), "The API server: https, or http on loopback.")
  let token = Key(
    "token", .storeToken, .otherwise("that of the pod's service account"),
    "Authenticates the proxy; the file is read again when it changes.")
  let trust = Key(
    "trust", .text(.nameInTrust), .otherwise("the CA of the pod's service account"),
    "Names the trust policy that the API server must satisfy.")
}

/// The key of a token store.
enum StoreKey {
  case none(Place)
  case secret(Located<Secret>)

  static let noneWord = "none"
}

extension Form where Value == StoreKey {
  static var storeKey: Form {
    Form(shape: .oneOf([.words([StoreKey.noneWord]), .secret])) { reading, written in
      if case .scalar(StoreKey.noneWord, _) = written.node.content { return .none(written.node.place) }
      return reading.secret(written).map { .secret($0) }
    }
  }
}

extension Form where Value == Located<SecretSource> {
  /// A secret that is read when it is needed, not with the configuration.
  static var storeToken: Form {
    Form(shape: .secret) { reading, written in
      reading.lateSecret(written).map { Located(value: $0, place: written.node.place) }
    }
  }
}
