/// The states of one OAuth 2.0 credential, as a value with inputs and actions. docs/credential-lifecycle.md lists every state
/// and its exits.
///
/// Times are monotonic milliseconds (`now`) and Unix seconds (`wall`). The owner performs the actions in order. Each may take
/// any time; its result is a later input.
public struct OAuth2Machine: Sendable {
  public enum State: Sendable, Hashable {
    case empty
    /// `old`: the version that requests use meanwhile.
    case refreshing(old: UInt64?)
    case ready(version: UInt64)
    /// No usable token, and no fetch before this time.
    case failed(until: Int64)
    /// `old`: a version that is still valid.
    case needsOperator(reason: String, old: UInt64?)
  }

  public enum Action: Sendable {
    /// Run a `TokenExchange` and pass its result to `tokenAnswer` with the same id, within the policy's time-out for each of
    /// its requests. The fetch belongs to no request and does not end with one.
    /// - Parameter before: the first byte goes out earlier or not at all, by the clock of `now`: another process may take the claim over;
    ///   nil: nobody can.
    case fetch(id: UInt64, refreshToken: Secret?, before: Int64?)
    /// Drop the result of this fetch.
    case cancelFetch(id: UInt64)
    /// Pass this to the token store, and its answer to `storeAnswered`, also that of `release`.
    case store(id: UInt64, TokenStoreRequest)
    /// The version that requests use from now on. Requests that wait for a token continue. Those with a held answer are sent
    /// again if they carried an older version; `releaseRefused` tells the others.
    case publish(RenderedCredential)
    /// No version published so far may be sent any more, not even by a request that has one already.
    case withdraw
    /// Requests with a held answer relay it.
    case releaseRefused(RelayReason)
    /// Requests that wait for a token fail with this.
    case failWaiters(CredentialUnavailable)
    /// Call `timer` at this time, which replaces the one before; nil: never.
    case wakeAt(Int64?)
    case report(Report)
  }

  /// For logs and metrics.
  public enum Report: Sendable, Hashable {
    case refreshed(version: UInt64, expiry: Int64, byRefusal: Bool)
    /// Another process had refreshed it, or an earlier run of this process.
    case adopted(version: UInt64, expiry: Int64)
    case sameToken(byRefusal: Bool)
    /// `retryAt`: monotonic milliseconds.
    case failed(String, retryAt: Int64)
    case needsOperator(String)
    /// A person must log in. `refused`: a token request has shown it.
    case needsLogin(String, refused: Bool)
    /// Somebody has logged in while this process ran.
    case loggedIn
    case loggedOut
    /// The new token is in use but not saved yet.
    case notSaved(String)
    /// The new token could not be saved, and its store is no longer configured.
    case lost
    case recordSetAside
    /// There is a token, with a reservation.
    case warning(String)
  }

  public enum Need: Sendable {
    case ready(RenderedCredential)
    /// Wait for `publish` or `failWaiters`.
    case wait
    case unavailable(CredentialUnavailable)
  }

  public enum RefusalDecision: Sendable {
    case resend(RenderedCredential)
    /// Hold the answer until `publish` or `releaseRefused`.
    case waitForRefresh
    case relay(RelayReason)
  }

  public let name: String
  public internal(set) var policy: OAuth2Policy
  /// Its record is in a store that other machines share, by compare-and-set (`SharedRecord`).
  let isShared: Bool
  private(set) var binding: [UInt8]

  var current: RenderedCredential?
  /// Version that was published last; it outlives `current`.
  private(set) var latestVersion: UInt64 = 0
  var flight: Flight?
  private(set) var lastID: UInt64 = 0

  var failures = Failures()
  var waiters = Waiters()
  var refusals = Refusals()
  /// For the grant `refresh_token`, and those with a login.
  var stored = Stored()
  /// The key that tokens are bound to; nil without DPoP, and before the login that brings it.
  public internal(set) var dpopKey: DPoPKey?

  var retired = false
  private var random: Jitter
  private var wake: Int64?
  var actions: [Action] = []

  /// - Parameters:
  ///   - seed: for jitter; different for each process and credential.
  ///   - version: the last one published under this name before.
  ///   - dpopKey: the configured key, or a new one; the store's takes the place of a new one.
  ///   - sharing: the binding of its record in a shared store; nil: it has none there.
  public init(
    name: String, policy: OAuth2Policy, seed: UInt64, after version: UInt64 = 0, dpopKey: DPoPKey? = nil,
    sharing: [UInt8]? = nil
  ) {
    latestVersion = version
    self.name = name
    self.policy = policy
    isShared = sharing != nil
    binding = sharing ?? TokenBinding.digest(of: policy)
    random = Jitter(state: seed)
    self.dpopKey = dpopKey
    if case .refreshToken(let first) = policy.grant { stored.refreshToken = first }
  }

