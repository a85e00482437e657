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
  /// Token requests since the start.
  public var refreshes: [RefreshResult: UInt64]

  public init(
    name: String, phase: Phase, version: UInt64 = 0, expiry: Int64? = nil, reason: String? = nil, login: Login? = nil,
    certificateExpiry: Int64? = nil, waiting: Int = 0, refreshes: [RefreshResult: UInt64] = [:]
  ) {
    self.name = name
    self.phase = phase
    self.version = version
    self.expiry = expiry
    self.reason = reason
    self.login = login
    self.certificateExpiry = certificateExpiry
    self.waiting = waiting
    self.refreshes = refreshes
  }

  /// It has a record in the store that a fleet shares.
  public mutating func note(generation: UInt64) { self.generation = generation }
}
