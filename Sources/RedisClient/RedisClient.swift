import EventIO
import RESP
import RedisProtocol

/// A fleet's store, for one process: one connection to the primary, over which records are read, replaced, and changes announced.
/// Confined to its loop.
///
///     waiting -> asking Sentinels -> connecting -> connected
///        ^____________|__________________|_____________|
///
/// In a cluster there is a connection more for each node to which the first one redirects. While it is idle, nothing wakes the loop.
public final class RedisClient: EventHandler {
  public enum Event: Sendable, Hashable {
    /// From now on changes are announced. Those before were missed, so records in use are to be read again.
    case connected(RedisServer)
    /// The store is out of reach, and attempts to connect go on. Said once until it is connected again.
    case lost(RedisFailure)
    /// Somebody has changed the record with this key, perhaps this process itself. May be missed, and may come twice.
    case changed(key: [UInt8])
  }

  private enum Home {
    case waiting
    case asking(SentinelQuestion)
    case connecting(RedisLink)
    case connected(RedisLink)
    case stopped
  }

  /// Operations that wait for a connection, or for the replies of one.
  private static let mostWaiting = 16_384

  private let settings: RedisSettings
  private unowned let loop: EventLoop
  private let security: RedisSecurity
  private let chance: () -> Double
  private let report: (Event) -> Void
  private var home = Home.waiting
  private var plan = RedisReconnection()
  private var round = SentinelRound([])
  /// Why the Sentinel that was asked last led to no primary.
  private var lastSentinel = "none was asked"
  private var isLost = false
  /// For the first connection. In the order of their deadlines, as all have the same time.
  private var waiting: [RedisOperation] = []
  /// Not accepted; they fail in the next turn.
  private var rejected: [(RedisOperation, RedisFailure)] = []
  private let cluster: RedisCluster
  /// To its channel, as the server counted them at the last connection; nil: there was none, or the node of a cluster knows its own only.
  public private(set) var subscribers: Int?

  /// Something is not saved that only this process has: it connects again as fast as for a waiting request.
  public var hasUnsaved = false {
    didSet { if hasUnsaved { schedule() } }
  }

  /// Does nothing before `start`.
  /// - Parameters:
  ///   - gate: asked if the trust policy checks revocation, and in any case for the end of a verdict.
  ///   - chance: from 0 up to 1; spreads the reconnections of a fleet.
  ///   - report: never called before a method returns.
  public init(
    _ settings: RedisSettings, on loop: EventLoop, gate: @escaping RevocationGate,
    chance: @escaping () -> Double = { Double.random(in: 0..<1) }, report: @escaping (Event) -> Void
  ) {
    self.settings = settings
    self.loop = loop
    self.chance = chance
    self.report = report
    security = RedisSecurity(settings, gate: gate)
    cluster = RedisCluster(settings, security, on: loop)
    if case .sentinels(let addresses, _, _) = settings.location { round = SentinelRound(addresses) }
  }

  public func start() { schedule() }

  /// Closes everything. What waits fails, in this call; nothing is reported any more. Without it the loop keeps the client.
  public func stop() {
    let before = home
    home = .stopped
    loop.forget(self)
    switch before {
    case .asking(let question): question.cancel()
    case .connecting(let link), .connected(let link): link.close(.stopped)
    case .waiting, .stopped: break
    }
    cluster.close(.stopped)
    failWaiting(.stopped)
    failRejected()
  }

  // MARK: Operations

  /// - Parameter deliver: called once, on the loop, and never before this returns.
  public func read(_ key: [UInt8], deliver: @escaping (Result<RedisReading, RedisOperationFailure>) -> Void) {
    submit(RedisOperation(key, .read(key), timeout: settings.timeout, .read(deliver)))
  }

  /// Replaces a record if it has exactly these bytes, and announces it to all clients, this one among them.
  /// - Parameters:
  ///   - expected: nil: there must be none.
  ///   - replacement: nil: there is none afterwards.
  ///   - milliseconds: after which the store forgets the record; nil: never.
  ///   - replicas: from how many an acknowledgement is waited for, for half of the time-out at most; 0: for none.
  ///   - deliver: called once, on the loop, and never before this returns.
  public func compareAndSet(
    _ key: [UInt8], expected: [UInt8]?, replacement: [UInt8]?, expiresAfter milliseconds: Int64? = nil, replicas: Int = 0,
    deliver: @escaping (Result<RedisSwapResult, RedisOperationFailure>) -> Void
  ) {
    let command = RESPCommand.compareAndSet(
      key, expected: expected, replacement: replacement, expiresAfter: milliseconds, channel: settings.channel)
    submit(RedisOperation(key, command, timeout: settings.timeout, .swap(replicas: replicas, deliver)))
  }

  /// The server that is connected now; nil: none.
  public var server: (address: RedisAddress, server: RedisServer)? {
    guard case .connected(let link) = home, let server = link.server else { return nil }
    return (link.address, server)
  }