  /// The version published last, whether it is still usable or not.
  public var lastVersion: UInt64 { latestVersion }

  /// Reason of the last failure; empty if there was none.
  public var failureReason: String { failures.last }

  /// The version published last, which may have expired since; nil after `stop`.
  public var published: RenderedCredential? { current }

  public func state(now: Int64) -> State {
    let usable = current.flatMap { $0.isUsable(at: now) ? $0.version : nil }
    if let reason = failures.operatorReason { return .needsOperator(reason: reason, old: usable) }
    if flight != nil { return .refreshing(old: usable) }
    if let usable { return .ready(version: usable) }
    if let until = failures.backingOff(at: now) { return .failed(until: until) }
    return .empty
  }

  /// Whether its tokens are in a store, which other processes may use.
  public var usesStore: Bool { isShared || hasRefreshToken }

  /// Whether its token requests use up a refresh token, so that no two processes may make them at once.
  var hasRefreshToken: Bool { policy.grant.isStored }

  /// Whether a person must log in before the first token comes.
  public var hasLogin: Bool { policy.login != nil }

  /// Whether it can get another token by itself.
  var canRefresh: Bool { !hasRefreshToken || stored.refreshToken != nil || !stored.isKnown }

  /// The login whose tokens it uses; nil if nobody has logged in, or if the grant has no login.
  public var login: TokenRecord.Login? { stored.login }

  /// It has no tokens until a person logs in.
  public var needsLogin: Bool { failures.needsLogin }

  /// The record is this machine's alone for now. Do not `look` meanwhile.
  public var holdsLock: Bool { stored.holdsLock }

  /// It waits for another process that refreshes.
  public var awaitsOther: Bool { if case .busy? = flight?.phase { true } else { false } }

  /// It has a token that no store has yet.
  public var hasUnsaved: Bool { stored.unsaved != nil }

  /// Of the newest known record; 0: none.
  public var generation: UInt64 { stored.generation }

  /// The next flight.
  /// - Parameter refuser: the client whose refusal causes it; nil: the token's age does.
  mutating func takeOff(refuser: String?, _ now: Int64) {
    flight = Flight(id: nextID(), started: now, refuser: refuser)
  }

  /// Of a flight, or of a store request without one.
  mutating func nextID() -> UInt64 {
    lastID += 1
    return lastID
  }

  /// Another secret has another record in a shared store. The token in use stays.
  mutating func move(to binding: [UInt8]) {
    guard binding != self.binding else { return }
    self.binding = binding
    // Others wait in the former place, as long as a claim stands there.
    unlock()
    let token = stored.refreshToken
    stored = Stored()
    stored.refreshToken = token
    // It is bound to the former place: written into the new one, nobody could open it.
    flight?.record = nil
  }

  mutating func nextVersion() -> UInt64 {
    latestVersion += 1
    return latestVersion
  }

  mutating func jitter(upTo limit: Int64) -> Int64 { random.upTo(limit) }

  /// The collected actions, and the next wake-up time if it changed.
  mutating func flush(_ now: Int64) -> [Action] {
    let next = nextWake(now)
    if next != wake {
      wake = next
      actions.append(.wakeAt(next))
    }
    defer { actions = [] }
    return actions
  }

  /// A running refresh.
  struct Flight: Sendable {
    enum Phase: Sendable {
      case reading
      case busy(retryAt: Int64)
      case claiming
      case requesting(deadline: Int64)
      /// A refusal is believed only if the record has not changed.
      case confirming(Refusal)
      case saving(TokenGrant, TokenRecord)
    }
    /// Of the refresh token or the password.
    struct Refusal: Sendable {
      let text: String
      let error: TokenRecord.RefreshError
    }
    let id: UInt64
    let started: Int64
    var refuser: String?
    var phase = Phase.reading
    /// When the token request was sent: lifetimes count from here, as nobody knows when the server's began.
    var requested: Int64 = 0
    /// The record in the store, without its mark.
    var record: TokenRecord?
    /// A process that ended meanwhile may have used up the refresh token.
    var interrupted = false
    /// The configuration has changed since, so a failure says nothing about the new one.
    var outdated = false
    /// The process was frozen over the deadline. What came meanwhile is read before it counts.
    var hasOverslept = false
    /// The shared store cannot be reached, and nobody needs to know of this token.
    var isAlone = false

