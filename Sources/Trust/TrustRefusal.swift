import TLS

/// Why a connection was refused: evaluator, a reason of a closed list, and a detail for people.
public typealias TrustRefusal = PeerRefusal
public typealias TrustRefusalReason = PeerRefusal.Reason

/// What passed, and should be known of all the same.
public struct TrustWarning: Sendable, Hashable {
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// The pins' date is over: they were not compared.
    case pinsExpired = "pins_expired"
    /// Report only: the comparison failed.
    case pinMismatch = "pin_mismatch"
    /// No answer about revocation was to be had, and none is required.
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
