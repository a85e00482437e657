/// How long a claim holds, and what its holder may do under it.
public struct ClaimTerms: Sendable, Hashable {
  /// Milliseconds: `TokenClaim.duration`.
  public let duration: Int64
  /// A refresh token is used under it. Without one, a second request with the same content does no harm.
  public let guardsRefreshToken: Bool

  /// Milliseconds that some claims stand before they are read again: processes that know a newer record put it back meanwhile.
  static let settling: Int64 = 1_000
}