    var byRefusal: Bool { refuser != nil }

    init(id: UInt64, started: Int64, refuser: String?) {
      self.id = id
      self.started = started
      self.refuser = refuser
    }
  }

  /// Failures in a row, and what they forbid.
  struct Failures: Sendable {
    var count = 0
    var backOffUntil: Int64?
    /// Text of the last one; outlives success.
    var last = ""
    /// No fetch before the configuration or a secret changes.
    var operatorReason: String?
    /// What is in the place of the record cannot be read. Once it can, requests go on.
    var isUnreadable = false
    /// The operator is a person who logs in.
    var needsLogin = false
    /// The last one lasts until an operator or a person acts elsewhere, so that requests are told so. Attempts go on.
    var operatorMustAct = false
    /// The back-off is the server's limit: it may ban who comes earlier.
    var isLimited = false
    /// The last ones were the shared store's: the back-off ends when it can be reached again.
    var ofStore: OfStore?

    struct OfStore: Sendable {
      var count = 0
      /// Until then, the store is asked only for who needs a token.
      var quietUntil: Int64?
    }

    /// The end of the back-off, if `now` is in it.
    func backingOff(at now: Int64) -> Int64? { backOffUntil.flatMap { now < $0 ? $0 : nil } }

    /// No attempt before, if no request needs it.
    var unaskedUntil: Int64? { backOffUntil.map { max($0, ofStore?.quietUntil ?? $0) } }

    mutating func forgive() {
      count = 0
      backOffUntil = nil
      operatorReason = nil
      isUnreadable = false
      needsLogin = false
      operatorMustAct = false
      ofStore = nil
    }
  }

  /// Who waits for the next token.
  struct Waiters: Sendable {
    /// It is fetched whether a request needs it or not.
    var ahead = false
    /// Some have no usable token.
    var need = false
    /// Some hold an answer that refused the token.
    var refused = false
    /// Those with a held answer, up to `maximumRefusers`. The machine remembers them if it gets the same token again.
    var refusers: [RequestKey] = []

    mutating func releaseRefused() {
      refused = false
      refusers.removeAll()
    }

    mutating func release() {
      need = false
      releaseRefused()
    }
  }

  /// What keeps refusals from causing refreshes in vain.
  struct Refusals: Sendable {
    var memory = RefusalMemory()
    var window = RefusalWindow()
  }

  /// The tokens as the token store has them.
  struct Stored: Sendable {
    /// The record, or its absence, has been seen.
    var isKnown = false
    var login: TokenRecord.Login?
    var isLoggedOut = false
    /// The newest known one, and the generation of its record.
    var refreshToken: Secret?
    var generation: UInt64 = 0
    /// The newest known record, with which a store that has lost it is repaired.
    var record: TokenRecord?
    /// A mark in the store may be this machine's own.
    var ownMark = false
    /// Between `read` and `release`.
    var holdsLock = false
    /// A record that could not be saved. The machine keeps the lock of a file until it is.
    var unsaved: Unsaved?
    var shared = Shared()

    struct Unsaved: Sendable {
      let id: UInt64
      let record: TokenRecord
      /// nil: an attempt runs.
      var retryAt: Int64?
    }

    /// What other processes have to do with it.
    struct Shared: Sendable {
      /// The server has refused the refresh token of this generation, and no reading of the record has shown why.
      var doubt: Doubt?
      /// What a record says about failures, up to a change of the configuration.
      var pardoned: Pardon?
      /// Unix milliseconds by the store's clock at 0 of the monotonic one.
      var epoch: Int64?
      /// Until then, a token that needs no claim waits for a shared store to come back.
      var aloneAt: Int64?
    }

    struct Doubt: Sendable {
      let generation: UInt64
      let refusal: Flight.Refusal
    }

    struct Pardon: Sendable {
      let error: TokenRecord.RefreshError?
      let backOff: SharedBackOff?
    }

    /// Unix milliseconds by the store's clock.
    func clock(at now: Int64, orElse wall: Int64) -> Int64 { shared.epoch.map { $0 + now } ?? wall * 1_000 }
  }

  /// SplitMix64. Jitter must differ between processes, but need not be unpredictable.
  struct Jitter: Sendable {
    var state: UInt64

    /// 0...limit
    mutating func upTo(_ limit: Int64) -> Int64 {
      state &+= 0x9e37_79b9_7f4a_7c15
      var value = state
      value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
      value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
      value ^= value >> 31
      return limit <= 0 ? 0 : Int64(value % UInt64(limit + 1))
    }
  }
}
