import Credentials
import Settings

/// `credentials.*.sigv4`.
struct SigV4Keys: KeySet {
  static let table = KeyTable(SigV4Keys())
  /// Stands for what the app's signature or the host says.
  static let automatic = "auto"

  enum Payload: String, CaseIterable { case auto, signed, unsigned }

  let service = Key(
    "service", .oneOrMore(of: .item(.anything)), .text(automatic),
    "The signing name, auto for what the app's signature or an AWS host says, or a list: auto, but only these.")
  let region = Key(
    "region", .oneOrMore(of: .item(.anything)), .text(automatic),
    "The region. The same, and last what AWS_REGION, AWS_DEFAULT_REGION or the profile say.")
  let accessKeyID = Key("access_key_id", .text(.anything), .otherwise("'source' is used"), "The id of a static key.")
  let secretAccessKey = Key("secret_access_key", .secret, .otherwise("'source' is used"), "The static key itself.")
  let sessionToken = Key("session_token", .secret, .otherwise("none"), "Belongs to static keys that are temporary.")
  let payload = Key(
    "payload", .choice(Payload.allCases), default: .auto,
    "Says whether bodies are hashed: auto leaves it to the app, and S3 uploads over TLS unsigned.")
  let keySource = AWSKeySourceKeys()
}

/// Keys of `credentials.*.sigv4` about keys that are fetched.
struct AWSKeySourceKeys: KeyGroup {
  enum Source: String, CaseIterable {
    case standard = "default"
    case environment, profile, container, instance
    case webIdentity = "web_identity"
  }

  let source = Key(
    "source", .text(.words(Source.allCases.map(\.rawValue)), or: CredentialProcessKeys.self),
    .text(Source.standard.rawValue),
    "Where keys come from: one of AWS's places, default for the first of them that has something, or a credential_process.")
  let profile = Key(
    "profile", .text(.anything), .otherwise("AWS_PROFILE, or default"),
    "The profile in AWS_SHARED_CREDENTIALS_FILE and AWS_CONFIG_FILE.")
  let assumeRole = Key(
    "assume_role", .oneOrMore(of: .section(AssumeRoleKeys.self)), .otherwise("none"),
    "A role whose keys sign; a list is a chain.")
  let sts = Key(
    "sts", .text(.url), .otherwise("AWS_ENDPOINT_URL_STS, or the region's"), "The endpoint that gives the keys of roles.")
  let refreshBeforeExpiry = Key(
    "refresh_before_expiry", .duration(atLeast: 0), default: 300_000,
    "Fetches new keys this long before the held ones expire, but not earlier than half of their lifetime.")
  let trust = Key(
    "trust", .text(.nameInTrust), .otherwise("the policy named 'default' if there is one, else the system's roots"),
    "Names the trust policy that STS must satisfy.")
}

/// `credentials.*.sigv4.source` that is a program.
struct CredentialProcessKeys: KeySet {
  static let table = KeyTable(CredentialProcessKeys())

  let command = Key(
    "command", .texts(.program), .required, "Runs a program without a shell; it prints keys as AWS's credential_process does.")
  let timeout = Key("timeout", .duration(), default: 10_000, "Bounds how long the program may run.")
}

/// `credentials.*.sigv4.assume_role`.
struct AssumeRoleKeys: KeySet {
  static let table = KeyTable(AssumeRoleKeys())

  let roleARN = Key("role_arn", .text(.anything), .required, "The role's ARN.")
  let sessionName = Key(
    "session_name", .text(.anything), .text(AWSKeySource.Role.sessionName), "The name that AWS's records show.")
  let externalID = Key("external_id", .secret, .otherwise("not sent"), "What the role's trust policy asks for.")
  let duration = Key("duration", .duration(900_000...43_200_000), default: 3_600_000, "How long the keys are valid.")
}
