import Crypto
import WayOut

/// Several origins of one entry, in the order of preference. Immutable; shared by all loops.
public final class OriginList: Sendable {
  /// At least two.
  public let origins: [Origin]
  let hops: [Hop?]

  public init(_ origins: [Origin]) {
    self.origins = origins
    hops = origins.map(\.hop)
  }

  /// Whether each of them works, as far as the process knows.
  public func report(_ shared: SharedUpstreams, named upstream: String) -> [OriginReport] {
    shared.health.withLock { health in
      origins.map { OriginReport(upstream: upstream, origin: $0.authority.url, isUp: health.isUp($0.hop)) }
    }
  }
}

/// One of an entry's several origins.
public struct OriginReport: Sendable {
  /// Name of the entry.
  public var upstream: String
  /// `https://host[:port]`.
  public var origin: String
  public var isUp: Bool

  public init(upstream: String, origin: String, isUp: Bool) {
    self.upstream = upstream
    self.origin = origin
    self.isUp = isUp
  }
}

extension Origin {
  /// What its health is remembered by. Another entry may reach the same host by another way, or judge it otherwise: what it finds out
  /// says nothing here.
  public var hop: Hop {
    let manner = SHA256.digest(parts: [
      Array(identity.scheme.rawValue.utf8), identity.trustDigest, identity.certificateDigest, identity.route,
    ])
    return Hop(scheme: .origin, host: identity.host, port: identity.port, manner: manner)
  }
}
