/// A login with a browser (RFC 6749 section 4.1, RFC 8252), as a value with inputs and actions. It has no clock, no network, no
/// file and no environment.
///
/// Times are monotonic milliseconds (`now`) and Unix seconds (`wall`). It sends the code once, and once more only if the
/// server asks for its DPoP nonce, which it does before it looks at the code. It ends once.
public struct LoginFlow: Sendable {
  public enum State: Sendable, Hashable {
    case idle
    /// The two well-known documents.
    case discovering
    /// For a listener.
    case binding
    /// RFC 9126.
    case pushing
    /// For the browser's answer, or a pasted one. Only here a code is accepted.
    case waiting
    /// The code has been sent. `LoginOptions.timeout` no longer applies, but the request's own time-out does.
    case exchanging
    case storing
    case done(LoginEnd)
  }

  private enum Phase {
    case idle
    case discovering(MetadataSearch)
    case binding
    case pushing
    case waiting
    case exchanging
    case storing(LoginStoring)
  }

  private let judgement: LoginJudgement
  private let secrets: LoginSecrets
  private var endpoints: LoginEndpoints
  private var core: LoginCore
  private var phase = Phase.idle
  private var deadline = Int64.max
  private var port: UInt16?
  /// The browser's connection that brought the code. It gets its answer when the tokens are stored.
  private var heldConnection: UInt64?

  private var policy: OAuth2Policy { judgement.policy }
  private var settings: LoginSettings { judgement.settings }
  private var options: LoginOptions { judgement.options }

  /// - Parameters:
  ///   - name: the credential's.
  ///   - policy: with a grant that has a login.
  ///   - secrets: of this login alone.
  ///   - dpopKey: of `OAuth2Policy.keyForLogin`.
  public init(
    name: String, policy: OAuth2Policy, options: LoginOptions, secrets: LoginSecrets, dpopKey: DPoPKey? = nil
  ) {
    judgement = LoginJudgement(
      name: name, policy: policy, settings: policy.login ?? LoginSettings(), options: options, dpopKey: dpopKey)
    self.secrets = secrets
    endpoints = LoginEndpoints(policy: policy)
    core = LoginCore(policy, dpopKey: dpopKey)
  }

  public var state: State {
    if let end = core.end { return .done(end) }
    return switch phase {
    case .idle: .idle
    case .discovering: .discovering
    case .binding: .binding
    case .pushing: .pushing
    case .waiting: .waiting
    case .exchanging: .exchanging
    case .storing: .storing
    }
  }

