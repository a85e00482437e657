import TLS

/// A trust policy with its anchors loaded. Loading the system's roots takes 26 to 48 ms, so it happens once and off the loops.
public final class TrustMaterial: Sendable {
  public let evaluation: TrustEvaluation
  public let anchors: AnchorStore
  /// `TrustEvaluation.digest(over:)`.
  public let digest: [UInt8]
  public init(_ evaluation: TrustEvaluation, anchors: AnchorStore) {
    self.evaluation = evaluation
    self.anchors = anchors
    digest = evaluation.digest(over: anchors)
  }
  public var policy: TrustPolicy { evaluation.policy }
}
