import Crypto
import EventIO
import Fetch
import HTTPWire
import Settings
import TLS
import Trust

/// What all loops share, beside the snapshot.
public final class Shared: Sendable {
  public let group: LoopGroup
  let limits = OriginLimits()
  let accounts = SharedTable<ClientAccount.Key, ClientAccount>()
  let registry = CredentialRegistry()
  let revocation = RevocationCache()
  public init(group: LoopGroup) { self.group = group }
}

/// One loop's engine: everything that is not immutable, confined to the loop.
public final class Worker {
  let loop: EventLoop
  let shared: Shared
  public let observer: LoopObserver
  private(set) var snapshot: Snapshot
  var credentials = CredentialTable()
  /// For the proxy's own requests.
  private(set) lazy var fetch = FetchClient(loop: loop)
  private(set) var acceptors: [Acceptor] = []
  /// Of listeners that are gone from the configuration, until their queues are empty.
  private var retiringAcceptors: [Acceptor] = []
  /// Where this process listens beside its listeners: the admin's address.
  private var otherAddresses: [Address] = []
  private lazy var retirement = Retirement(self)
  private(set) var isDraining = false
  /// Of this loop's TLS connections, each with its verdict.
  let sessions = SessionCache()
  private(set) lazy var revocations = RevocationFetches(self)
  private lazy var endpointGate = EndpointGate(self)
  private var drainGrace = 0

  /// Scratch for heads that come in one piece; what trickles gets its own.
  var requestHead = RequestHead()
  var responseHead = ResponseHead()

  private var pools: [OriginIdentity: OriginPool] = [:]
  /// Those that no entry leads to any more, until their last connection has ended.
  private var retiredPools: [ObjectIdentifier: OriginPool] = [:]
  private var poolOfEntry: ContiguousArray<OriginPool?> = []
  private var clients = ContiguousArray<ClientConnection>()
  private var contexts: [ContextKey: TLSContext] = [:]
  private var dateSecond: Int64 = -1
  private var dateLine: [UInt8] = []

  var group: LoopGroup { shared.group }

  private struct ContextKey: Hashable {
    var trust, certificate: [UInt8]
    /// Policies of equal content stay apart, as a context's warnings bear its policy's name.
    var policy: String?
  }

  /// Creates the loop's worker and leaves it with the loop.
  @discardableResult
  public static func install(on loop: EventLoop, shared: Shared, snapshot: Snapshot, observer: LoopObserver) -> Worker {
    let worker = Worker(loop, shared, snapshot, observer)
    loop.context = worker
    return worker
  }

  private init(_ loop: EventLoop, _ shared: Shared, _ snapshot: Snapshot, _ observer: LoopObserver) {
    self.loop = loop
    self.shared = shared
    self.snapshot = snapshot
    self.observer = observer
    fetch.gate = endpointGate
    adopt(snapshot)
    _ = revocations
  }

  public static func of(_ loop: EventLoop) -> Worker {
    guard let worker = loop.context as? Worker else { preconditionFailure("the loop has no worker yet") }
    return worker
  }

  // MARK: Configuration

  /// From now on requests begin on this snapshot. Pools of origins that it no longer leads to are retired; exchanges that it has
  /// no place for end after `drain`.
  public func adopt(_ next: Snapshot) {
    let old = snapshot
    snapshot = next
    adoptCredentials(of: next)
    poolOfEntry = ContiguousArray(repeating: nil, count: next.entries.count)
    let addressesChanged = old.settings.forbiddenAddresses != next.settings.forbiddenAddresses
    let succession = Succession(to: next)
    for (identity, pool) in pools {
      if let entry = succession.entry(leadingTo: identity), !(addressesChanged && identity.checksAddresses) {
        pool.upstream = entry.name
      } else {
        pools[identity] = nil
        pool.retire()
        pool.isForgotten = pool.isEmpty
        if !pool.isEmpty { retiredPools[ObjectIdentifier(pool)] = pool }
      }
    }
    let policies = Set(next.trust.values.map(\.digest) + [next.defaultTrust.digest])
    let identities = Set(next.entries.map { PolicyDigest.of($0.identity) } + [[]])
    fetch.keepOnly(policies)
    contexts = contexts.filter { policies.contains($0.key.trust) && identities.contains($0.key.certificate) }
    // A responder that failed may be one that the new configuration puts right.
    if loop.executor.index == 0 { shared.revocation.forgetFailures() }
    sessions.retire { policies.contains($0.policy) && identities.contains($0.identity) }
    observer.adopted(next)
    let end = loop.now + Int64(next.settings.timeouts.drain) * 1_000_000
    for case let request? in clients.lazy.map(\.request) {
      // A second reload neither prolongs nor shortens what the first one gave.
      request.endsAt = succession.keeps(request) ? nil : request.endsAt ?? end
    }
    armRetirement()
    for pool in allPools { pool.adopt(capacity: next.settings.limits.upstreamConnections) }
  }

  /// Ends what a reload has cut off and whose time is up.
  func endCutOff() {
    for client in Array(clients) {
      guard let request = client.request, let end = request.endsAt, end <= loop.now else { continue }
      request.endsAt = nil
      client.cutOff()
    }
    armRetirement()
  }

  private func armRetirement() {
    let next = clients.lazy.compactMap { $0.request?.endsAt }.min()
    if let next { loop.arm(retirement, at: next) } else { loop.disarm(retirement) }
  }

