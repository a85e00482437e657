/// A login on another device (RFC 8628), as a value with inputs and actions like `LoginFlow`, of whose actions and inputs it
/// uses those without listener, browser and pasted line.
public struct DeviceFlow: Sendable {
  public enum State: Sendable, Hashable {
    case idle
    case discovering
    /// The user code has been asked for.
    case requesting
    /// For the next poll.
    case waiting
    case polling
    case storing
    case done(LoginEnd)
  }

  private struct Poll {
    let deviceCode: Secret
    var interval: PollInterval
    /// Monotonic milliseconds; nil = one runs.
    var next: Int64?
    /// Monotonic milliseconds.
    let expiry: Int64
  }

  private enum Phase {
    case idle
    case discovering(MetadataSearch)
    case requesting
    case polling(Poll)
    case storing(LoginStoring)
  }

  private let judgement: LoginJudgement
  private var endpoints: LoginEndpoints
  private var core: LoginCore
  private var phase = Phase.idle
  private var deadline = Int64.max

  /// - Parameters:
  ///   - name: the credential's.
  ///   - policy: with a grant that has a login.
  ///   - dpopKey: of `OAuth2Policy.keyForLogin`.
  public init(name: String, policy: OAuth2Policy, options: LoginOptions, dpopKey: DPoPKey? = nil) {
    judgement = LoginJudgement(
      name: name, policy: policy, settings: policy.login ?? LoginSettings(), options: options, dpopKey: dpopKey)
    endpoints = LoginEndpoints(policy: policy)
    core = LoginCore(policy, dpopKey: dpopKey)
  }

  public var state: State {
    if let end = core.end { return .done(end) }
    return switch phase {
    case .idle: .idle
    case .discovering: .discovering
    case .requesting: .requesting
    case .polling(let poll): poll.next == nil ? .polling : .waiting
    case .storing: .storing
    }
  }

  public mutating func start(now: Int64, wall: Int64) -> [LoginAction] {
    guard case .idle = phase, core.end == nil else { return [] }
    deadline = now + max(0, judgement.options.timeout)
    attempt { (flow) throws(LoginEnd) in
      guard var search = flow.endpoints.search(needed: [.token, .deviceAuthorization]) else {
        return try flow.request(now, wall)
      }
      let step = try search.start()
      try flow.follow(step, search, now, wall)
    }
    return flush()
  }

  public mutating func handle(_ input: LoginInput, now: Int64, wall: Int64) -> [LoginAction] {
    guard core.end == nil else { return [] }
    attempt { (flow) throws(LoginEnd) in try flow.take(input, now, wall) }
    return flush()
  }

  private mutating func attempt(_ body: (inout DeviceFlow) throws(LoginEnd) -> Void) {
    do throws(LoginEnd) { try body(&self) } catch { core.finish(error) }
  }

  private mutating func flush() -> [LoginAction] {
    let times: [Int64?] =
      switch phase {
      case .discovering, .requesting: [deadline]
      case .polling(let poll): [deadline, poll.expiry, poll.next]
      case .idle, .storing: []
      }
    return core.flush(wakeAt: (times + [core.fetchDeadline]).compactMap { $0 }.min())
  }

  private mutating func take(_ input: LoginInput, _ now: Int64, _ wall: Int64) throws(LoginEnd) {
    switch (input, phase) {
    case (.answer(let id, let answer), _):
      guard let (sent, hidden) = try core.received(id, answer, now, wall) else { return }
      try received(answer, sent: sent, hiding: hidden, now, wall)
    case (.storeOpened, .storing(var storing)), (.stored, .storing(var storing)), (.storeFailed, .storing(var storing)):
      let end = try storing.take(input, judgement, &core, wall: wall)
      phase = .storing(storing)
      if let end { core.finish(end) }
    case (.timer, _): try timer(now, wall)
    case (.callback(let connection, _), _): core.perform(.answerBrowser(connection: connection, .notThisLogin))
    case (.listening, _), (.cannotListen, _), (.pasted, _), (.browserFailed, _), (.storeOpened, _), (.stored, _),
      (.storeFailed, _):
      break
    }
  }

  private mutating func timer(_ now: Int64, _ wall: Int64) throws(LoginEnd) {
    switch phase {
    case .discovering, .requesting: try checkDeadline(now)
    case .polling(let poll):
      if now >= poll.expiry { throw Self.expired }
      try checkDeadline(now)
      if let next = poll.next, now >= next { return try ask(poll, now, wall) }
    case .idle, .storing: break
    }
    guard let id = core.lostFetch(now), let (sent, hidden) = core.received(id) else { return }
    try received(.failed(.timedOut), sent: sent, hiding: hidden, now, wall)
  }

  private static let expired = LoginEnd(.timedOut, "the code expired before the login was complete")

