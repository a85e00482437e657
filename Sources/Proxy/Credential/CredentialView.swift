import Credentials
import EventIO

/// One credential as one loop sees it: the current version, and the requests that wait here for the next. It sends messages to
/// the owner, for all its requests at once. It lives as long as a configuration, or a request that began before, has this
/// identity.
final class CredentialView: EventHandler {
  /// Requests resumed per event-loop turn. Bounds how long a new token can hold the loop.
  private static let wakeUps = 64
  /// The same of those that then wait for a connection. More would lie in line, and out of the processor's caches, until one is free.
  private static let inLine = 16
  private static let rememberedKeys = 65_536

  private(set) var setup: CredentialSetup
  /// nil: the credential is a fixed field.
  let signer: RequestSigner?
  private unowned let desk: CredentialDesk
  private let loop: EventLoop
  let home: LoopExecutor
  private let count: WaitCount
  /// Who the credential says that we are, for the store of answers.
  let standing: CredentialStanding
  /// nil: the credential has one token for all requests.
  let subjects: SubjectLine?
  /// What connections to the parent proxy learn, if it is that one's credential.
  private(set) lazy var parentMemory = ParentMemory()
  private(set) var current: CredentialVersion?
  /// Generation of the configuration that last changed the static value. Versions of earlier configurations, which the owner
  /// may still send, are ignored.
  private var changedIn = 0

  private var waiting = ContiguousArray<CredentialWait>()
  private var hasAsked = false
  private var holding: [UInt64: CredentialWait] = [:]
  private var lastTicket: UInt64 = 0
  private var waking = ContiguousArray<Waking>()
  private var awake = 0
  /// Hashes of requests whose refusals were relayed. If an origin accepts one of them later, the owner is told.
  private var refusedKeys: Set<Int> = []

  private enum Waking {
    case token(CredentialWait)
    case unavailable(CredentialWait, ProxyError)
    case resend(CredentialWait)
    case relay(CredentialWait, RelayReason)
  }

  enum Supply {
    case ready(CredentialVersion)
    case wait(CredentialWait)
    case failed(ProxyError)
  }

  enum Refusal {
    case decided(RefusalDecision)
    /// Until the owner has decided.
    case wait(CredentialWait)
  }

  /// The owner's decision about a held answer.
  enum OwnerDecision: Sendable {
    case resend(CredentialVersion)
    case waitForRefresh
    case relay(RelayReason)
  }

  init(_ setup: CredentialSetup, _ desk: CredentialDesk) {
    self.setup = setup
    signer = setup.policy.signer(on: desk.loop)
    self.desk = desk
    loop = desk.loop
    home = desk.home(of: setup.name)
    count = desk.registry.waitCount(of: setup.name)
    standing = desk.registry.standing(of: setup.identity.serial)
    subjects = setup.subjects.map { [home, count] in SubjectLine($0, setup, desk, home, count) }
    super.init()
    (signer as? NegotiateSigner)?.tickets.view = self
  }

  private var name: String { setup.name }
  private var identity: CredentialIdentity { setup.identity }
  private var executor: LoopExecutor { loop.executor }
  /// Monotonic milliseconds.
  private var now: Int64 { loop.now / 1_000_000 }

  /// Takes over another configuration. A static value that may have changed is requested again, so that no later request gets
  /// the old one.
  func adopt(_ next: CredentialSetup) {
    if next.policy.tokens == nil, next.policy != setup.policy {
      current = nil
      changedIn = next.generation
    }
    if next.policy != setup.policy { signer?.adopt(next.policy) }
    setup = next
    subjects?.adopt(next)
  }

  // MARK: What requests ask

  func authorize(_ request: CredentialWaiter) -> Supply {
    if let current, current.isUsable(at: now) { return .ready(current) }
    if let subjects, let subject = request.subject { return subjects.authorize(request, subject) }
    guard count.enter(limit: setup.waitingLimit) else { return .failed(queueFull) }
    let wait = CredentialWait(request, count: count)
    if waiting.count > 64, waiting.count > 2 * count.value { waiting.removeAll { $0.request == nil } }
    waiting.append(wait)
    ask()
    return .wait(wait)
  }

  private var queueFull: ProxyError {
    .credentialUnavailable(name, reason: Self.queueIsFull, retryAfter: 1)
  }
  static let queueIsFull = "too many requests wait for it (limits.waiting_for_credential)"

  /// Counts a request that waits for the signer; false: too many wait.
  func enterPreparation() -> Bool { count.enter(limit: setup.waitingLimit) }
  func leavePreparation() { count.leave() }

  private func ask() {
    if hasAsked { return }
    hasAsked = true
    let (setup, executor) = (setup, executor)
    home.call { loop in CredentialDesk.of(loop).owner(of: setup).need(from: executor) }
  }

