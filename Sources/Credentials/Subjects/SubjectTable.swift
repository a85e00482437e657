/// The tokens of the users of apps, which one credential exchanged for what the apps sent: a state machine for each user, in a
/// table of bounded size. docs/credential-lifecycle.md lists the states and their exits.
///
/// A value with inputs and actions; it knows no loop, thread or server. Times are monotonic milliseconds. The table keeps no
/// app's token but those that wait for an exchange: each request brings it again.
public struct SubjectTable: Sendable {
  /// Milliseconds for which the proxy does not ask again about a refused subject.
  static let refusalMemory: Int64 = 30_000

  /// Run an exchange of this token, and pass the result to `answered` with the same id.
  public struct Start: Sendable {
    public let id: UInt64
    public let token: Secret
  }

  public enum Need: Sendable {
    case ready(RenderedCredential)
    /// For a `Settled` with its key.
    case wait
    case failed(Failure)
  }

  /// Why a request gets no token.
  public enum Failure: Error, Sendable, Hashable {
    /// The server refuses this subject.
    case refused
    /// The server refused too many subjects of this client. `retryAfter`: milliseconds.
    case tooManyRefused(retryAfter: Int64)
    /// Every entry has requests that wait.
    case full
    case unavailable(CredentialUnavailable)
  }

  public enum Refusal: Sendable {
    case resend(RenderedCredential)
    /// For a `Settled` with its key.
    case wait
    case relay(RelayReason)
  }

  /// For all who wait for this subject.
  public struct Settled: Sendable {
    public let key: SubjectKey
    public let result: Result<RenderedCredential, Failure>
  }

  /// What an ended exchange brings.
  public struct Ended: Sendable {
    public var settled: [Settled] = []
    public var starts: [Start] = []
    public var report: Report?
  }

  /// For logs and metrics.
  public enum Report: Sendable, Hashable {
    case exchanged(version: UInt64, lifetime: Int64)
    /// The server's error code. `suspends`: it was the client's last one in this minute.
    case refused(String, SubjectClient, suspends: Bool)
    case failed(String, retryIn: Int64)
  }

  public let name: String
  public private(set) var policy: OAuth2Policy
  /// What the tokens are bound to; nil without DPoP. One for all, as it is the proxy's, and says nothing about a user.
  public let dpopKey: DPoPKey?
  var entries: SubjectPlaces
  /// By id of the exchange.
  var flying: [UInt64: Int] = [:]
  var lastID: UInt64 = 0
  public internal(set) var lastVersion: UInt64
  var random: OAuth2Machine.Jitter
  /// Exchanges that began under an earlier configuration.
  var outdated: Set<UInt64> = []
  /// Clients whose exchanges wait for those of others.
  var line = SubjectBudget.Queue()
  /// Subjects that left the queue unseen, for the next `Ended`.
  var forgotten: Set<SubjectKey> = []
  var nextSweep = Int64.min
  /// Milliseconds. No request waits longer.
  private(set) var patience: Int64
  private var isRetired = false

  /// - Parameters:
  ///   - limit: entries, at least 1.
  ///   - patience: milliseconds that a request waits at most.
  ///   - seed: for jitter.
  ///   - version: the last one published under this name before.
  public init(
    name: String, policy: OAuth2Policy, limit: Int, patience: Int64 = 60_000, seed: UInt64, after version: UInt64 = 0
  ) {
    self.name = name
    self.policy = policy
    dpopKey = policy.keyWithoutStore
    entries = SubjectPlaces(limit: limit)
    entries.canWithdraw = !policy.sourceNames.isEmpty
    self.patience = patience
    lastVersion = version
    random = OAuth2Machine.Jitter(state: seed)
  }

  public var count: Int { entries.count }

  /// Another configuration of the same identity. What a new secret or address may cure is tried again.
  public mutating func reconfigure(_ policy: OAuth2Policy, limit: Int, patience: Int64 = 0) {
    if policy != self.policy {
      entries.change { $0.failure = nil }
      outdated.formUnion(flying.keys)
    }
    self.policy = policy
    entries.canWithdraw = !policy.sourceNames.isEmpty
    // Requests of an earlier configuration may still wait as long as that one says.
    self.patience = max(self.patience, patience)
    entries.shrink(to: limit)
  }

