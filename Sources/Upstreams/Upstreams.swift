import Crypto
import EventIO
import Fetch
import HTTP2
import HTTPWire
import Settings
import Synchronization
import TLS
import Trust
import WayOut

/// What all loops share of the connections to origins.
public final class SharedUpstreams: Sendable {
  public let group: LoopGroup
  let limits = OriginLimits()
  public let revocation = RevocationCache()
  /// Of parents, and of the origins of entries that have several. Asked where a connection through one is opened, so a lock costs nothing that anybody notices; and only a lock lets
  /// exactly one connection of the process try one that is down.
  let health = Mutex(WayHealth())
  let logins = LoginTrials()

  /// Whether each of the parents works, as far as is known.
  public func parentsUp(_ parents: [ParentSettings]) -> [(name: String, isUp: Bool)] {
    health.withLock { health in parents.map { ($0.name, health.isUp($0.hop)) } }
  }
  public init(group: LoopGroup) { self.group = group }
}

/// One loop's connections to all origins: a pool for each, and what they share. Confined to the loop, which owns it.
public final class Upstreams {
  let loop: EventLoop
  let shared: SharedUpstreams
  let observer: UpstreamObserver
  private(set) var rules: UpstreamRules
  /// The loop drains: connections that become free are closed.
  public var isDraining = false
  /// Addresses on which this process listens. The proxy never connects to them.
  public var ownAddresses: [Address] = []
  /// What receive windows of HTTP/2 grow from.
  public var windows: (any WindowBudget)?
  /// Called for an origin whose certificate has been revoked.
  public var revoked: ((OriginIdentity) -> Void)?
  /// The client for the proxy's own requests.
  public private(set) lazy var fetch = FetchClient(loop: loop)
  /// The TLS sessions of this loop, each with its verdict.
  let sessions = SessionCache()
  private(set) lazy var revocations = RevocationFetches(self)
  let logins = LoginWaits()
  private lazy var endpointGate = EndpointGate(self)
  private lazy var controlWays = ControlWays(self)
  /// Scratch for response heads that arrive in one piece. A head that arrives in pieces gets its own.
  public var responseHead = ResponseHead()

  /// What the origins' connections speak.
  let protocols = ProtocolMemory()

  private var pools = PoolTable()
  /// Pools that no entry leads to any more, until their last connection has ended.
  private var retiredPools: [ObjectIdentifier: OriginPool] = [:]
  private var contexts: [ContextKey: TLSContext] = [:]

  private struct ContextKey: Hashable {
    var trust, certificate: [UInt8]
    /// Policies with equal content stay apart, because the warnings of a context name its policy.
    var policy: String?
  }

  /// Creates the loop's upstreams and leaves them with the loop.
  public static func install(
    on loop: EventLoop, shared: SharedUpstreams, rules: UpstreamRules, observer: UpstreamObserver
  ) -> Upstreams {
    let upstreams = Upstreams(loop, shared, rules, observer)
    loop.install(upstreams)
    return upstreams
  }

  private init(_ loop: EventLoop, _ shared: SharedUpstreams, _ rules: UpstreamRules, _ observer: UpstreamObserver) {
    self.loop = loop
    self.shared = shared
    self.rules = rules
    self.observer = observer
    if loop.executor.index == 0 { shared.logins.keep(rules.parentAccounts) }
    fetch.gate = endpointGate
    fetch.ways = controlWays
    _ = revocations
  }

  static func of(_ loop: EventLoop) -> Upstreams { loop.resident(Upstreams.self) }

  // MARK: Configuration

  /// The parts of one configuration that stay valid under the next.
  public struct Kept {
    /// Name of the entry that leads to an origin under this trust; nil: none does.
    public var entry: (OriginIdentity) -> String?
    /// Digests of trust policies, and of client certificates, that are in use.
    public var policies, certificates: Set<[UInt8]>

    public init(policies: Set<[UInt8]>, certificates: Set<[UInt8]>, entry: @escaping (OriginIdentity) -> String?) {
      self.policies = policies
      self.certificates = certificates
      self.entry = entry
    }
  }