  /// An origin refused `version`. The request holds the answer until it gets the decision.
  func refused(_ request: CredentialWaiter, version: UInt64) -> Refusal {
    if let subjects, let subject = request.subject { return subjects.refused(request, subject, version: version) }
    if let current, current.isUsable(at: now), version < current.number { return .decided(.resend(current)) }
    guard count.enter(limit: setup.waitingLimit) else {
      reportRefusal(of: request, version: version, isRetry: false)
      return .decided(.relay(.tooManyWait))
    }
    let wait = CredentialWait(request, refused: version, count: count)
    lastTicket += 1
    let ticket = lastTicket
    holding[ticket] = wait
    let (setup, executor, key) = (setup, executor, request.refusalKey)
    home.call { loop in
      CredentialDesk.of(loop).owner(of: setup).refused(
        version: version, by: key, isRetry: false, ticket: ticket, from: executor)
    }
    return .wait(wait)
  }

  /// An origin refused `version`, and the answer is relayed whatever the owner decides.
  func reportRefusal(of request: CredentialWaiter, version: UInt64, isRetry: Bool) {
    if let subjects {
      if !isRetry, let subject = request.subject { subjects.reportRefusal(subject, version: version) }
      return
    }
    let (setup, executor, key) = (setup, executor, request.refusalKey)
    home.call { loop in
      CredentialDesk.of(loop).owner(of: setup).refused(version: version, by: key, isRetry: isRetry, ticket: nil, from: executor)
    }
    if isRetry { remember(key) }
  }

  /// The origin accepted the credential.
  @inline(__always)
  func accepted(_ request: CredentialWaiter) {
    if !refusedKeys.isEmpty { forget(request.refusalKey) }
  }

  private func forget(_ key: RequestKey) {
    guard refusedKeys.remove(key.hashValue) != nil else { return }
    let setup = setup
    home.call { loop in CredentialDesk.of(loop).owner(of: setup).accepted(key) }
  }

  private func remember(_ key: RequestKey) {
    let (identity, hash) = (identity, key.hashValue)
    desk.group.all { loop in CredentialDesk.of(loop).view(identity)?.noteRefused(hash) }
  }

  private func noteRefused(_ hash: Int) {
    if refusedKeys.count >= Self.rememberedKeys { refusedKeys.removeAll() }
    refusedKeys.insert(hash)
  }

  // MARK: What the owner says

  func published(_ version: CredentialVersion) {
    if version.generation < changedIn {
      // The reply to a question of an earlier configuration: waiting requests ask again, under the current one.
      hasAsked = false
      if !waiting.isEmpty { ask() }
      return
    }
    current = version
    hasAsked = false
    for wait in waiting { wake(.token(wait)) }
    waiting.removeAll()
    for (ticket, wait) in holding where wait.isPromised {
      guard let refused = wait.refused, refused < version.number else { continue }
      holding[ticket] = nil
      wake(.resend(wait))
    }
  }

  func failed(_ unavailable: CredentialUnavailable) {
    hasAsked = false
    let error = ProxyError(unavailable, of: name)
    for wait in waiting { wake(.unavailable(wait, error)) }
    waiting.removeAll()
  }

  func decided(_ ticket: UInt64, _ decision: OwnerDecision) {
    guard let wait = holding[ticket] else { return }
    guard wait.request != nil else {
      holding[ticket] = nil
      return
    }
    switch decision {
    case .waitForRefresh: wait.isPromised = true
    case .resend(let version):
      // A decision of before a reload is for the request that waits, not for later ones.
      if version.number > current?.number ?? 0, version.generation >= changedIn { current = version }
      holding[ticket] = nil
      wake(.resend(wait))
    case .relay(let reason):
      holding[ticket] = nil
      wake(.relay(wait, reason))
    }
  }

  func released(_ reason: RelayReason) {
    for (ticket, wait) in holding where wait.isPromised {
      holding[ticket] = nil
      wake(.relay(wait, reason))
    }
  }

  // MARK: Waking up

  private func wake(_ waking: Waking) {
    self.waking.append(waking)
    loop.again(self)
  }

  override func ready(_ events: UInt32, on loop: EventLoop) {
    let end = min(waking.count, awake + Self.wakeUps)
    var inLine = 0
    while awake < end, inLine < Self.inLine {
      let next = waking[awake]
      awake += 1
      if resume(next) { inLine += 1 }
    }
    if awake == waking.count {
      waking.removeAll(keepingCapacity: waking.count <= 1024)
      awake = 0
    } else {
      loop.again(self)
    }
  }

  /// - Returns: whether its request now waits for a connection.
  private func resume(_ waking: Waking) -> Bool {
    switch waking {
    case .token(let wait):
      guard let request = wait.request else { return false }
      if let current, current.isUsable(at: now) {
        wait.cancel()
        request.credentialArrived(.success(current))
        return request.isInLine
      }
      // The token expired before this request's turn: its lifetime is very short.
      waiting.append(wait)
      ask()
    case .unavailable(let wait, let error): wait.take()?.credentialArrived(.failure(error))
    case .resend(let wait):
      guard let request = wait.take() else { break }
      request.refusalDecided(current.map { .resend($0) } ?? .relay(.refreshFailed))
    case .relay(let wait, let reason):
      guard let request = wait.take() else { break }
      remember(request.refusalKey)
      request.refusalDecided(.relay(reason))
    }
    return false
  }
}
