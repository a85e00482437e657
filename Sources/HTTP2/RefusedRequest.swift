import HTTPWire

/// A request that goes nowhere, though nghttp2 found nothing wrong with its frames.
public struct RefusedRequest: Sendable, Hashable {
  public enum Reason: Sendable, Hashable {
    case malformed(HeadError)
    /// A tunnel inside of a tunnel.
    case connect
  }
  public let reason: Reason
  /// Its answer has no body.
  public let isHead: Bool

  public init(_ reason: Reason, isHead: Bool = false) {
    self.reason = reason
    self.isHead = isHead
  }
}
