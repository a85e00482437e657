import Fetch
import TLS
import Trust

/// A trust policy ready to judge, with its anchors loaded: 26 to 48 ms for the system's roots, so done once and off the loops.
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
  public var forFetches: FetchTrust { FetchTrust(evaluation, anchors: anchors) }
}
