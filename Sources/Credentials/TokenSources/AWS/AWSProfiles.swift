/// The profiles of both shared files, and what one of them says about keys.
public struct AWSProfiles: Sendable {
  static let standardName = "default"
  /// Profiles that lead to each other by `source_profile`.
  static let longestChain = 8
  /// Bytes of a file.
  public static let longestFile = 1 << 20

  private let profiles: [String: [String: String]]
  /// Nobody but root and the proxy's user can have written the files.
  private let areOurs: Bool

  /// Where the first keys of a profile come from, and the roles to assume with them.
  struct Plan: Sendable, Hashable {
    enum First: Sendable, Hashable {
      case keys(IssuedAWSKeys)
      case environment, container, instance
      case webIdentity(AWSKeySource.Role, tokenFile: String)
      case program([String])
    }
    var first: First
    var roles: [AWSKeySource.Role]
  }

  struct Unusable: Error, Hashable {
    let why: String
  }

  init(config: AWSProfileFile, credentials: AWSProfileFile, areOurs: Bool) {
    // A key that both files have is that of `credentials`.
    profiles = config.profiles.merging(credentials.profiles) { $0.merging($1) { $1 } }
    self.areOurs = areOurs
  }

  /// Reads both files, by AWS's variables. Files that are not there are empty.
  /// - Throws: a file that cannot be read, or is malformed.
  init(_ environment: SourceEnvironment, through access: SourceAccess) throws(Unusable) {
    var areOurs = true
    func file(_ variable: String, _ name: String, _ kind: AWSProfileFile.Kind) throws(Unusable) -> AWSProfileFile {
      guard let path = Self.path(variable, name, environment) else { return AWSProfileFile() }
      let content: SourceAccess.File
      do throws(SourceAccess.Problem) { content = try access.read(path) } catch {
        if error.isAbsence { return AWSProfileFile() }
        throw Unusable(why: "\(path): \(error)")
      }
      areOurs = areOurs && content.isOurs
      do throws(AWSProfileFile.Malformed) { return try AWSProfileFile(content.content.bytes, kind: kind) } catch {
        throw Unusable(why: "\(path):\(error.line): the line \(error.why)")
      }
    }
    let config = try file("AWS_CONFIG_FILE", "config", .config)
    let credentials = try file("AWS_SHARED_CREDENTIALS_FILE", "credentials", .credentials)
    self.init(config: config, credentials: credentials, areOurs: areOurs)
  }

  private static func path(_ variable: String, _ name: String, _ environment: SourceEnvironment) -> String? {
    let home = environment["HOME"]
    guard let named = environment[variable] else { return home.map { "\($0)/.aws/\(name)" } }
    if named.hasPrefix("~/") { return home.map { $0 + named.dropFirst() } }
    return named
  }

  func has(_ name: String) -> Bool { profiles[name] != nil }

  /// nil if the profile does not say.
  func region(of name: String) -> String? { value("region", of: name) }

  /// What the profile says about keys; nil: nothing.
  /// - Parameter mayRun: programs of the profile may be run.
  func plan(for name: String, mayRun: Bool) throws(Unusable) -> Plan? {
    try plan(for: name, mayRun: mayRun, below: [])
  }

  private func plan(for name: String, mayRun: Bool, below: [String]) throws(Unusable) -> Plan? {
    guard profiles[name] != nil else {
      throw Unusable(why: "there is no profile '\(Self.shown(name))' in AWS's shared files")
    }
    guard !below.contains(name), below.count < Self.longestChain else {
      throw Unusable(why: "the profile '\(Self.shown(name))' leads back to itself, or through too many others")
    }
    if let arn = value("role_arn", of: name) {
      let role = try role(arn, of: name)
      if let file = value("web_identity_token_file", of: name) {
        return Plan(first: .webIdentity(role, tokenFile: file), roles: [])
      }
      var plan = try source(of: name, mayRun: mayRun, below: below)
      plan.roles.append(role)
      return plan
    }
    if let keys = try keys(of: name) { return Plan(first: .keys(keys), roles: []) }
    if let command = value("credential_process", of: name) {
      return Plan(first: .program(try program(command, of: name, mayRun: mayRun)), roles: [])
    }
    if value("sso_session", of: name) != nil || value("sso_start_url", of: name) != nil {
      throw Unusable(
        why: "the profile '\(Self.shown(name))' logs in by SSO, which the proxy does not do; a credential_process can: "
          + "aws configure export-credentials --format process")
    }
    return nil
  }

