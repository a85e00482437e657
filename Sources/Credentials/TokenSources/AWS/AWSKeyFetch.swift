/// The steps to temporary keys: read what the source says, ask the server that it names, then assume each role.
struct AWSKeyFetch: SourceSteps {
  let source: AWSKeySource
  /// What `default` has chosen.
  private var chosen: AWSKeySource.Base?
  /// Seconds that the clock of STS is ahead of ours. Known once it has refused a signature.
  private var clockOffset: Int64 = 0
  /// What the metadata service handed out last, and the seconds that its clock was ahead of ours then.
  private var lastOfInstance: (keys: IssuedAWSKeys, clockOffset: Int64)?

  private var phase = Phase.idle
  private var run = Run()
  /// Unix seconds, of the last input.
  private var wall: Int64 = 0

  private enum Phase: Sendable {
    case idle
    case container
    case instance(InstanceMetadata)
    case webIdentity(secrets: [Secret])
    case role(index: Int, keys: AWSKeys, isRepeat: Bool)
  }

  /// What one fetch knows.
  private struct Run: Sendable {
    var roles: [AWSKeySource.Role] = []
    var sts: STSRequest.Endpoint?
    /// The first keys are the metadata service's.
    var isOfInstance = false
    var warning: String?
  }

  init(_ source: AWSKeySource) { self.source = source }

  mutating func forget() {
    phase = .idle
    run = Run()
  }

  mutating func chooseAgain() { chosen = nil }

  mutating func start(_ access: SourceAccess, wall: Int64) -> TokenExchange.Step {
    self.wall = wall
    do throws(AWSProfiles.Unusable) { return try begin(access) } catch { return .failed(.unfit(error.why)) }
  }

  // MARK: What the source says

  private mutating func begin(_ access: SourceAccess) throws(AWSProfiles.Unusable) -> TokenExchange.Step {
    run = Run()
    var profiles: AWSProfiles?
    func read() throws(AWSProfiles.Unusable) -> AWSProfiles {
      if let profiles { return profiles }
      let found = try AWSProfiles(source.environment, through: access)
      profiles = found
      return found
    }
    let base: AWSKeySource.Base
    if let chosen { base = chosen } else { base = try choose(read) }
    let first: AWSProfiles.Plan.First
    switch base {
    case .fixed(let keys): first = .keys(IssuedAWSKeys(keys))
    case .environment: first = .environment
    case .webIdentity: first = try webIdentity()
    case .container: first = .container
    case .instance, .standard: first = .instance
    case .process(let process): first = .program(process.arguments)
    case .profile:
      let name = source.profileName.name
      guard let plan = try read().plan(for: name, mayRun: source.base == .profile) else {
        throw AWSProfiles.Unusable(why: "the profile '\(LogText.bounded(name, limit: 60))' has no keys")
      }
      first = plan.first
      run.roles = plan.roles
    }
    run.roles += source.roles
    var needsSTS = !run.roles.isEmpty
    if case .webIdentity = first { needsSTS = true }
    if needsSTS {
      let region = try source.region == nil ? read().region(of: source.profileName.name) : nil
      run.sts = STSRequest.endpoint(source, profileRegion: region)
      guard run.sts != nil else {
        throw AWSProfiles.Unusable(why: "no region is known for STS; write 'sts' or 'region', or set AWS_REGION")
      }
    }
    // The metadata service is asked where nothing else has anything, so it counts once it has handed out keys.
    if source.base == .standard, base != .instance { chosen = base }
    return try begin(first, access)
  }

  /// The first of AWS's order that has something.
  private func choose(
    _ profiles: () throws(AWSProfiles.Unusable) -> AWSProfiles
  ) throws(AWSProfiles.Unusable) -> AWSKeySource.Base {
    guard source.base == .standard else { return source.base }
    let environment = source.environment
    if environment["AWS_ACCESS_KEY_ID"] != nil || environment["AWS_SECRET_ACCESS_KEY"] != nil { return .environment }
    if environment["AWS_WEB_IDENTITY_TOKEN_FILE"] != nil { return .webIdentity }
    let (name, isExplicit) = source.profileName
    let known = try profiles()
    if isExplicit { return .profile }
    if known.has(name), try known.plan(for: name, mayRun: false) != nil { return .profile }
    if ContainerEndpoint.isNamed(in: environment) { return .container }
    if InstanceMetadata.isDisabled(by: environment) {
      throw AWSProfiles.Unusable(
        why:
          "there are no AWS keys: not in the environment, in a token file, in AWS's shared files, nor in a container's endpoint, "
          + "and AWS_EC2_METADATA_DISABLED is set")
    }
    return .instance
  }

