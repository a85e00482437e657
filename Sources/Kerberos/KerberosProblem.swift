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

  public init(_ kind: Kind, _ text: String) {
    self.kind = kind
    self.text = text
  }

  public var description: String { text }
}