  /// With whose keys the profile's role is assumed.
  private func source(of name: String, mayRun: Bool, below: [String]) throws(Unusable) -> Plan {
    if value("mfa_serial", of: name) != nil {
      throw Unusable(
        why: "the profile '\(Self.shown(name))' asks for a code of a device (mfa_serial), which the proxy does not have")
    }
    switch (value("source_profile", of: name), value("credential_source", of: name)) {
    case (let source?, nil):
      // A profile may name itself: then its own keys are meant.
      if source == name {
        guard let keys = try keys(of: name) else { throw Unusable(why: "the profile '\(Self.shown(name))' has no keys") }
        return Plan(first: .keys(keys), roles: [])
      }
      guard let plan = try plan(for: source, mayRun: mayRun, below: below + [name]) else {
        throw Unusable(why: "the profile '\(Self.shown(source))' has no keys")
      }
      return plan
    case (nil, "Environment"?): return Plan(first: .environment, roles: [])
    case (nil, "EcsContainer"?): return Plan(first: .container, roles: [])
    case (nil, "Ec2InstanceMetadata"?): return Plan(first: .instance, roles: [])
    case (nil, _?): throw Unusable(why: "the profile '\(Self.shown(name))' has an unknown credential_source")
    case (nil, nil), (_?, _?):
      throw Unusable(why: "the profile '\(Self.shown(name))' needs either source_profile or credential_source for its role_arn")
    }
  }

  private func keys(of name: String) throws(Unusable) -> IssuedAWSKeys? {
    let (id, secret) = (value("aws_access_key_id", of: name), value("aws_secret_access_key", of: name))
    if id == nil, secret == nil { return nil }
    do throws(IssuedAWSKeys.Unfit) {
      return try IssuedAWSKeys(
        accessKeyID: id, secretAccessKey: secret, sessionToken: value("aws_session_token", of: name))
    } catch { throw Unusable(why: "the profile '\(Self.shown(name))' cannot be used: \(error.why)") }
  }

  private func role(_ arn: String, of name: String) throws(Unusable) -> AWSKeySource.Role {
    var duration = 3_600_000
    if let text = value("duration_seconds", of: name) {
      guard let seconds = Int(text), (900...43_200).contains(seconds) else {
        throw Unusable(why: "the profile '\(Self.shown(name))' has a duration_seconds that is not from 900 to 43200")
      }
      duration = seconds * 1000
    }
    return AWSKeySource.Role(
      arn: arn, sessionName: value("role_session_name", of: name) ?? AWSKeySource.Role.sessionName,
      externalID: value("external_id", of: name).map { Secret($0) }, duration: duration)
  }

  private func program(_ command: String, of name: String, mayRun: Bool) throws(Unusable) -> [String] {
    guard mayRun else {
      throw Unusable(
        why: "the profile '\(Self.shown(name))' has a credential_process, which the proxy runs with 'source: profile' only")
    }
    guard areOurs else {
      throw Unusable(
        why:
          "the credential_process of profile '\(Self.shown(name))' is not run: AWS's shared files must belong to root or to the "
          + "proxy's user, and nobody else may write them")
    }
    guard let words = CommandWords.split(command), words[0].hasPrefix("/") else {
      throw Unusable(why: "the credential_process of profile '\(Self.shown(name))' must begin with an absolute path")
    }
    return words
  }

  private func value(_ key: String, of name: String) -> String? {
    guard let value = profiles[name]?[key], !value.isEmpty else { return nil }
    return value
  }

  private static func shown(_ name: String) -> String { LogText.bounded(name, limit: 60) }
}

extension AWSProfiles {
  /// The region of the profile that applies, for what has no other one. Blocks.
  /// - Parameter profile: nil: AWS_PROFILE, or `default`.
  public static func region(profile: String?, _ environment: SourceEnvironment, through access: SourceAccess) -> String? {
    let name = AWSKeySource(profile: profile, environment: environment).profileName.name
    return (try? AWSProfiles(environment, through: access))?.region(of: name)
  }
}