  private func checkDeadline(_ now: Int64) throws(LoginEnd) {
    guard now < deadline else {
      throw LoginEnd(.timedOut, "no answer within \(DurationText.of(judgement.options.timeout / 1000))")
    }
  }

  private mutating func received(
    _ answer: EndpointAnswer, sent: Int64, hiding hidden: [Secret], _ now: Int64, _ wall: Int64
  ) throws(LoginEnd) {
    switch phase {
    case .discovering(var search):
      let step = try search.answered(answer)
      try follow(step, search, now, wall)
    case .requesting:
      show(try DeviceAuthorization(answer, hiding: hidden), sent: sent, now)
    case .polling(let poll):
      switch answer.token(hiding: hidden, as: judgement.policy.tokenScheme) {
      case .token(let grant):
        let login = try judgement.complete(grant, nonce: nil, requested: sent, now: now, wall: wall)
        phase = .storing(LoginStoring(login, &core))
      case .refused(let error): try refused(error, poll, now)
      case .failed(let failure, let retryAfter): try failed(failure, retryAfter: retryAfter, poll, now)
      }
    case .idle, .storing: break
    }
  }

  private mutating func follow(
    _ step: MetadataSearch.Step, _ search: MetadataSearch, _ now: Int64, _ wall: Int64
  ) throws(LoginEnd) {
    switch step {
    case .ask(let request):
      phase = .discovering(search)
      core.send(request, now)
    case .found(let metadata):
      endpoints.metadata = metadata
      try request(now, wall)
    }
  }

  private mutating func request(_ now: Int64, _ wall: Int64) throws(LoginEnd) {
    let audience = try endpoints.audience(or: try endpoints.required(.token))
    let url = try endpoints.required(.deviceAuthorization)
    do throws(TokenFailure) {
      let request = try DeviceRequest(
        policy: judgement.policy, settings: judgement.settings, to: url, tokenEndpoint: audience,
        wall: wall)
      phase = .requesting
      core.send(request.http, hiding: request.secrets, now)
    } catch {
      throw LoginEnd(error)
    }
  }

  private mutating func show(_ authorization: DeviceAuthorization, sent: Int64, _ now: Int64) {
    core.perform(.note("To log in to \(judgement.name), open this URL on any device, and enter or confirm the code below it:"))
    core.perform(.print(authorization.url))
    core.perform(.print(authorization.userCode))
    if let lifetime = authorization.lifetime { core.perform(.note("The code is valid for \(DurationText.of(lifetime)).")) }
    let interval = authorization.interval
    phase = .polling(
      Poll(
        deviceCode: authorization.deviceCode, interval: interval, next: now + interval.milliseconds,
        expiry: authorization.lifetime.map { sent + $0 * 1000 } ?? .max))
  }

  // MARK: Polls

  private mutating func ask(_ poll: Poll, _ now: Int64, _ wall: Int64) throws(LoginEnd) {
    let endpoint = try endpoints.required(.token)
    let audience = try endpoints.audience(or: endpoint)
    do throws(TokenFailure) {
      let (policy, code) = (judgement.policy, poll.deviceCode)
      var poll = poll
      poll.next = nil
      phase = .polling(poll)
      try core.sendProving(now, wall) { (wall) throws(TokenFailure) in
        let request = try TokenRequest(
          policy: policy, endpoint: endpoint, audience: audience, material: .init(proof: .deviceCode(code)), wall: wall)
        return (request.http, request.secrets)
      }
    } catch {
      throw LoginEnd(error)
    }
  }

  /// RFC 8628 section 3.5.
  private mutating func refused(_ error: OAuthError, _ poll: Poll, _ now: Int64) throws(LoginEnd) {
    var poll = poll
    switch error.code {
    case .authorizationPending: break
    case .slowDown: poll.interval.slowDown()
    case .serverError, .temporarilyUnavailable: poll.interval.backOff()
    case .expiredToken: throw Self.expired
    case .accessDenied: throw LoginEnd(.refused, "the server answered: \(error.text)")
    default: throw LoginEnd(error)
    }
    wait(poll, now)
  }

  private mutating func failed(
    _ failure: TokenFailure, retryAfter: Int64?, _ poll: Poll, _ now: Int64
  ) throws(LoginEnd) {
    switch failure {
    case .timedOut, .unreachable, .status(429), .status(500...599): break
    default: throw LoginEnd(failure)
    }
    var poll = poll
    poll.interval.backOff()
    wait(poll, now, atLeast: retryAfter ?? 0)
  }

  /// A full interval after the reply.
  private mutating func wait(_ poll: Poll, _ now: Int64, atLeast least: Int64 = 0) {
    var poll = poll
    poll.next = now + max(poll.interval.milliseconds, least)
    phase = .polling(poll)
  }
}