  /// Listens on exactly these from now on; sockets that stay are not touched.
  /// - Parameter others: where the process listens, too, and what therefore is never connected to.
  public func listen(on listeners: [BoundListener], others: [Address] = []) {
    otherAddresses = others
    if isDraining { return }
    for acceptor in acceptors where !listeners.contains(where: { $0 === acceptor.listener }) {
      if listeners.contains(where: { $0.socket === acceptor.listener.socket }) { acceptor.stop() } else { retire(acceptor) }
    }
    acceptors = listeners.map { listener in
      acceptors.first { $0.listener === listener } ?? Acceptor(listener, self)
    }
    // Connections that were accepted before come under the listener's new settings, too: who must say who it is, above all.
    for client in clients {
      if let next = listeners.first(where: { $0.socket === client.listener.socket }) { client.listener = next }
    }
  }

  private func retire(_ acceptor: Acceptor) {
    retiringAcceptors.append(acceptor)
    acceptor.retire()
  }

  func stopped(_ acceptor: Acceptor) { retiringAcceptors.removeAll { $0 === acceptor } }

  var ownAddresses: [Address] { acceptors.map(\.listener.socket.address) + otherAddresses }

  /// No more accepting; connections end with their present exchange, and idle ones after `grace` milliseconds, in which they are
  /// told with their next answer.
  public func drain(grace: Int) {
    isDraining = true
    for acceptor in acceptors { retire(acceptor) }
    acceptors = []
    for client in Array(clients) { client.drain(grace: grace) }
    drainGrace = grace
  }

  // MARK: Clients

  func adopt(_ descriptor: Int32, _ peer: Address, _ listener: BoundListener) {
    // The message may have been slower than a reload.
    let current = acceptors.first { $0.listener.socket === listener.socket }?.listener ?? listener
    let client = ClientConnection(descriptor, peer: peer, listener: current, worker: self)
    client.place = clients.count
    clients.append(client)
    if !client.begin() { for acceptor in acceptors { acceptor.pauseForLack() } }
    if isDraining { client.drain(grace: drainGrace) }
  }

  func ended(_ client: ClientConnection) {
    let last = clients.removeLast()
    if last !== client {
      clients[client.place] = last
      last.place = client.place
    }
    if group.closed(on: loop.executor.index) {
      group.all { loop in for acceptor in Worker.of(loop).acceptors { acceptor.resume() } }
    }
  }

  // MARK: Origins

  func pool(of entry: Entry, in snapshot: Snapshot, host: String, port: UInt16, isHTTPS: Bool) -> OriginPool {
    if let origin = entry.origin {
      if snapshot === self.snapshot {
        if let pool = poolOfEntry[entry.index] { return pool }
        let pool = self.pool(of: origin, named: entry.name)
        poolOfEntry[entry.index] = pool
        return pool
      }
      return pool(of: origin, named: entry.name)
    }
    let origin = snapshot.origin(of: entry, host: host, port: port, isHTTPS: isHTTPS)
    return pool(of: origin, named: entry.name)
  }

  private func pool(of origin: Origin, named upstream: String) -> OriginPool {
    if let pool = pools[origin.identity] { return pool }
    let pool = OriginPool(origin, limit: shared.limits.limit(for: origin.identity), worker: self)
    pool.upstream = upstream
    pools[origin.identity] = pool
    return pool
  }

  var allPools: [OriginPool] { Array(pools.values) + Array(retiredPools.values) }

  func existingPool(_ identity: OriginIdentity) -> OriginPool? { pools[identity] }

  /// For a connection to an origin: idle ones to others are worth less.
  func ranOutOfDescriptors() {
    observer.descriptorsExhausted()
    for pool in pools.values { pool.surrenderIdle() }
  }

  /// One whose requests are in line for a place, in the configuration that is or in one that was.
  func pool(wantingPlaceOf limit: OriginLimit) -> OriginPool? {
    if let pool = pools[limit.identity], pool.limit === limit, pool.wantsPlace { return pool }
    return retiredPools.values.first { $0.limit === limit && $0.wantsPlace }
  }

  /// One that holds requests of that client back, in the configuration that is or in one that was.
  func pool(holdingBackFor share: OriginShare) -> OriginPool? {
    if let pool = pools[share.origin], pool.holdsBack(for: share) { return pool }
    return retiredPools.values.first { $0.holdsBack(for: share) }
  }

  /// A pool of an origin that no entry names has nothing left: its record goes.
  func emptied(_ pool: OriginPool) {
    if pool.isRetired {
      retiredPools[ObjectIdentifier(pool)] = nil
      pool.isForgotten = true
      return
    }
    let identity = pool.origin.identity
    guard pools[identity] === pool, !poolOfEntry.contains(where: { $0 === pool }) else { return }
    pools[identity] = nil
    pool.isForgotten = true
  }

  /// A request that waited uses a pool that had been emptied meanwhile. Where another one has its place, it ends with its exchanges.
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
    let key = ContextKey(
      trust: origin.identity.trustDigest, certificate: origin.identity.certificateDigest, policy: origin.trust?.policy.name)
    if let context = contexts[key] { return context }
    let context = try TLSContext.client(for: origin)
    contexts[key] = context
    return context
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
