/// One credential as its owner last reported it, for people and scripts. Never has a token.
public struct CredentialReport: Sendable {
  public enum Phase: String, Sendable {
    case empty, refreshing, ready, failed
    case needsOperator = "needs_operator"
  }
  /// Of a person; never says who.
  public struct Login: Sendable, Hashable {
    /// No token comes until a person logs in.
    public var isNeeded: Bool
    /// Seconds since 1970; nil if nobody is logged in.
    public var time: Int64?
    /// Seconds since 1970: when a person must log in again, if anybody said.
    public var expiry: Int64?
    public init(isNeeded: Bool, time: Int64? = nil, expiry: Int64? = nil) {
      self.isNeeded = isNeeded
      self.time = time
      self.expiry = expiry
    }
  }
  /// Of the users of apps, one by one unknown here.
  public struct Subjects: Sendable, Hashable {
    /// In the table.
    public var count: Int
    /// Since the start.
    public var exchanges: [SubjectResult: UInt64]
    public init(count: Int, exchanges: [SubjectResult: UInt64] = [:]) {
      self.count = count
      self.exchanges = exchanges
    }
  }
  /// What came of token requests. Times are seconds since 1970.
  public struct Attempts: Sendable, Hashable {
    /// Of the last token that came.
    public var succeeded: Int64?
    /// Of the last failure, and its reason.
    public var failed: Int64?
    public var error: String?
    /// Of the first failure since a token came; nil: none failed.
    public var failingSince: Int64?
    /// When the proxy tries again; nil: not by itself.
    public var next: Int64?
    /// When it is to be refreshed; nil: it does not expire, or is not refreshed ahead.
    public var due: Int64?
    /// Token requests since the start.
    public var counts: [RefreshResult: UInt64] = [:]
    public init() {}

    /// - Parameter now: seconds since 1970.
    public mutating func note(_ event: CredentialEvent, at now: Int64) {
      if let result = event.refreshResult { counts[result, default: 0] += 1 }
      switch event {
      case .refreshed, .adopted, .subjectExchanged, .replaced:
        succeeded = now
        failingSince = nil
        next = nil
      case .loggedIn:
        failingSince = nil
        next = nil
      case .failed(let why, let retryIn), .subjectFailed(let why, let retryIn): fail(why, at: now, next: now + retryIn / 1_000)
      case .needsOperator(let why), .needsLogin(let why, refused: true): fail(why, at: now, next: nil)
      case .needsLogin, .loggedOut, .sameToken, .notSaved, .lost, .subjectRefused, .warning, .recordSetAside, .claimTakenOver,
        .recordPutBack:
        break
      }
    }

    private mutating func fail(_ why: String, at now: Int64, next: Int64?) {
      failed = now
      error = why
      failingSince = failingSince ?? now
      self.next = next
    }
  }
  public var name: String
  public var phase: Phase
  /// Number of the version in use; 0 = none yet.
  public var version: UInt64
  /// Seconds since 1970; nil if it does not expire, or if there is none.
  public var expiry: Int64?
  /// Why it failed, or what the operator has to do.
  public var reason: String?
  /// nil if it works without a login.
  public var login: Login?
  /// Seconds since 1970: the end of what it presents to its authorization server; nil without a certificate.
  public var certificateExpiry: Int64?
  /// Of its record in the store that a fleet shares, as this process knows it; nil if it has none there.
  public private(set) var generation: UInt64?
  /// nil if there is one token for all requests.
  public var subjects: Subjects?
  /// Requests that wait for it, on all loops.
  public var waiting: Int
  public var attempts = Attempts()

  public init(
    name: String, phase: Phase, version: UInt64 = 0, expiry: Int64? = nil, reason: String? = nil, login: Login? = nil,
    certificateExpiry: Int64? = nil, waiting: Int = 0
  ) {
    self.name = name
    self.phase = phase
    self.version = version
    self.expiry = expiry
    self.reason = reason
    self.login = login
    self.certificateExpiry = certificateExpiry
    self.waiting = waiting
  }

  /// It has a record in the store that a fleet shares.
  public mutating func note(generation: UInt64) { self.generation = generation }
}
