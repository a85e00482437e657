/// Where temporary keys for `sigv4` come from. All durations are milliseconds.
public struct AWSKeySource: Sendable, Hashable {
  /// What has the first keys.
  public enum Base: Sendable, Hashable {
    /// Written in the configuration, for a role.
    case fixed(AWSKeys)
    /// The first of `AWSKeySource.order` that has something. It stays the source until a reload.
    case standard
    case environment, webIdentity, profile, container, instance
    case process(Process)
  }

  /// A program of the operator's that prints keys as JSON, as AWS's `credential_process` does.
  public struct Process: Sendable, Hashable {
    /// The first is an absolute path.
    public let arguments: [String]
    public let timeout: Int
    public init(arguments: [String], timeout: Int = AWSKeySource.processTimeout) {
      self.arguments = arguments
      self.timeout = timeout
    }
  }

  /// A role to assume with the keys before it.
  public struct Role: Sendable, Hashable {
    public let arn: String
    public let sessionName: String
    public let externalID: Secret?
    public let duration: Int
    public init(arn: String, sessionName: String = Self.sessionName, externalID: Secret? = nil, duration: Int = 3_600_000) {
      self.arn = arn
      self.sessionName = sessionName
      self.externalID = externalID
      self.duration = duration
    }
    /// What AWS's audit log calls a session that has no name in the configuration.
    public static let sessionName = "authproxy"
  }

  /// Milliseconds that a program may run.
  public static let processTimeout = 10_000
  /// Of keys that name no end: they are read again after this many seconds.
  static let reading: Int64 = 3_600
  /// The order of AWS's own SDKs.
  static let order: [Base] = [.environment, .webIdentity, .profile, .container, .instance]

  public let base: Base
  /// Name of the profile; nil: AWS_PROFILE, or `default`.
  public let profile: String?
  /// Assumed in this order, after what the base itself says.
  public let roles: [Role]
  /// URL of STS; nil: AWS_ENDPOINT_URL_STS, or the region's.
  public let sts: String?
  /// For STS; nil: AWS_REGION, AWS_DEFAULT_REGION or the profile's.
  public let region: String?
  public let environment: SourceEnvironment

  public init(
    base: Base = .standard, profile: String? = nil, roles: [Role] = [], sts: String? = nil, region: String? = nil,
    environment: SourceEnvironment = SourceEnvironment()
  ) {
    self.base = base
    self.profile = profile
    self.roles = roles
    self.sts = sts
    self.region = region
    self.environment = environment
  }
}

extension AWSKeySource {
  var runsPrograms: Bool {
    switch base {
    case .process, .profile: true
    case .fixed, .standard, .environment, .webIdentity, .container, .instance: false
    }
  }

  var continuity: [[UInt8]] {
    var texts = [profile ?? "", sts ?? ""]
    switch base {
    case .fixed(let keys): texts += ["fixed", keys.accessKeyID]
    case .standard, .environment, .webIdentity, .profile, .container, .instance: texts.append("\(base)")
    case .process(let process): texts += ["process"] + process.arguments
    }
    for role in roles { texts += ["role", role.arn, role.sessionName] }
    return texts.map { Array($0.utf8) }
  }

  func longestFetch(timeout: Int) -> Int64 {
    // The metadata service takes three requests. A profile may name roles of its own. STS may correct our clock once.
    let requests = 4 + roles.count + AWSProfiles.longestChain
    let program = if case .process(let process) = base { process.timeout } else { Self.processTimeout }
    return Int64(requests) * Int64(timeout) + Int64(program)
  }

  /// The name of the profile that applies, and whether somebody has written it.
  var profileName: (name: String, isExplicit: Bool) {
    if let profile { return (profile, true) }
    if let name = environment["AWS_PROFILE"] { return (name, true) }
    return (AWSProfiles.standardName, false)
  }
}

extension AWSKeySource.Base {
  /// As the configuration has it.
  public var name: String {
    switch self {
    case .fixed: "static keys"
    case .standard: "default"
    case .environment: "environment"
    case .webIdentity: "web_identity"
    case .profile: "profile"
    case .container: "container"
    case .instance: "instance"
    case .process: "credential_process"
    }
  }
}