  /// Takes over the rules of the next configuration. Pools of origins that no entry leads to any more are retired. Contexts,
  /// sessions and fetch connections whose trust is gone are dropped.
  public func adopt(_ next: UpstreamRules, _ kept: Kept) {
    let addressesChanged = rules.forbiddenAddresses != next.forbiddenAddresses
    rules = next
    for pool in pools.all {
      let identity = pool.origin.identity
      pool.isOfEntry = false
      if let entry = kept.entry(identity), !(addressesChanged && identity.checksAddresses) {
        pool.upstream = entry
      } else {
        pools[identity] = nil
        pool.retire()
        pool.isForgotten = pool.isEmpty
        if !pool.isEmpty { retiredPools[ObjectIdentifier(pool)] = pool }
      }
    }
    fetch.keepOnly(kept.policies, certificates: kept.certificates)
    controlWays.adopted()
    contexts = contexts.filter {
      kept.policies.contains($0.key.trust) && kept.certificates.contains($0.key.certificate)
    }
    // The new configuration may correct a responder that failed.
    if loop.executor.index == 0 {
      shared.revocation.forgetFailures()
      let hops = Set(next.parents.map(\.hop)).union(next.origins.keys)
      shared.health.withLock { $0.keep(only: hops) }
      shared.logins.keep(next.parentAccounts)
    }
    sessions.retire { kept.policies.contains($0.policy) && kept.certificates.contains($0.identity) }
  }

  /// Gives the pools their new limit of connections. Requests in line may get a connection by it.
  public func adoptCapacity() { for pool in allPools { pool.adopt(capacity: rules.connections) } }

  // MARK: Pools

  /// - Parameter upstream: name of the entry that leads there.
  public func pool(of origin: Origin, named upstream: String) -> OriginPool {
    if let pool = pools[origin.identity] { return pool }
    let pool = OriginPool(origin, limit: shared.limits.limit(for: origin.identity.ofEitherForm), upstreams: self)
    pool.upstream = upstream
    pools[origin.identity] = pool
    return pool
  }

  /// The pool of the same origin to which HTTP/2 is offered.
  func pool(offering streams: StreamIdentity, like other: OriginPool) -> OriginPool {
    var identity = other.origin.identity
    identity.streams = streams
    return pools[identity] ?? pool(of: other.origin.offering(streams), named: other.upstream)
  }

  /// The current pools of one origin.
  func pools(sharing limit: OriginLimit) -> ContiguousArray<OriginPool> { pools.pools(sharing: limit) }

  /// Whether a way that is preferred to this connection's may work again: then the connection is not kept.
  func hasBetterWay(than connection: UpstreamConnection, on route: Route) -> Bool {
    guard route.ways.count > 1, let rank = route.ways.firstIndex(where: { $0 === connection.parent }), rank > 0 else {
      return false
    }
    let now = loop.now
    return shared.health.withLock { health in
      route.ways[..<rank].contains { way in way.map { health.isWorthTrying($0.hop, now: now) } ?? false }
    }
  }

  /// Tells the observer what is down, or works again.
  /// - Parameter error: what was the last straw, if a hop went down.
  func report(_ changes: [WayHealth.Change], _ error: UpstreamError? = nil) {
    for change in changes {
      if let (upstream, origin) = rules.origins[change.hop] {
        observer.originChanged(upstream: upstream, origin: origin, isUp: change.isUp)
      } else if change.hop.scheme != .origin {
        observer.parentChanged(name(of: change.hop), isUp: change.isUp, reason: change.isUp ? nil : error?.text)
      }
    }
  }

  /// The parent that is reached so, as the configuration names it.
  private func name(of hop: Hop) -> String { rules.parents.first { $0.hop == hop }?.name ?? "\(hop.host):\(hop.port)" }

  private var allPools: [OriginPool] { Array(pools.all) + Array(retiredPools.values) }

  func existingPool(_ identity: OriginIdentity) -> OriginPool? { pools[identity] }

  /// Requests elsewhere wait for a place of this origin.
  func surrenderIdle(of limit: OriginLimit) {
    for pool in pools(sharing: limit) { pool.surrenderIdle() }
  }

  /// A connection to an origin found no descriptor: each pool closes an idle connection.
  public func ranOutOfDescriptors() {
    observer.descriptorsExhausted()
    for pool in pools.all { pool.surrenderIdle() }
  }

  /// The pool, current or retired, whose requests are in line for a place of `limit` longest.
  func pool(wantingPlaceOf limit: OriginLimit, otherThan own: OriginPool? = nil) -> OriginPool? {
    var longest: OriginPool?
    var earliest = Int64.max
    func look(at pool: OriginPool) {
      guard pool !== own, let since = pool.waitsSince, since < earliest, pool.wantsPlace else { return }
      (longest, earliest) = (pool, since)
    }
    for pool in pools(sharing: limit) { look(at: pool) }
    for pool in retiredPools.values where pool.limit === limit { look(at: pool) }
    return longest
  }

