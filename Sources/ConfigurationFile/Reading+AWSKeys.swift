import Credentials
import Settings

/// Reads where a `sigv4` credential's keys come from.
extension Reading {
  /// nil after an error.
  /// - Parameter fixed: the keys of the configuration, for a role.
  func awsKeySource(
    _ section: Section<SigV4Keys>, trust: TrustRules, allowUntrusted: Bool, fixed: AWSKeys? = nil
  ) -> SigV4Policy.Keys? {
    let base = fixed.map { .fixed($0) } ?? base(section)
    let profile = section.read(\.keySource.profile)
    let roles = roles(section)
    let sts = stsURL(section)
    let region = section.read(\.region)?.items.map(\.text.value) ?? []
    let refreshBefore = section.read(\.keySource.refreshBeforeExpiry)
    let trustName = section.read(\.keySource.trust)
    let environment = SourceEnvironment(environment)
    var server: AskedServer?
    if case .known(let url)? = sts, base.map({ mayAsk($0, roles) }) == true {
      server = AskedServer(name: "STS", isHTTPS: url?.isHTTPS ?? true, place: section.place)
    }
    if server?.isHTTPS != true, let base, [.container, .standard].contains(base), ContainerEndpoint.isSecure(in: environment) {
      server = AskedServer(name: "the container's endpoint for keys", isHTTPS: true, place: section.place)
    }
    let isTrusted = checkTrust(
      of: server, section, \.keySource.trust, trustName, trust, allowUntrusted: allowUntrusted)
    guard let base, let roles, case .known(let url)? = sts, isTrusted, profile != nil || !section.has(\.keySource.profile)
    else {
      return nil
    }
    let source = AWSKeySource(
      base: base, profile: profile?.value, roles: roles, sts: url?.text,
      region: region.count == 1 && region[0] != SigV4Keys.automatic ? region[0] : nil, environment: environment)
    // Which answers refuse a key, the signer knows.
    return .fetched(
      OAuth2Policy(
        source: .aws(source), server: url?.text ?? "", refreshBeforeExpiry: refreshBefore, retryStatuses: [],
        trust: trustName?.value))
  }

  /// The region of the profile that `awsKeySource` uses; nil: it says none.
  func awsProfileRegion(_ section: Section<SigV4Keys>) -> String? {
    return AWSProfiles.region(
      profile: section.read(\.keySource.profile)?.value, SourceEnvironment(environment), through: SourceAccess(system))
  }

  /// Whether these keys may come from STS. A profile may name a role.
  private func mayAsk(_ base: AWSKeySource.Base, _ roles: [AWSKeySource.Role]?) -> Bool {
    if roles?.isEmpty == false { return true }
    switch base {
    case .standard, .webIdentity, .profile: return true
    case .fixed, .environment, .container, .instance, .process: return false
    }
  }

  private func base(_ section: Section<SigV4Keys>) -> AWSKeySource.Base? {
    switch section.read(\.keySource.source) {
    case nil: return section.has(\.keySource.source) ? nil : .standard
    case .text(let text, let path)?:
      switch AWSKeySourceKeys.Source(rawValue: text.value) {
      case .standard?: return .standard
      case .environment?: return .environment
      case .profile?: return .profile
      case .container?: return .container
      case .instance?: return .instance
      case .webIdentity?: return .webIdentity
      case nil:
        error(
          text.place,
          "\(path.shown) \(notAmong(text.value, AWSKeySourceKeys.Source.allCases.map(\.rawValue))); or {command: [...]}")
        return nil
      }
    case .section(let program)?:
      let arguments = program.read(\.command)
      let timeout = program.read(\.timeout)
      guard let arguments, let words = programWords(arguments.map(\.text), program, \.command) else { return nil }
      return .process(AWSKeySource.Process(arguments: words, timeout: timeout))
    }
  }

  private enum STS {
    /// nil: the region's.
    case known((text: String, isHTTPS: Bool)?)
  }

  /// nil after an error.
  private func stsURL(_ section: Section<SigV4Keys>) -> STS? {
    let reason = "the proxy sends tokens there"
    if let text = section.read(\.keySource.sts) {
      return serverURL(text, section.path(\.keySource.sts), because: reason).map { .known((text.value, $0.isHTTPS)) }
    }
    if section.has(\.keySource.sts) { return nil }
    let variable = "AWS_ENDPOINT_URL_STS"
    guard let value = environment[variable], !value.isEmpty else { return .known(nil) }
    guard let url = try? URLText(parsing: value), url.isHTTPS || url.isLoopback else {
      error(section.place, "\(section.path.shown): \(variable) must be a URL, https unless it is on loopback: \(reason)")
      return nil
    }
    return .known((value, url.isHTTPS))
  }

  // MARK: Roles

  /// Most roles of a chain.
  private static let mostRoles = 8

  /// nil after an error.
  private func roles(_ section: Section<SigV4Keys>) -> [AWSKeySource.Role]? {
    guard let listed = section.read(\.keySource.assumeRole) else { return section.has(\.keySource.assumeRole) ? nil : [] }
    let roles = listed.items.compactMap(role)
    let path = section.path(\.keySource.assumeRole).shown
    if listed.items.isEmpty, listed.isWhole {
      error(listed.place, "\(path) is empty")
      return nil
    }
    if listed.items.count > Self.mostRoles {
      error(listed.place, "\(path) has more than \(Self.mostRoles) roles")
      return nil
    }
    return listed.isWhole && roles.count == listed.items.count ? roles : nil
  }

  private func role(_ section: Section<AssumeRoleKeys>) -> AWSKeySource.Role? {
    let arn = section.read(\.roleARN)
    let name = section.read(\.sessionName)
    let externalID = section.read(\.externalID)
    let duration = section.read(\.duration)
    var isGood = true
    if let arn {
      let parts = arn.value.split(separator: ":", maxSplits: 5, omittingEmptySubsequences: false)
      if parts.count < 6 || parts[0] != "arn" || parts[2] != "iam" || !parts[5].hasPrefix("role/") {
        error(
          arn.place,
          "\(section.path(\.roleARN).shown) must be like arn:aws:iam::123456789012:role/name, not \(shown(arn.value))")
        isGood = false
      }
    }
    if let name, !(2...64).contains(name.value.utf8.count) || !isPlain(name.value.utf8, with: "_+=,.@-") {
      error(
        name.place,
        "\(section.path(\.sessionName).shown) must consist of 2 to 64 letters, digits and _+=,.@-, not \(shown(name.value))")
      isGood = false
    }
    if let externalID {
      if !(2...1_224).contains(externalID.value.bytes.count) || !isPlain(externalID.value.bytes, with: "_+=,.@:/-") {
        error(
          externalID.place, "\(section.path(\.externalID).shown) must consist of 2 to 1224 letters, digits and _+=,.@:/-")
        isGood = false
      }
    } else if section.has(\.externalID) {
      isGood = false
    }
    guard let arn, isGood, name != nil || !section.has(\.sessionName) else { return nil }
    return AWSKeySource.Role(
      arn: arn.value, sessionName: name?.value ?? AWSKeySource.Role.sessionName, externalID: externalID?.value,
      duration: duration)
  }

  private func isPlain(_ bytes: some Sequence<UInt8>, with more: String) -> Bool {
    bytes.allSatisfy { byte in
      (byte >= 0x30 && byte <= 0x39) || (byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7a) || more.utf8.contains(byte)
    }
  }
}