  public mutating func start(now: Int64, wall: Int64) -> [LoginAction] {
    guard case .idle = phase, core.end == nil else { return [] }
    deadline = now + max(0, options.timeout)
    attempt { (flow) throws(LoginEnd) in
      // A server may name its device endpoint in either document; it is for the hint.
      guard
        var search = flow.endpoints.search(
          needed: [.token, .authorization], wanted: [.pushedAuthorization, .deviceAuthorization])
      else { return try flow.prepare(now, wall) }
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

  /// Ends the login with the error that the body throws.
  private mutating func attempt(_ body: (inout LoginFlow) throws(LoginEnd) -> Void) {
    do throws(LoginEnd) { try body(&self) } catch { finish(error, page: .failed(error.text)) }
  }

  private mutating func flush() -> [LoginAction] {
    let isBounded =
      switch state {
      case .idle, .exchanging, .storing, .done: false
      case .discovering, .binding, .pushing, .waiting: true
      }
    let times = [isBounded ? deadline : nil, core.fetchDeadline].compactMap { $0 }
    return core.flush(wakeAt: times.min())
  }

  private mutating func take(_ input: LoginInput, _ now: Int64, _ wall: Int64) throws(LoginEnd) {
    switch (input, phase) {
    case (.answer(let id, let answer), _):
      guard let (sent, hidden) = try core.received(id, answer, now, wall) else { return }
      try received(answer, sent: sent, hiding: hidden, now, wall)
    case (.listening(let port), .binding):
      self.port = port
      try push(now, wall)
    case (.cannotListen(let why), .binding):
      throw LoginEnd(.unavailable, "cannot listen for the browser's answer: \(LogText.bounded(why))")
    case (.callback(let connection, let request), _): answer(request, on: connection, now, wall)
    case (.pasted(let line), .waiting): try pasted(line, now, wall)
    case (.browserFailed(let why), .waiting):
      core.perform(.note("The browser did not start (\(LogText.bounded(why))). Open the URL yourself."))
    case (.storeOpened, .storing(var storing)), (.stored, .storing(var storing)), (.storeFailed, .storing(var storing)):
      let end = try storing.take(input, judgement, &core, wall: wall)
      phase = .storing(storing)
      if let end { finish(end, page: .loggedIn(end.text)) }
    case (.timer, _): try timer(now, wall)
    case (.listening, _), (.cannotListen, _), (.pasted, _), (.browserFailed, _), (.storeOpened, _), (.stored, _),
      (.storeFailed, _):
      break
    }
  }

  private mutating func timer(_ now: Int64, _ wall: Int64) throws(LoginEnd) {
    switch phase {
    case .discovering, .binding, .pushing, .waiting:
      if now >= deadline { throw LoginEnd(.timedOut, "no answer within \(DurationText.of(options.timeout / 1000))") }
    case .idle, .exchanging, .storing: break
    }
    guard let id = core.lostFetch(now), let (sent, hidden) = core.received(id) else { return }
    try received(.failed(.timedOut), sent: sent, hiding: hidden, now, wall)
  }

  private mutating func received(
    _ answer: EndpointAnswer, sent: Int64, hiding hidden: [Secret], _ now: Int64, _ wall: Int64
  ) throws(LoginEnd) {
    switch phase {
    case .discovering(var search):
      let step = try search.answered(answer)
      try follow(step, search, now, wall)
    case .pushing:
      let pushed = try PushedAnswer(answer, hiding: hidden)
      show(request.url(at: try endpoints.required(.authorization), requestURI: pushed.requestURI), lifetime: pushed.lifetime)
    case .exchanging:
      switch answer.token(hiding: hidden + secrets.all, as: policy.tokenScheme) {
      case .refused(let error): throw LoginEnd(error)
      case .failed(let failure, _): throw LoginEnd(failure)
      case .token(let grant):
        let login = try judgement.complete(grant, nonce: secrets.nonce, requested: sent, now: now, wall: wall)
        phase = .storing(LoginStoring(login, &core))
      }
    case .idle, .binding, .waiting, .storing: break
    }
  }

  // MARK: Before the person's answer

  private mutating func follow(
    _ step: MetadataSearch.Step, _ search: MetadataSearch, _ now: Int64, _ wall: Int64
  ) throws(LoginEnd) {
    switch step {
    case .ask(let request):
      phase = .discovering(search)
      core.send(request, now)
    case .found(let metadata):
      endpoints.metadata = metadata
      try prepare(now, wall)
    }
  }

  /// Everything that can be refused is refused before a person sees a URL.
  private mutating func prepare(_ now: Int64, _ wall: Int64) throws(LoginEnd) {
    _ = try endpoints.required(.token)
    _ = try endpoints.required(.authorization)
    if let methods = endpoints.metadata?.challengeMethods, !methods.contains("S256") {
      // RFC 9700 section 2.1.1: without it a stolen code is worth a login.
      throw LoginEnd(.refused, "the server does not support PKCE with S256 (code_challenge_methods_supported)")
    }
    guard let listener = settings.redirectURI.listener else { return try push(now, wall) }
    phase = .binding
    core.perform(.listen(listener))
  }

  private var redirectURI: String { settings.redirectURI.text(port: port) }

  private var request: AuthorizationRequest {
    AuthorizationRequest(
      policy: policy, settings: settings, redirectURI: redirectURI, secrets: secrets, dpopKey: judgement.dpopKey)
  }

  private mutating func push(_ now: Int64, _ wall: Int64) throws(LoginEnd) {
    guard let url = try endpoints.url(.pushedAuthorization) else {
      return show(request.url(at: try endpoints.required(.authorization)), lifetime: nil)
    }
    let audience = try endpoints.audience(or: try endpoints.required(.token))
    do throws(TokenFailure) {
      phase = .pushing
      try core.sendProving(now, wall) { [request, policy] (wall) throws(TokenFailure) in
        try request.pushed(to: url, policy: policy, tokenEndpoint: audience, wall: wall)
      }
    } catch {
      throw LoginEnd(error)
    }
  }

  private mutating func show(_ url: String, lifetime: Int64?) {
    phase = .waiting
    let hints = LoginHints(
      name: judgement.name, options: options, listener: settings.redirectURI.listener, port: port,
      hasDevice: endpoints.names(.deviceAuthorization))
    for action in hints.actions(url: url, lifetime: lifetime) { core.perform(action) }
  }

  // MARK: The person's answer

  private var callback: Callback {
    Callback(
      redirectURI: settings.redirectURI, port: port, secrets: secrets, issuer: policy.issuer,
      promisesIssuer: endpoints.metadata?.promisesIssuer ?? false)
  }

  private mutating func answer(_ request: CallbackRequest, on connection: UInt64, _ now: Int64, _ wall: Int64) {
    let decision = callback.judge(request)
    let isWaiting = if case .waiting = phase { true } else { false }
    switch decision {
    case .wrongPath: core.perform(.answerBrowser(connection: connection, .wrongPath))
    case .wrongMethod: core.perform(.answerBrowser(connection: connection, .wrongMethod))
    case .code, .serverError, .otherIssuer:
      guard isWaiting else { return core.perform(.answerBrowser(connection: connection, .alreadyReceived)) }
      heldConnection = connection
      attempt { (flow) throws(LoginEnd) in try flow.follow(decision, now, wall) }
    case .notOurs: core.perform(.answerBrowser(connection: connection, .notThisLogin))
    }
  }

  private mutating func pasted(_ line: Secret, _ now: Int64, _ wall: Int64) throws(LoginEnd) {
    guard !PastedLine.trimmed(line.bytes).isEmpty else { return }
    try follow(callback.judge(pasted: line), now, wall)
  }

  private mutating func follow(_ decision: Callback.Decision, _ now: Int64, _ wall: Int64) throws(LoginEnd) {
    switch decision {
    case .code(let code): try exchange(code, now, wall)
    case .serverError(let error):
      throw LoginEnd(LoginEnd(error).exit, "the server answered: \(error.text)")
    case .otherIssuer(let why): throw LoginEnd(.refused, why)
    case .wrongPath, .wrongMethod, .notOurs:
      throw LoginEnd(
        .refused, "the pasted line is not the answer to this login; paste the whole URL at which the browser ended")
    }
  }

  private mutating func exchange(_ code: Secret, _ now: Int64, _ wall: Int64) throws(LoginEnd) {
    let endpoint = try endpoints.required(.token)
    let audience = try endpoints.audience(or: endpoint)
    do throws(TokenFailure) {
      let proof = TokenRequest.LoginProof.code(code, redirectURI: redirectURI, verifier: secrets.verifier)
      phase = .exchanging
      try core.sendProving(now, wall) { [policy] (wall) throws(TokenFailure) in
        let request = try TokenRequest(
          policy: policy, endpoint: endpoint, audience: audience, material: .init(proof: proof), wall: wall)
        return (request.http, request.secrets)
      }
    } catch {
      throw LoginEnd(error)
    }
  }

  private mutating func finish(_ end: LoginEnd, page: BrowserPage) {
    if let heldConnection { core.perform(.answerBrowser(connection: heldConnection, page)) }
    heldConnection = nil
    core.finish(end)
  }
}