  private func submit(_ operation: RedisOperation) {
    switch home {
    case .stopped: reject(operation, .stopped)
    case .connected(let link):
      let node = cluster.node(of: operation) ?? link
      guard node.load < Self.mostWaiting else { return reject(operation, .tooManyWaiting) }
      node.submit(operation)
    case .waiting, .asking, .connecting:
      guard waiting.count < Self.mostWaiting else { return reject(operation, .tooManyWaiting) }
      operation.deadline = loop.now + Int64(settings.timeout) * 1_000_000
      waiting.append(operation)
      schedule()
    }
  }

  private func reject(_ operation: RedisOperation, _ reason: RedisFailure) {
    rejected.append((operation, reason))
    loop.again(self)
  }

  private func failRejected() {
    let all = rejected
    rejected = []
    for (operation, reason) in all { operation.fail(reason) }
  }

  private func failWaiting(_ reason: RedisFailure) {
    let all = waiting
    waiting = []
    for operation in all { operation.fail(reason) }
  }

  // MARK: Time

  /// Arms the timer for what comes next, or has its turn at once.
  private func schedule() {
    var next = waiting.first?.deadline ?? Int64.max
    if case .waiting = home { next = min(next, plan.next(isUrgent: hasUnsaved || !waiting.isEmpty)) }
    if case .stopped = home { next = Int64.max }
    if next <= loop.now { loop.again(self) } else if next == Int64.max { loop.disarm(self) } else { loop.arm(self, at: next) }
  }

  override public func ready(_ events: UInt32, on loop: EventLoop) { turn() }
  override public func expired(on loop: EventLoop) { turn() }

  private func turn() {
    failRejected()
    while let first = waiting.first, first.deadline <= loop.now {
      waiting.removeFirst()
      first.fail(.connectTimeout(milliseconds: settings.timeout))
    }
    if case .waiting = home, plan.next(isUrgent: hasUnsaved || !waiting.isEmpty) <= loop.now { connect() }
    schedule()
  }

  // MARK: Connecting

  private func connect() {
    plan.began(now: loop.now)
    switch settings.location {
    case .server(let address): open(address)
    case .sentinels:
      round.begin()
      askSentinel()
    }
  }

  private func askSentinel() {
    guard case .sentinels(_, let name, let login) = settings.location else { return }
    guard let sentinel = round.ask() else { return failed(.noSentinel(lastSentinel)) }
    let question = SentinelQuestion(
      sentinel, name: name, login: login, security, timeout: settings.timeout, on: loop
    ) { [unowned self] result in
      switch result {
      case .success(let address): open(address, named: sentinel)
      case .failure(let failure):
        lastSentinel = "\(sentinel): \(failure)"
        askSentinel()
      }
    }
    home = .asking(question)
    question.start()
  }

  /// - Parameter sentinel: which named the address; nil: it is configured.
  private func open(_ address: RedisAddress, named sentinel: RedisAddress? = nil) {
    let session = RedisSession(
      .store(channel: settings.channel), login: settings.login, database: settings.database, timeout: settings.timeout)
    let link = RedisLink(to: address, session, security, timeout: settings.timeout, on: loop) { [unowned self] link, event in
      switch event {
      case .ready(let server): connected(link, server)
      case .changed(let key): report(.changed(key: key))
      case .redirected(let operation, let node, let asking): cluster.redirect(operation, to: node, from: link, asking: asking)
      case .ended(let failure): ended(failure, of: address, sentinel)
      }
    }
    home = .connecting(link)
    link.start()
  }

  private func connected(_ link: RedisLink, _ server: RedisServer) {
    home = .connected(link)
    cluster.home = link
    plan.succeeded(subscribers: server.subscribers)
    subscribers = server.mode == .cluster ? nil : server.subscribers
    round.wasRight()
    isLost = false
    report(.connected(server))
    let operations = waiting
    waiting = []
    for operation in operations { submit(operation) }
    schedule()
  }

  private func ended(_ failure: RedisFailure, of address: RedisAddress, _ sentinel: RedisAddress?) {
    switch home {
    case .connected:
      home = .waiting
      cluster.home = nil
      plan.lost(now: loop.now, chance: chance())
      lost(failure)
      schedule()
    case .connecting:
      // What a Sentinel says may be old: the next one may know better.
      guard let sentinel else { return failed(failure) }
      lastSentinel = "\(sentinel) names \(address): \(failure)"
      askSentinel()
    case .waiting, .asking, .stopped: break
    }
  }

  /// An attempt has led to no connection.
  private func failed(_ failure: RedisFailure) {
    home = .waiting
    plan.failed(now: loop.now, chance: chance())
    lost(failure)
    failWaiting(failure)
    schedule()
  }

  private func lost(_ failure: RedisFailure) {
    guard !isLost else { return }
    isLost = true
    report(.lost(failure))
  }
}
