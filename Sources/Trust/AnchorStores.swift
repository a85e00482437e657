import Crypto
import Synchronization
import TLS

/// One store per distinct set of anchors, shared by policies, loops and snapshots. Making one blocks for milliseconds,
/// so never do it on a loop.
public final class AnchorStores: Sendable {
  private let stores = Mutex<[Key: AnchorStore]>([:])

  private struct Key: Hashable {
    var anchors: TrustPolicy.Anchors
    /// Digest of the system's bundle; nil if these anchors do not include it.
    var system: SystemRoots?
  }

  public init() {}

  /// - Parameter system: the system's roots; nil = read them now.
  public func store(for policy: TrustPolicy, system: SystemRoots? = nil) throws(OpenSSLError) -> AnchorStore {
    var key = Key(anchors: policy.effectiveAnchors)
    if key.anchors.haveSystem { if let system { key.system = system } else { key.system = try .read() } }
    if let known = stores.withLock({ $0[key] }) { return known }
    let made: AnchorStore
    switch (key.anchors, key.system) {
    case (.only(let certificates), _): made = try .certificates(certificates)
    case (.systemAnd(let certificates), let system?): made = try .systemRoots(system, and: certificates)
    case (.system, let system?): made = try .systemRoots(system, and: [])
    case (_, nil): made = try .systemRoots()
    }
    return stores.withLock { stores in
      if let known = stores[key] { return known }
      stores[key] = made
      return made
    }
  }

  /// Drops the sets that none of `policies` uses, and those with system roots other than `system`. Whoever uses such a set
  /// keeps it alive.
  public func prune(keeping policies: some Sequence<TrustPolicy>, system: SystemRoots? = nil) {
    let kept = Set(policies.map(\.effectiveAnchors))
    stores.withLock { stores in
      stores = stores.filter { kept.contains($0.key.anchors) && ($0.key.system == nil || $0.key.system == system) }
    }
  }
}