  /// A place was given back. If no request here wants it any more, it wakes another loop.
  func placeFreed(of limit: OriginLimit) {
    if pool(wantingPlaceOf: limit) != nil { takePlaces(of: limit) } else { limit.wakeOne() }
  }

  /// Another loop has passed on the place of a connection that ended, for requests in line here.
  func placePassedOn(of limit: OriginLimit) {
    guard let pool = pool(wantingPlaceOf: limit) else { return limit.giveBack() }
    pool.placePassedOn()
    takePlaces(of: limit)
  }

  /// Lets the pools that want a place take one, until there is none. The loop is listed once for all of them, and was taken off the list:
  /// the first that gets none lists it again.
  private func takePlaces(of limit: OriginLimit) {
    while let pool = pool(wantingPlaceOf: limit) {
      pool.connectForLine()
      if pool.wantsPlace { return }
    }
  }

  /// The pool, current or retired, that holds back a request of that client longest.
  func pool(holdingBackFor share: OriginShare, otherThan own: OriginPool? = nil) -> OriginPool? {
    var longest: OriginPool?
    var earliest = Int64.max
    func look(at pool: OriginPool) {
      guard pool !== own, let since = pool.holdsBackSince(for: share), since < earliest else { return }
      (longest, earliest) = (pool, since)
    }
    for pool in pools.pools(of: share) { look(at: pool) }
    for pool in retiredPools.values { look(at: pool) }
    return longest
  }

  /// A place of that client's share was given back. If no request here is held back for it any more, it wakes another loop. As with places
  /// of the origin, the loop was taken off the list for all its pools: the first that gets none lists it again.
  func shareFreed(_ share: OriginShare) {
    guard pool(holdingBackFor: share) != nil else {
      share.wakeOne()
      return
    }
    while let pool = pool(holdingBackFor: share) {
      pool.shareFreed(share)
      if pool.holdsBack(for: share) { return }
    }
  }

  /// Drops the record of an empty pool, unless an entry of the current configuration refers to it.
  func emptied(_ pool: OriginPool) {
    if pool.isRetired {
      retiredPools[ObjectIdentifier(pool)] = nil
      pool.isForgotten = true
      return
    }
    let identity = pool.origin.identity
    guard pools[identity] === pool, !pool.isOfEntry else { return }
    pools[identity] = nil
    pool.isForgotten = true
  }

  /// A request that waited uses a pool whose record was dropped. If another pool has taken its place, this one is retired.
  func remember(_ pool: OriginPool) {
    pool.isForgotten = false
    let identity = pool.origin.identity
    if !pool.isRetired, pools[identity] == nil {
      pools[identity] = pool
    } else {
      pool.retire()
      retiredPools[ObjectIdentifier(pool)] = pool
    }
  }

  /// One SSL_CTX per policy and client certificate.
  func context(for origin: Origin) throws(OpenSSLError) -> TLSContext {
    guard let trust = origin.trust else { throw OpenSSLError(.configuration, "an http origin has no TLS") }
    return try context(trust, origin.clientIdentity, certificate: origin.identity.certificateDigest)
  }

  /// The same for a parent.
  func context(_ trust: TrustMaterial, _ identity: TLSIdentity?) throws(OpenSSLError) -> TLSContext {
    try context(trust, identity, certificate: PolicyDigest.of(identity))
  }

  private func context(
    _ trust: TrustMaterial, _ identity: TLSIdentity?, certificate: [UInt8]
  ) throws(OpenSSLError) -> TLSContext {
    let key = ContextKey(trust: trust.digest, certificate: certificate, policy: trust.policy.name)
    if let context = contexts[key] { return context }
    let context = try TLSContext.client(trust.evaluation.clientOptions(anchors: trust.anchors, identity: identity))
    contexts[key] = context
    return context
  }

  public func poolReports() -> [PoolReport] {
    var reports: [String: PoolReport] = [:]
    for pool in allPools {
      var report = reports[pool.upstream] ?? PoolReport(upstream: pool.upstream, idle: 0, active: 0, connecting: 0)
      report.idle += pool.idleCount
      report.active += pool.activeCount
      report.streams += pool.streamCount
      // Also while none of its connections speaks HTTP/2: as long as the other series of the entry.
      if pool.limit.hasStreams { report.hasStreams = true }
      report.connecting += pool.connectingCount
      if let expiry = pool.certificateExpiry { report.certificateExpiry = min(report.certificateExpiry ?? expiry, expiry) }
      reports[pool.upstream] = report
    }
    return reports.values.sorted { $0.upstream < $1.upstream }
  }
}
