import Credentials
import Crypto
import EventIO
import Fetch
import Settings

/// Gets one token: waits for the credentials whose tokens it exchanges, if any, and sends the requests of a `TokenExchange`.
/// Confined to the home loop of its owner, which finds it by its id when a lane or a transfer has ended.
final class TokenFlight: EventHandler {
  let id: UInt64
  private unowned let owner: CredentialOwner
  private let policy: OAuth2Policy
  private let refreshToken: Secret?
  /// The app's token, if it is the subject.
  private let subject: Secret?
  /// What the new token is bound to; nil without DPoP.
  private let dpopKey: DPoPKey?
  private var exchange: TokenExchange
  /// nil: it exchanges no token of another credential.
  private let sources: SourceTokens?
  /// The exchange was refused before, and a source has another token since.
  private var isRepeat = false
  /// Monotonic milliseconds.
  private let began: Int64
  private var transfer: FetchTransfer?
  /// Milliseconds of `bootTimeMilliseconds` before which the next token request goes out, or not at all; nil: at any time.
  private var notAfter: Int64?
  private let then: (TokenAnswer, TokenExchange) -> Void

  /// - Parameters:
  ///   - exchange: as the last flight left it.
  ///   - notAfter: the first token request goes out before, in milliseconds of `bootTimeMilliseconds`, or not at all; what the server asks
  ///     to be repeated, a time-out later. nil: at any time.
  ///   - then: called once, unless the flight is cancelled.
  init(
    _ id: UInt64, of owner: CredentialOwner, _ policy: OAuth2Policy, _ exchange: TokenExchange, refreshToken: Secret? = nil,
    subject: Secret? = nil, dpopKey: DPoPKey?, notAfter: Int64? = nil, then: @escaping (TokenAnswer, TokenExchange) -> Void
  ) {
    self.id = id
    self.owner = owner
    self.policy = policy
    self.exchange = exchange
    self.refreshToken = refreshToken
    self.subject = subject
    self.dpopKey = dpopKey
    self.notAfter = notAfter
    self.then = then
    began = owner.now
    sources = policy.sourceNames.isEmpty ? nil : SourceTokens(of: owner.setup, policy, on: owner.desk)
  }

  private var loop: EventLoop { owner.loop }

  func begin() {
    guard let sources else { return start(subject: subject, actor: nil) }
    sources.obtain { [unowned self] result in
      switch result {
      case .success(let tokens): start(subject: tokens.subject ?? subject, actor: tokens.actor)
      case .failure(let failure): finish(.failed(failure))
      }
    }
  }

  /// Its result is not wanted any more.
  func cancel() {
    sources?.cancel()
    transfer?.cancel()
    transfer = nil
    loop.forget(self)
  }

  /// The deadline that its owner has set, if any.
  override func expired(on loop: EventLoop) {
    cancel()
    // What it leaves has no token in it.
    exchange.abandon()
    then(.failed(.timedOut), exchange)
  }

  /// An exchange after a step, and the step that comes next.
  struct Progress: Sendable {
    let step: TokenExchange.Step
    let exchange: TokenExchange
    init(_ step: TokenExchange.Step, _ exchange: TokenExchange) {
      self.step = step
      self.exchange = exchange
    }
  }

  private func start(subject: Secret?, actor: Secret?) {
    let (sources, started, refreshToken, dpopKey) = (owner.setup.sources, exchange, refreshToken, dpopKey)
    let (id, now, wall) = (id, owner.now, wallClockSeconds())
    // The lane reads and signs assertions: files, programs and keys may take their time.
    let runsProgram = sources.runProgram || policy.source?.runsPrograms == true
    owner.inLane(runsProgram ? .helpers : .files) {
      var exchange = started
      do {
        var material = try sources.material(refreshToken: refreshToken)
        material.subject = subject ?? material.subject
        material.actor = actor ?? material.actor
        material.dpopKey = dpopKey
        material.access = .system
        return Progress(exchange.start(material, now: now, wall: wall), exchange)
      } catch {
        return Progress(exchange.failed(.secretUnreadable("\(error)")), exchange)
      }
    } then: { owner, progress in
      owner.flight(id)?.advance(progress)
    }
  }

  private func advance(_ progress: Progress?) {
    guard let progress else {
      let failure = TokenFailure.unreachable("too much work waits in the proxy")
      exchange.abandon()
      return finish(.failed(failure))
    }
    exchange = progress.exchange
    switch progress.step {
    case .finished(let answer): finish(answer)
    case .send(let http): send(http)
    }
  }

  private func send(_ http: TokenHTTPRequest) {
    var request: HTTPFetch
    do throws(OpenSSLError) { request = try HTTPFetch(http, timeout: policy.timeout) } catch {
      let step = exchange.failed(.signing(error.message))
      return advance(Progress(step, exchange))
    }
    request.send(notAfter: notAfter)
    if request.method == .post { notAfter = notAfter.map { $0 + Int64(policy.timeout) } }
    let setup = owner.setup
    transfer = owner.desk.fetch.start(request, under: setup.trust, with: setup.certificate) { [weak self] in
      self?.fetched($0)
    }
  }

  private func fetched(_ outcome: HTTPFetch.Outcome) {
    transfer = nil
    let (id, sent, now, wall) = (id, exchange, owner.now, wallClockSeconds())
    switch outcome {
    case .success(let answer):
      // A token request follows discovery. It may need a signature.
      owner.inLane(.files) {
        var exchange = sent
        let step = exchange.answered(
          status: answer.status, retryAfter: answer.retryAfter, dpopNonce: answer.dpopNonce, date: answer.date,
          metadataFlavor: answer.metadataFlavor, body: answer.body, now: now, wall: wall)
        return Progress(step, exchange)
      } then: { owner, progress in
        owner.flight(id)?.advance(progress)
      }
    case .failure(let failure):
      var exchange = sent
      let step = exchange.failed(TokenFailure(failure))
      advance(Progress(step, exchange))
    }
  }

  private func finish(_ answer: TokenAnswer) {
    guard let sources else { return end(answer) }
    guard case .refused(let error) = answer, error.mayConcernToken else {
      if case .token = answer, let version = sources.actorVersion { owner.actorServed(version) }
      sources.settle(isRefused: false)
      return end(answer)
    }
    guard !isRepeat else {
      // A user's token may be the reason. All users share the actor's, so that one must not have it suspected.
      if subject == nil { sources.settle(isRefused: true) }
      return end(answer)
    }
    if subject != nil {
      guard let version = sources.actorVersion, owner.blamesActor(version, began: began) else { return end(answer) }
    }
    isRepeat = true
    sources.refresh { [unowned self] tokens in
      guard let tokens else { return end(answer) }
      start(subject: tokens.subject ?? subject, actor: tokens.actor)
    }
  }

  private func end(_ answer: TokenAnswer) {
    loop.forget(self)
    then(answer, exchange)
  }
}
