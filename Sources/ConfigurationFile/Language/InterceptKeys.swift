import Settings
import Trust

/// `intercept`.
struct InterceptKeys: KeySet {
  static let table = KeyTable(InterceptKeys())
  private static let standard = InterceptSettings(source: .memory)
  private static let hour = 3_600_000

  let ca = Key(
    "ca", .oneOrMore(of: .text(.words([AuthorityKeys.memory]), or: AuthorityKeys.self)), .required,
    "Names the CAs that sign; the first that permits a host signs for it.")
  let publish = Key(
    "publish", .file, .otherwise("nothing is written"),
    "Names a folder for what apps are given: ca.pem, bundle.pem, truststore.jks and env.sh.")
  let leafLifetime = Key(
    "leaf_lifetime", .duration(hour...(720 * hour)), default: standard.leafLifetime, "Sets how long a leaf is valid.")
  let leafCache = Key(
    "leaf_cache", .integer(1...1_000_000), default: standard.leafCache,
    "Bounds the leafs that are kept; the least recently used one goes first.")
  let minVersion = Key(
    "min_version", .choice([TrustPolicy.TLSVersion.tls12, .tls13]), default: standard.minimumVersion,
    "Refuses TLS versions below it from apps.")
}

/// An entry of `intercept.ca`, where it is a section.
struct AuthorityKeys: KeySet {
  static let table = KeyTable(AuthorityKeys())
  /// The word that stands for authorities without a disk.
  static let memory = "memory"

  let certificate = Key(
    "certificate", .file, .otherwise("'generate'"),
    "Names the file of the signing certificate and those above it; the last one is what apps trust.")
  let key = Key("key", .secret, .otherwise("'generate'"), "Is the signing certificate's private key in PEM form.")
  let passphrase = Key("passphrase", .secret, .otherwise("the key is not encrypted"), "Opens the private key.")
  let allowUnconstrained = Key(
    "allow_unconstrained", .boolean, default: false, "Lets the CA be one that may sign for any name.")
  let generate = Key(
    "generate", .file, .otherwise("'certificate' and 'key'"),
    "Names a folder that the proxy fills with a CA where it lacks one for an https:// match.")
}
