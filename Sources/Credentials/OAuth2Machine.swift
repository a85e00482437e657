/// The life of one OAuth 2.0 credential: inputs in, actions out. docs/credential-lifecycle.md has every state and its exits.
///
/// Times are monotonic milliseconds (`now`) and Unix seconds (`wall`). Whoever owns the machine carries out the actions in
/// their order; each may take as long as it likes, and its result comes back as an input.
public struct OAuth2Machine: Sendable {
  public enum State: Sendable, Hashable {
    case empty
    /// `old`: the version that goes on being used meanwhile.
    case refreshing(old: UInt64?)
    case ready(version: UInt64)
    /// No usable token, and none is fetched before this time.
    case failed(until: Int64)
    /// `old`: a version that is still valid.
    case needsOperator(reason: String, old: UInt64?)
  }

  public enum Action: Sendable {
    /// Run a `TokenExchange` and bring the result by `tokenAnswer` under the same id, within the policy's time-out for each of
    /// its requests. It belongs to no request and ends with none.
    case fetch(id: UInt64, refreshToken: Secret?)
    /// Nothing that this fetch brings is of interest any more.
    case cancelFetch(id: UInt64)
    /// Carry to the token store; the answer comes back by `storeAnswered`, also that of `release`.
    case store(id: UInt64, TokenStoreRequest)
    /// The version that requests use from now on. All that wait for a token go on with it; those that hold a refused answer
    /// are sent again if they were sent with an older version (one that has the same is told by `releaseRefused`).
    case publish(RenderedCredential)
    /// All that hold a refused answer relay it.
    case releaseRefused(RelayReason)
    /// All that wait for a token are answered so.
    case failWaiters(CredentialUnavailable)
    /// Call `timer` then; replaces what was said before. Nil: not at all.
    case wakeAt(Int64?)
    case report(Report)
  }

  /// For logs and metrics.
  public enum Report: Sendable, Hashable {
    case refreshed(version: UInt64, expiry: Int64, byRefusal: Bool)
    /// Another process had refreshed, or an earlier run of this one.
    case adopted(version: UInt64, expiry: Int64)
    case sameToken(byRefusal: Bool)
    /// `retryAt`: monotonic milliseconds.
    case failed(String, retryAt: Int64)
    case needsOperator(String)
    /// The new token is in use but not on disk yet.
    case notSaved(String)
    case recordSetAside
  }

  public enum Need: Sendable {
    case ready(RenderedCredential)
    /// Until one of `publish`, `failWaiters`.
    case wait
    case unavailable(CredentialUnavailable)
  }

  public enum RefusalDecision: Sendable {
    case resend(RenderedCredential)
    /// Hold the answer until one of `publish`, `releaseRefused`.
    case waitForRefresh
    case relay(RelayReason)
  }

  public let name: String
  public internal(set) var policy: OAuth2Policy
  let binding: [UInt8]

  var current: RenderedCredential?
  /// Of the last version published; it outlives `current`.
  var latestVersion: UInt64 = 0
  var flight: Flight?
  var lastID: UInt64 = 0

  var failures = 0
  var backOffUntil: Int64?
  var lastFailure = ""
  var operatorReason: String?

  var needWaiting = false
  var refusedWaiting = false
  /// Those that wait with a refused answer, as far as there is room; they are remembered if the same token comes again.
  var refusers: [RequestKey] = []
  var memory = RefusalMemory()
  var window = RefusalWindow()

  /// Of the grant `refresh_token`: the newest one known, and the generation of the record that it is from.
  var refreshToken: Secret?
  var generation: UInt64 = 0
  /// A mark that may be found in the store is this machine's own.
  var ownMark = false
  var holdsLock = false
  /// A record that could not be written; the lock is kept until it is.
  var unsaved: (id: UInt64, record: TokenRecord, retryAt: Int64?)?

  var retired = false
  var random: Jitter
  var wake: Int64?
  var actions: [Action] = []

  /// - Parameters:
  ///   - seed: of the jitter; different for each process and credential.
  ///   - version: the last one published under this name before.
  public init(name: String, policy: OAuth2Policy, seed: UInt64, after version: UInt64 = 0) {
    latestVersion = version
    self.name = name
    self.policy = policy
    binding = TokenBinding.digest(of: policy)
    random = Jitter(state: seed)
    if case .refreshToken(let first) = policy.grant { refreshToken = first }
  }

  /// Of the last version published, whether it can still be used or not.
  public var lastVersion: UInt64 { latestVersion }

  /// Of the last failure; empty where there was none.
  public var failureReason: String { lastFailure }

  /// The version that was published last, which may have expired since; nil after `stop`.
  public var published: RenderedCredential? { current }

  public func state(now: Int64) -> State {
    let usable = current.flatMap { $0.isUsable(at: now) ? $0.version : nil }
    if let operatorReason { return .needsOperator(reason: operatorReason, old: usable) }
    if flight != nil { return .refreshing(old: usable) }
    if let usable { return .ready(version: usable) }
    if let backOffUntil, now < backOffUntil { return .failed(until: backOffUntil) }
    return .empty
  }

  /// Its refresh tokens are in a store, which others may use.
  public var usesStore: Bool {
    if case .refreshToken = policy.grant { true } else { false }
  }

  /// One refresh on its way.
  struct Flight: Sendable {
    enum Phase: Sendable {
      case locking
      case lockBusy(retryAt: Int64)
      case marking
      case requesting(deadline: Int64)
      case saving(TokenGrant, TokenRecord)
    }
    let id: UInt64
    let started: Int64
    let byRefusal: Bool
    var phase = Phase.locking
    /// When the token request went out: lifetimes are counted from there, as nobody knows when the server began to.
    var requested: Int64 = 0
    /// The record as it is in the store, without its mark.
    var record: TokenRecord?
    /// The refresh token may have been spent by a process that ended meanwhile.
    var interrupted = false
    /// The configuration changed since: a failure says nothing about the new one.
    var outdated = false
  }

  /// SplitMix64: jitter needs to differ, not to be unguessable.
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