  private func webIdentity() throws(AWSProfiles.Unusable) -> AWSProfiles.Plan.First {
    let environment = source.environment
    guard let file = environment["AWS_WEB_IDENTITY_TOKEN_FILE"], let arn = environment["AWS_ROLE_ARN"] else {
      throw AWSProfiles.Unusable(why: "AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN are not both set")
    }
    let name = environment["AWS_ROLE_SESSION_NAME"] ?? AWSKeySource.Role.sessionName
    return .webIdentity(AWSKeySource.Role(arn: arn, sessionName: name), tokenFile: file)
  }

  private mutating func begin(
    _ first: AWSProfiles.Plan.First, _ access: SourceAccess
  ) throws(AWSProfiles.Unusable) -> TokenExchange.Step {
    switch first {
    case .keys(let keys): return proceed(with: keys, after: 0, time: wall)
    case .environment: return proceed(with: try environmentKeys(), after: 0, time: wall)
    case .container:
      phase = .container
      return .send(try ContainerEndpoint(source.environment).request(access))
    case .instance:
      guard !InstanceMetadata.isDisabled(by: source.environment) else {
        throw AWSProfiles.Unusable(why: "AWS_EC2_METADATA_DISABLED is set, so the metadata service is not asked")
      }
      run.isOfInstance = true
      let metadata = InstanceMetadata(source.environment)
      phase = .instance(metadata)
      return .send(metadata.request)
    case .webIdentity(let role, let path):
      // Read for each fetch: its issuer replaces it before it expires.
      let token: Secret
      do throws(SourceAccess.Problem) { token = Self.trimmed(try access.read(path).content) } catch {
        return .failed(.secretUnreadable("\(path): \(error)"))
      }
      guard TokenResponse.isAccessToken(token.bytes), let sts = run.sts else {
        return .failed(.secretUnreadable("\(path) is not a token"))
      }
      phase = .webIdentity(secrets: [token])
      return .send(STSRequest.webIdentity(role, token: token, at: sts))
    case .program(let arguments):
      let timeout = if case .process(let process) = source.base { process.timeout } else { AWSKeySource.processTimeout }
      let name = arguments.first ?? ""
      do throws(SourceAccess.Problem) {
        let output = try access.run(.init(arguments: arguments, environment: source.environment.list, timeout: timeout))
        do throws(IssuedAWSKeys.Unfit) {
          return proceed(with: try .process(output.bytes), after: 0, time: wall)
        } catch { return .failed(.server("the output of credential_process \(name) cannot be used: \(error.why)")) }
      } catch { return .failed(.server("credential_process \(name): \(error)")) }
    }
  }

  private func environmentKeys() throws(AWSProfiles.Unusable) -> IssuedAWSKeys {
    let environment = source.environment
    do throws(IssuedAWSKeys.Unfit) {
      return try IssuedAWSKeys(
        accessKeyID: environment["AWS_ACCESS_KEY_ID"], secretAccessKey: environment["AWS_SECRET_ACCESS_KEY"],
        sessionToken: environment["AWS_SESSION_TOKEN"],
        expiry: try environment["AWS_CREDENTIAL_EXPIRATION"].map(IssuedAWSKeys.time))
    } catch { throw AWSProfiles.Unusable(why: "AWS_ACCESS_KEY_ID and its kin cannot be used: \(error.why)") }
  }

  static func trimmed(_ secret: Secret) -> Secret {
    var bytes = secret.bytes[...]
    while let last = bytes.last, last == 0x0a || last == 0x0d || last == 0x20 { bytes.removeLast() }
    return Secret(Array(bytes))
  }

  // MARK: Answers

  mutating func answered(_ reply: SourceReply, wall: Int64) -> TokenExchange.Step {
    self.wall = wall
    let time = reply.time(at: wall)
    switch phase {
    case .idle: return .failed(.malformed("it came unasked"))
    case .container:
      do throws(TokenFailure) { return proceed(with: try ContainerEndpoint.keys(reply), after: 0, time: time) } catch {
        return .failed(error, retryAfter: reply.wait)
      }
    case .instance(var metadata):
      switch metadata.answered(reply) {
      case .next(let request):
        phase = .instance(metadata)
        return .send(request)
      case .keys(let keys):
        lastOfInstance = (keys, time - wall)
        if source.base == .standard { chosen = .instance }
        return proceed(with: keys, after: 0, time: time)
      case .failed(let failure): return withLastKeys(failure, retryAfter: reply.wait)
      }
    case .webIdentity(let secrets):
      switch Self.keys(in: reply, action: "AssumeRoleWithWebIdentity", hiding: secrets) {
      case .success(let keys): return proceed(with: keys, after: 0, time: time)
      case .failure(let refusal): return .finished(refusal.answer)
      }
    case .role(let index, let keys, let isRepeat):
      let secrets = [keys.secretAccessKey] + [keys.sessionToken, run.roles[index].externalID].compactMap { $0 }
      switch Self.keys(in: reply, action: "AssumeRole", hiding: secrets) {
      case .success(let issued): return proceed(with: issued, after: index + 1, time: time)
      case .failure(let refusal):
        if !isRepeat, refusal.mayBeClock, let offset = reply.clockOffset(at: wall), abs(offset - clockOffset) > Self.tolerance {
          clockOffset = offset
          return assume(index, with: keys, isRepeat: true)
        }
        return .finished(refusal.answer)
      }
    }
  }

