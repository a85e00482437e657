import TLS

/// Why a connection was refused: evaluator, a reason from a fixed list, and a detail for people.
public typealias TrustRefusal = PeerRefusal
public typealias TrustRefusalReason = PeerRefusal.Reason

/// A problem that did not stop a connection.
public struct TrustWarning: Sendable, Hashable {
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// The pins have expired, so they were not compared.
    case pinsExpired = "pins_expired"
    /// Report only: the pins do not match.
    case pinMismatch = "pin_mismatch"
    /// There is no answer about revocation, and the policy requires none.
    case revocationUnknown = "revocation_unknown"
  }
  public var kind: Kind
  public var policy: String
  public var evaluator: String
  public var host: String
  public var detail: String

  public init(kind: Kind, policy: String, evaluator: String, host: String, detail: String) {
    self.kind = kind
    self.policy = policy
    self.evaluator = evaluator
    self.host = host
    self.detail = detail
  }
}
