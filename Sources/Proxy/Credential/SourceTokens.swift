import Credentials
import EventIO

/// The tokens of other credentials that one exchange needs. Confined to a loop; waits as a request does.
final class SourceTokens {
  struct Pair {
    var subject: Secret?
    var actor: Secret?
  }

  private let subject: SourceToken?
  private let actor: SourceToken?

  init(of setup: CredentialSetup, _ policy: OAuth2Policy, on desk: CredentialDesk) {
    func token(_ party: ExchangeSettings.Party?) -> SourceToken? {
      guard case .credential(let name)? = party?.source, let source = setup.exchanged.first(where: { $0.name == name }) else {
        return nil
      }
      return SourceToken(desk.view(of: source), for: setup.name)
    }
    subject = token(policy.exchange?.subject)
    actor = token(policy.exchange?.actor)
  }

  private var all: [SourceToken] { [subject, actor].compactMap { $0 } }
  /// Version of the actor's token; nil: there is none yet, or the actor is no credential.
  var actorVersion: UInt64? { actor?.number }
  private var pair: Pair { Pair(subject: subject?.token, actor: actor?.token) }

  /// Waits for a token of each.
  func obtain(then: @escaping (Result<Pair, TokenFailure>) -> Void) { obtain(all[...], then) }

  private func obtain(_ rest: ArraySlice<SourceToken>, _ then: @escaping (Result<Pair, TokenFailure>) -> Void) {
    guard let next = rest.first else { return then(.success(pair)) }
    next.obtain { [unowned self] failure in
      if let failure { return then(.failure(failure)) }
      obtain(rest.dropFirst(), then)
    }
  }

  /// After a refusal: has each refreshed, as if an API had refused it.
  /// - Parameter then: gets nil if none has another token.
  func refresh(then: @escaping (Pair?) -> Void) { refresh(all[...], hasChanged: false, then) }

  private func refresh(_ rest: ArraySlice<SourceToken>, hasChanged: Bool, _ then: @escaping (Pair?) -> Void) {
    guard let next = rest.first else { return then(hasChanged ? pair : nil) }
    next.refresh { [unowned self] isOther in refresh(rest.dropFirst(), hasChanged: hasChanged || isOther, then) }
  }

  /// The exchange has ended.
  /// - Parameter isRefused: again, although the tokens were refreshed.
  func settle(isRefused: Bool) { for token in all { token.settle(isRefused: isRefused) } }

  func cancel() { for token in all { token.cancel() } }
}

/// The token of another credential. To that credential it is a request like any other.
private final class SourceToken: CredentialWaiter {
  private let view: CredentialView
  private let user: String
  private var version: CredentialVersion?
  private var wait: CredentialWait?
  private var arrived: ((TokenFailure?) -> Void)?
  private var decided: ((Bool) -> Void)?

  /// - Parameter user: the credential that exchanges it.
  init(_ view: CredentialView, for user: String) {
    self.view = view
    self.user = user
  }

  var number: UInt64? { version?.number }

  /// What follows the scheme in the field.
  var token: Secret? {
    guard let line = version?.rendered.line, let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    let value = line[(colon + 2)...].dropLast(2)
    return value.firstIndex(of: UInt8(ascii: " ")).map { Secret(Array(value[($0 + 1)...])) }
  }

  override var refusalKey: RequestKey { RequestKey(entry: user, client: "", method: "token_exchange", path: []) }

  /// - Parameter then: gets nil once there is a token.
  func obtain(_ then: @escaping (TokenFailure?) -> Void) {
    switch view.authorize(self) {
    case .ready(let version):
      self.version = version
      then(nil)
    case .failed(let error): then(failure(error))
    case .wait(let wait):
      self.wait = wait
      arrived = then
    }
  }

  override func credentialArrived(_ result: Result<CredentialVersion, ProxyError>) {
    wait = nil
    let then = arrived.take()
    switch result {
    case .success(let version):
      self.version = version
      then?(nil)
    case .failure(let error): then?(failure(error))
    }
  }

  /// - Parameter then: gets whether there is another token now.
  func refresh(_ then: @escaping (Bool) -> Void) {
    guard let version else { return then(false) }
    switch view.refused(self, version: version.number) {
    case .decided(let decision): then(follow(decision))
    case .wait(let wait):
      self.wait = wait
      decided = then
    }
  }

  override func refusalDecided(_ decision: RefusalDecision) {
    wait = nil
    decided.take()?(follow(decision))
  }

  private func follow(_ decision: RefusalDecision) -> Bool {
    guard case .resend(let next) = decision else { return false }
    version = next
    return true
  }

  func settle(isRefused: Bool) {
    guard isRefused else { return view.accepted(self) }
    if let version { view.reportRefusal(of: self, version: version.number, isRetry: true) }
  }

  func cancel() {
    wait?.cancel()
    wait = nil
    arrived = nil
    decided = nil
  }

  private func failure(_ error: ProxyError) -> TokenFailure {
    switch error {
    case .credentialUnavailable(_, let reason, let retryAfter):
      .source(view.setup.name, .temporarily(reason, retryAfter: Int64(retryAfter) * 1_000))
    case .credentialMissing(_, let reason): .source(view.setup.name, .needsOperator(reason))
    case .loginMissing: .source(view.setup.name, .needsLogin)
    default: .source(view.setup.name, .temporarily("an internal error", retryAfter: 1_000))
    }
  }
}
