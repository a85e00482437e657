/// A token that a logout revokes (RFC 7009 section 2.1).
public struct RevocableToken: Sendable, Hashable {
  public enum Hint: String, Sendable, Hashable {
    case refreshToken = "refresh_token"
    case accessToken = "access_token"
  }
  public var token: Secret
  public var hint: Hint
  public init(_ token: Secret, hint: Hint) {
    self.token = token
    self.hint = hint
  }
}

/// The requests of a logout, as a value with inputs and actions like `LoginFlow`: `answer` and `timer`; `fetch`, `cancelFetch`,
/// `note`, `wakeAt` and `finish`. The owner starts it after the tombstone is in the store, so that the login is over whatever
/// the server says. Tokens are revoked in the given order.
public struct LogoutFlow: Sendable {
  public enum State: Sendable, Hashable {
    case idle
    case discovering
    case revoking
    /// The server named a time.
    case waiting
    case done(LoginEnd)
  }

  private enum Phase {
    case idle
    case discovering(MetadataSearch)
    case revoking
    case waiting(until: Int64)
  }

  /// Those that may still be valid at the server. After an exit other than `done` they are for the next logout.
  public private(set) var unrevoked: [RevocableToken]

  private let name: String
  private let policy: OAuth2Policy
  private var endpoints: LoginEndpoints
  private var core: LoginCore
  private var phase = Phase.idle
  /// How many of `unrevoked`, from the first one, the server has refused to revoke.
  private var refusedCount = 0
  private var refusal: LoginEnd?
  /// Monotonic milliseconds; no wait may last longer.
  private var patience = Int64.max

  /// - Parameters:
  ///   - name: the credential's.
  ///   - policy: with any grant that has tokens in a store.
  public init(name: String, policy: OAuth2Policy, tokens: [RevocableToken]) {
    self.name = name
    self.policy = policy
    unrevoked = tokens
    endpoints = LoginEndpoints(policy: policy)
    core = LoginCore(policy)
  }

  public var state: State {
    if let end = core.end { return .done(end) }
    return switch phase {
    case .idle: .idle
    case .discovering: .discovering
    case .revoking: .revoking
    case .waiting: .waiting
    }
  }

  public mutating func start(now: Int64, wall: Int64) -> [LoginAction] {
    guard case .idle = phase, core.end == nil else { return [] }
    attempt { (flow) throws(LoginEnd) in
      guard !flow.unrevoked.isEmpty, flow.mustDiscover,
        var search = flow.endpoints.search(needed: [], wanted: [.token, .revocation])
      else { return try flow.begin(now, wall) }
      let step = try search.start()
      try flow.follow(step, search, now, wall)
    }
    return flush()
  }

  public mutating func handle(_ input: LoginInput, now: Int64, wall: Int64) -> [LoginAction] {
    guard core.end == nil else { return [] }
    attempt { (flow) throws(LoginEnd) in
      switch input {
      case .answer(let id, let answer):
        guard let received = flow.core.received(id) else { return }
        try flow.received(answer, hiding: received.secrets, now, wall)
      case .timer:
        if case .waiting(let until) = flow.phase, now >= until { return try flow.revoke(now, wall) }
        guard let id = flow.core.lostFetch(now), let received = flow.core.received(id) else { return }
        try flow.received(.failed(.timedOut), hiding: received.secrets, now, wall)
      case .listening, .cannotListen, .callback, .pasted, .browserFailed, .storeOpened, .stored, .storeFailed: break
      }
    }
    return flush()
  }

  private mutating func attempt(_ body: (inout LogoutFlow) throws(LoginEnd) -> Void) {
    do throws(LoginEnd) { try body(&self) } catch {
      // A refusal is final. Otherwise `unrevoked` waits in the store.
      let remedy = error.exit == .unavailable ? "; run the command again to revoke the tokens" : ""
      core.finish(LoginEnd(error.exit, "logged out of \(name) here, but not at the server: \(error.text)\(remedy)"))
    }
  }

  private mutating func flush() -> [LoginAction] {
    let end: Int64? = if case .waiting(let until) = phase { until } else { nil }
    return core.flush(wakeAt: [end, core.fetchDeadline].compactMap { $0 }.min())
  }

  /// A signed assertion needs the token endpoint as its audience.
  private var mustDiscover: Bool {
    policy.signsAssertions || endpoints.explicit(.revocation) == nil
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
      try begin(now, wall)
    }
  }

  private mutating func begin(_ now: Int64, _ wall: Int64) throws(LoginEnd) {
    let endpoint = unrevoked.isEmpty ? nil : try endpoints.url(.revocation)
    if endpoint == nil, !unrevoked.isEmpty {
      core.perform(.note("warning: the server has no revocation endpoint, so its tokens stay valid until they expire"))
      unrevoked = []
    }
    patience = now + Int64(policy.timeout)
    try revoke(now, wall)
  }

  /// The next token, or the end.
  private mutating func revoke(_ now: Int64, _ wall: Int64) throws(LoginEnd) {
    guard refusedCount < unrevoked.count else {
      if let refusal { throw refusal }
      return core.finish(LoginEnd(.done, "logged out of \(name)"))
    }
    let token = unrevoked[refusedCount]
    let endpoint = try endpoints.required(.revocation)
    let audience = try endpoints.audience(or: endpoint)
    var form = EndpointForm()
    form.add(secret: "token", token.token)
    form.add("token_type_hint", token.hint.rawValue)
    do throws(TokenFailure) {
      try form.authenticate(policy, tokenEndpoint: audience, assertion: .addedBySender, wall: wall)
    } catch {
      throw LoginEnd(error)
    }
    phase = .revoking
    core.send(form.request(to: endpoint), hiding: form.secrets, now)
  }

  private mutating func received(
    _ answer: EndpointAnswer, hiding hidden: [Secret], _ now: Int64, _ wall: Int64
  ) throws(LoginEnd) {
    switch phase {
    case .discovering(var search):
      let step = try search.answered(answer)
      try follow(step, search, now, wall)
    case .revoking:
      switch RevocationAnswer(answer, hiding: hidden) {
      case .revoked: unrevoked.remove(at: refusedCount)
      case .refused(let end):
        // The other token may be revocable.
        refusal = refusal ?? end
        refusedCount += 1
      case .unavailable(let end, let retryAfter):
        guard let retryAfter, now + retryAfter <= patience else { throw end }
        phase = .waiting(until: now + retryAfter)
        return
      }
      try revoke(now, wall)
    case .idle, .waiting: break
    }
  }
}