  /// The login of the actor's credential is over: so is what was exchanged with it. Its owner cancels the running exchanges.
  public mutating func withdraw() { entries.withdraw() }

  /// The configuration no longer has the credential. Refusals cause no exchange any more: what an API refuses from now on may be
  /// meant for others.
  public mutating func retire() { isRetired = true }

  // MARK: Inputs of requests

  /// A request of this subject needs a token.
  public mutating func need(
    _ key: SubjectKey, _ client: SubjectClient, token: Secret, now: Int64
  ) -> (need: Need, start: Start?) {
    guard let place = entries.place(of: key), let entry = entries[place] else { return admit(key, client, token, now) }
    if let credential = entry.credential, credential.isUsable(at: now) {
      entries.touch(place)
      return (.ready(credential), now >= credential.refreshAt ? refreshAhead(place, token, now) : nil)
    }
    guard case .idle = entry.phase else {
      hold(place, now)
      return (.wait, nil)
    }
    entries.touch(place)
    if now < entry.refusedUntil { return (.failed(.refused), nil) }
    if !entry.wasAccepted, let wait = entries.budgets[entry.budget].suspension(now) {
      return (.failed(.tooManyRefused(retryAfter: wait)), nil)
    }
    if let failure = entry.failure, now < failure.until {
      return (.failed(.unavailable(failure.why.waiting(failure.until - now))), nil)
    }
    hold(place, now)
    return (.wait, begin(place, token, now))
  }

  private mutating func hold(_ place: Int, _ now: Int64) {
    entries.hold(place, now)
    if !forgotten.isEmpty, let key = entries[place]?.key { forgotten.remove(key) }
  }

  /// An API refused `version`.
  /// - Parameter waits: the request holds the answer until the decision.
  public mutating func refused(
    _ key: SubjectKey, _ client: SubjectClient, version: UInt64, token: Secret, waits: Bool, now: Int64
  ) -> (decision: Refusal, start: Start?) {
    if isRetired { return (.relay(.replaced), nil) }
    guard let place = entries.place(of: key), let entry = entries[place] else {
      // It was evicted meanwhile.
      guard waits else { return (.relay(.replaced), nil) }
      let (need, start) = need(key, client, token: token, now: now)
      switch need {
      case .ready(let credential): return (.resend(credential), start)
      case .wait: return (.wait, start)
      case .failed: return (.relay(.refreshFailed), start)
      }
    }
    if let credential = entry.credential, credential.isUsable(at: now), version < credential.version {
      return (.resend(credential), nil)
    }
    if case .idle = entry.phase {
      guard now >= entry.refusedUntil, now >= entry.failure?.until ?? .min else { return (.relay(.backingOff), nil) }
      guard admitsRefresh(place, now) else { return (.relay(.windowUsedUp), nil) }
      entries[place]?.refusedVersion = version
      if waits { hold(place, now) } else { entries[place]?.needed = now }
      return (.wait, begin(place, token, now))
    }
    entries[place]?.refusedVersion = version
    if waits { hold(place, now) }
    return (.wait, nil)
  }

  private mutating func admit(
    _ key: SubjectKey, _ client: SubjectClient, _ token: Secret, _ now: Int64
  ) -> (Need, Start?) {
    let budget = entries.budget(of: client, now)
    if let wait = entries.budgets[budget].suspension(now) { return (.failed(.tooManyRefused(retryAfter: wait)), nil) }
    guard let place = entries.insert(key, budget) ?? (sweepQueues(now) ? entries.insert(key, budget) : nil) else {
      return (.failed(.full), nil)
    }
    hold(place, now)
    return (.wait, begin(place, token, now))
  }
}

extension CredentialUnavailable {
  /// The same with the time that is left.
  fileprivate func waiting(_ left: Int64) -> CredentialUnavailable {
    if case .temporarily(let why, _) = self { .temporarily(why, retryAfter: max(1, left)) } else { self }
  }
}