  /// Seconds. STS takes signatures that are 5 minutes old.
  private static let tolerance: Int64 = 240

  mutating func failed(_ failure: TokenFailure) -> TokenExchange.Step {
    switch phase {
    case .idle: return .failed(failure)
    case .container: return .failed(.server(failure.described(of: ContainerEndpoint.name)))
    case .instance(let metadata): return withLastKeys(metadata.described(failure), retryAfter: nil)
    case .webIdentity, .role: return .failed(.server(failure.described(of: "AWS STS")))
    }
  }

  /// The metadata service is down. AWS asks to go on with its last keys, also with expired ones.
  private mutating func withLastKeys(_ failure: TokenFailure, retryAfter: Int64?) -> TokenExchange.Step {
    // They end by the service's clock, which is silent now.
    guard let (keys, clockOffset) = lastOfInstance, let expiry = keys.expiry, expiry <= wall + clockOffset else {
      return .failed(failure, retryAfter: retryAfter)
    }
    run.warning = "\(failure)"
    return proceed(with: keys, after: 0, time: wall + clockOffset)
  }

  private struct Refusal: Error {
    let answer: TokenAnswer
    /// A signature can be refused because our clock is wrong.
    var mayBeClock = false
  }

  private static func keys(
    in reply: SourceReply, action: String, hiding secrets: [Secret]
  ) -> Result<IssuedAWSKeys, Refusal> {
    let server = "AWS STS"
    func failure(_ failure: TokenFailure) -> Result<IssuedAWSKeys, Refusal> {
      .failure(Refusal(answer: .failed(.server(failure.described(of: server)), retryAfter: reply.wait)))
    }
    switch reply.status {
    case 200:
      do throws(IssuedAWSKeys.Unfit) { return .success(try .sts(reply.body, action: action)) } catch {
        return failure(.malformed(error.why))
      }
    case 300..<400: return failure(.redirected)
    case 400..<500 where reply.status != 429:
      guard let error = STSError(reply.body) else {
        var answer = TokenAnswer.failed(
          .server(TokenFailure.status(reply.status).described(of: server)), retryAfter: reply.wait)
        if reply.status == 401 || reply.status == 403 {
          answer = .refused(OAuthError(code: .other, text: "\(server) answered with status \(reply.status)"))
        }
        return .failure(Refusal(answer: answer, mayBeClock: true))
      }
      let text = "\(server) says \(error.text(hiding: secrets))"
      if error.isTransient { return .failure(Refusal(answer: .failed(.server(text), retryAfter: reply.wait))) }
      return .failure(
        Refusal(answer: .refused(OAuthError(code: .other, text: text)), mayBeClock: error.code != "AccessDenied"))
    default: return failure(.status(reply.status))
    }
  }

  // MARK: Roles

  /// Assumes the next role, or ends with these keys.
  /// - Parameter time: Unix seconds by the clock of whoever has issued them.
  private mutating func proceed(with issued: IssuedAWSKeys, after done: Int, time: Int64) -> TokenExchange.Step {
    guard done >= run.roles.count else { return assume(done, with: issued.keys, isRepeat: false) }
    var grant = TokenGrant(accessToken: issued.keys.token, lifetime: AWSKeySource.reading)
    guard let expiry = issued.expiry else { return .finished(.token(grant)) }
    let left = expiry - time
    if left > 0 {
      grant.lifetime = min(left, TokenResponse.maximumLifetime)
      return .finished(.token(grant))
    }
    guard run.isOfInstance, run.roles.isEmpty else { return .failed(.expiredOnArrival) }
    grant.lifetime = InstanceMetadata.extension
    let why = run.warning.map { ": \($0)" } ?? ""
    grant.warning = "the metadata service has no newer keys than expired ones, which stay in use\(why)"
    return .finished(.token(grant))
  }

  private mutating func assume(_ index: Int, with keys: AWSKeys, isRepeat: Bool) -> TokenExchange.Step {
    guard let sts = run.sts else { return .failed(.unfit("no region is known for STS")) }
    phase = .role(index: index, keys: keys, isRepeat: isRepeat)
    return .send(STSRequest.assume(run.roles[index], with: keys, at: sts, time: wall + clockOffset))
  }
}
