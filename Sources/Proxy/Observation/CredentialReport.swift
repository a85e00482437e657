/// One credential as its owner last reported it, for people and scripts. Never has a token.
public struct CredentialReport: Sendable {
  public enum Phase: String, Sendable {
    case empty, refreshing, ready, failed
    case needsOperator = "needs_operator"
  }
  public var name: String
  public var phase: Phase
  /// Number of the version in use; 0 = none yet.
  public var version: UInt64
  /// Seconds since 1970; nil if it does not expire, or if there is none.
  public var expiry: Int64?
  /// Why it failed, or what the operator has to do.
  public var reason: String?
  /// Requests that wait for it, on all loops.
  public var waiting: Int
  /// Token requests since the start.
  public var refreshes: [RefreshResult: UInt64]

  public init(
    name: String, phase: Phase, version: UInt64 = 0, expiry: Int64? = nil, reason: String? = nil, waiting: Int = 0,
    refreshes: [RefreshResult: UInt64] = [:]
  ) {
    self.name = name
    self.phase = phase
    self.version = version
    self.expiry = expiry
    self.reason = reason
    self.waiting = waiting
    self.refreshes = refreshes
  }
}
