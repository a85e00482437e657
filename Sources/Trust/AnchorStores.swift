import Synchronization
import TLS

/// One store per distinct set of anchors, shared by policies, loops and snapshots. Making one blocks for tens of milliseconds:
/// ask from a lane, never from a loop.
public final class AnchorStores: Sendable {
  private let stores = Mutex<[TrustPolicy.Anchors: AnchorStore]>([:])

  public init() {}

  public func store(for policy: TrustPolicy) throws(TLSError) -> AnchorStore {
    let anchors = policy.effectiveAnchors
    if let known = stores.withLock({ $0[anchors] }) { return known }
    let made: AnchorStore
    switch anchors {
    case .system: made = try .systemRoots()
    case .systemAnd(let certificates): made = try .systemRoots(and: certificates)
    case .only(let certificates): made = try .certificates(certificates)
    }
    return stores.withLock { stores in
      if let known = stores[anchors] { return known }
      stores[anchors] = made
      return made
    }
  }

  /// Forgets the sets that none of `policies` uses; what is in use elsewhere lives on there.
  public func prune(keeping policies: some Sequence<TrustPolicy>) {
    let kept = Set(policies.map(\.effectiveAnchors))
    stores.withLock { stores in stores = stores.filter { kept.contains($0.key) } }
  }
}
