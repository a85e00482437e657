/// Why there is no ticket or no token, and what the operator must do. Names principals, realms and files; never a key or a password.
public struct KerberosProblem: Error, Sendable, Hashable, CustomStringConvertible {
  public enum Kind: Sendable, Hashable {
    /// It may pass by itself: a KDC is down, a clock is wrong.
    case temporary
    /// An operator must act.
    case needsOperator
    /// The same, and another try counts as a failed login, which locks accounts.
    case keyRefused
  }
  public let kind: Kind
  public let text: String
  /// It concerns tickets for one service. Those for others may be had.
  public let isOfService: Bool

  public init(_ kind: Kind, _ text: String, isOfService: Bool = false) {
    self.kind = kind
    self.text = text
    self.isOfService = isOfService
  }

  public var description: String { text }
}
