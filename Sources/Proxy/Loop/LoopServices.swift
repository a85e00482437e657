import CSystem
import Cache
import EventIO
import HTTPWire
import Settings
import Trust
import Upstreams

import class Cache.CacheStore

/// What all loops share, apart from the snapshot.
public final class Shared: Sendable {
  public let group: LoopGroup
  let accounts = ClientAccounts()
  public let handshakes = SharedHandshakes()
  let registry: CredentialRegistry
  let buffers = SharedBuffers()
  let upstreams: SharedUpstreams
  /// All stored answers of the process, under `limits.cache`. It outlives reloads, which drop what they have changed.
  public let cache: CacheStore

  public init(group: LoopGroup) {
    self.group = group
    let cache = CacheStore(limit: Limits().cache, giveBack: { csys_trim_memory() })
    self.cache = cache
    registry = CredentialRegistry(cache)
    upstreams = SharedUpstreams(group: group)
  }

  /// The credentials of the configuration, sorted by name, as their owners last reported them.
  public var credentialReports: [CredentialReport] { registry.reports }
  /// The store that a fleet shares; nil: no credential is shared.
  public var storeReport: StoreReport? { registry.store.report }
  /// What is known about revocation.
  public func revocationReports(limit: Int) -> [RevocationReport] {
    upstreams.revocation.reports(now: wallClockSeconds(), limit: limit)
  }
  /// True while ending the process would lose a refresh token. That lasts as long as a token request at most.
  public var mustFinish: Bool { registry.mustFinish }
}

/// Everything mutable that the requests of one loop use. Confined to the loop, and lives as long as it.
final class LoopServices {
  let loop: EventLoop
  let shared: Shared
  let observer: LoopObserver
  let upstreams: Upstreams
  let credentials: CredentialDesk
  let handshakes: Handshakes
  let buffers: LoopBuffers
  let cacheDesk: CacheDesk
  /// New requests begin on this snapshot.
  private(set) var snapshot: Snapshot
  /// The loop drains: each connection closes after its current request.
  private(set) var isDraining = false
  /// Scratch for heads that arrive in one piece. A head that arrives in pieces gets its own.
  var requestHead = RequestHead()

  /// Of the origins that entries name.
  private var poolOfOrigin: ContiguousArray<OriginPool?>
  private var dateSecond: Int64 = -1
  private var dateLine: [UInt8] = []

  init(_ loop: EventLoop, _ shared: Shared, _ snapshot: Snapshot, _ observer: LoopObserver) {
    self.loop = loop
    self.shared = shared
    self.snapshot = snapshot
    self.observer = observer
    buffers = LoopBuffers(shared.buffers)
    cacheDesk = .install(on: loop, shared.cache)
    shared.buffers.bound(by: snapshot.settings.limits.buffers)
    upstreams = .install(on: loop, shared: shared.upstreams, rules: snapshot.upstreamRules, observer: observer)
    credentials = .install(
      on: loop, group: shared.group, registry: shared.registry, fetch: upstreams.fetch, observer: observer,
      gate: { [upstreams] check, done in upstreams.judge(check, done: done) })
    handshakes = .install(on: loop, shared.handshakes, snapshot)
    poolOfOrigin = ContiguousArray(repeating: nil, count: snapshot.originCount)
    upstreams.windows = buffers
    upstreams.revoked = { [unowned self] in shared.dropStored(of: $0, under: self.snapshot) }
  }

  /// From now on, requests begin on this snapshot.
  /// - Parameter entry: returns the entry that leads to an origin under this trust; pools without one are retired.
  func adopt(_ next: Snapshot, entry: @escaping (OriginIdentity) -> Entry?) {
    snapshot = next
    shared.buffers.bound(by: next.settings.limits.buffers)
    credentials.adopt(next)
    handshakes.adopt(next)
    poolOfOrigin = ContiguousArray(repeating: nil, count: next.originCount)
    upstreams.adopt(next.upstreamRules, next.kept { entry($0)?.name })
    observer.adopted(next)
  }

  func drain() {
    isDraining = true
    upstreams.isDraining = true
  }

  /// The pool of the origin that a request goes to. For entries of the current snapshot it is cached.
  func pool(of entry: Entry, in snapshot: Snapshot, host: String, port: UInt16, isHTTPS: Bool) -> OriginPool {
    guard let origin = entry.origin else {
      return upstreams.pool(of: snapshot.origin(of: entry, host: host, port: port, isHTTPS: isHTTPS), named: entry.name)
    }
    return pool(of: origin, entry.firstOrigin, of: entry, in: snapshot)
  }

  /// The pool of one of an entry's several origins.
  /// - Parameter index: in the entry's list.
  func pool(of index: Int, _ list: OriginList, of entry: Entry, in snapshot: Snapshot) -> OriginPool {
    pool(of: list.origins[index], entry.firstOrigin + index, of: entry, in: snapshot)
  }

  private func pool(of origin: Origin, _ index: Int, of entry: Entry, in snapshot: Snapshot) -> OriginPool {
    guard snapshot === self.snapshot else { return upstreams.pool(of: origin, named: entry.name) }
    if let pool = poolOfOrigin[index] { return pool }
    let pool = upstreams.pool(of: origin, named: entry.name)
    pool.isOfEntry = true
    poolOfOrigin[index] = pool
    return pool
  }

  /// `Date: ...\r\n`, formatted once a second.
  func currentDateLine() -> [UInt8] {
    let second = loop.now / 1_000_000_000
    if second != dateSecond {
      dateSecond = second
      let block = Block(capacity: 64)
      var writer = ByteWriter(block.base, capacity: block.capacity)
      writer.append("Date: ")
      writer.append(httpDate: wallClockSeconds())
      writer.appendCRLF()
      dateLine = Array(writer.written)
    }
    return dateLine
  }
}
