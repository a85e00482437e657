import EventIO
import Fetch
import Upstreams

/// One loop's engine: listeners, client connections and the configuration that they serve. Confined to the loop, which owns it.
public final class Worker {
  let services: LoopServices
  private lazy var register = ClientRegister(services) { [services] in
    services.shared.group.all { loop in for acceptor in Worker.of(loop).acceptors { acceptor.resume() } }
  }
  private(set) var acceptors: [Acceptor] = []
  /// Acceptors of listeners that the configuration no longer has, until their queues are empty.
  private var retiringAcceptors: [Acceptor] = []
  /// The other addresses on which this process listens: the admin listener's.
  private var otherAddresses: [Address] = []
  private lazy var cutOffTimer = CutOffTimer(self)

  public var loop: EventLoop { services.loop }
  var group: LoopGroup { services.shared.group }
  public var observer: LoopObserver { services.observer }
  public var upstreams: Upstreams { services.upstreams }
  /// Bytes of bodies that this loop reads whole before it sends them.
  public var hashedBodies: Int { services.buffers.whole }
  /// Bytes of bodies that this loop keeps, as `limits.buffers` counts them.
  public var keptBodies: Int { services.buffers.lent }
  /// Requests of this loop that wait for the answer to an identical one.
  public var waitingForAnswers: Int { services.cacheDesk.waitingCount }
  /// The configuration's parent proxies, and whether each works, as far as the process knows.
  public var parentsUp: [(name: String, isUp: Bool)] {
    services.shared.upstreams.parentsUp(services.snapshot.settings.parents)
  }

  /// The same of the origins of entries that have several.
  public var originsUp: [OriginReport] {
    services.snapshot.entries.flatMap { $0.origins?.report(services.shared.upstreams, named: $0.name) ?? [] }
  }

  /// Creates the loop's worker and leaves it with the loop.
  @discardableResult
  public static func install(on loop: EventLoop, shared: Shared, snapshot: Snapshot, observer: LoopObserver) -> Worker {
    let worker = Worker(LoopServices(loop, shared, snapshot, observer))
    loop.install(worker)
    worker.adopt(snapshot)
    return worker
  }

  private init(_ services: LoopServices) { self.services = services }

  public static func of(_ loop: EventLoop) -> Worker { loop.resident(Worker.self) }

  // MARK: Configuration

  /// From now on, requests begin on this snapshot. Pools of origins that it does not lead to are retired. Exchanges that it does
  /// not keep (`Succession.keeps`) end after `drain`.
  public func adopt(_ next: Snapshot) {
    let succession = Succession(to: next)
    services.adopt(next) { succession.entry(leadingTo: $0) }
    if next.mayFetch { FetchClient.prepare() }
    let end = loop.now + Int64(next.settings.timeouts.drain) * 1_000_000
    for request in register.requests {
      // A second reload neither extends nor shortens the time that the first one gave.
      request.endsAt = succession.keeps(request) ? nil : request.endsAt ?? end
    }
    armCutOffTimer()
    upstreams.adoptCapacity()
  }

  /// Ends exchanges that a reload has cut off and whose time is up.
  func endCutOff() {
    for request in register.requests {
      guard let end = request.endsAt, end <= loop.now else { continue }
      request.endsAt = nil
      request.cutOff()
    }
    armCutOffTimer()
  }

  private func armCutOffTimer() {
    let next = register.requests.lazy.compactMap(\.endsAt).min()
    if let next { loop.arm(cutOffTimer, at: next) } else { loop.disarm(cutOffTimer) }
  }

  /// From now on, listens on exactly these. Sockets that stay are not touched.
  /// - Parameter others: other addresses on which the process listens. The proxy never connects to its own addresses.
  public func listen(on listeners: [BoundListener], others: [Address] = []) {
    otherAddresses = others
    if services.isDraining { return }
    for acceptor in acceptors where !listeners.contains(where: { $0 === acceptor.listener }) {
      if listeners.contains(where: { $0.socket === acceptor.listener.socket }) { acceptor.stop() } else { retire(acceptor) }
    }
    acceptors = listeners.map { listener in
      acceptors.first { $0.listener === listener } ?? Acceptor(listener, self)
    }
    noteOwnAddresses()
    register.adopt(listeners)
  }

  private func retire(_ acceptor: Acceptor) {
    retiringAcceptors.append(acceptor)
    acceptor.retire()
  }

  func stopped(_ acceptor: Acceptor) { retiringAcceptors.removeAll { $0 === acceptor } }

  private func noteOwnAddresses() { upstreams.ownAddresses = acceptors.map(\.listener.socket.address) + otherAddresses }

  /// Stops accepting. Connections close after their current exchange. Idle ones close after `grace` milliseconds. A request
  /// that arrives before that is the last one, and its answer says so.
  public func drain(grace: Int) {
    services.drain()
    for acceptor in acceptors { retire(acceptor) }
    acceptors = []
    noteOwnAddresses()
    register.drain(grace: grace)
  }

  // MARK: Clients

  func adopt(_ descriptor: Int32, _ peer: Address, _ listener: BoundListener) {
    // A reload may have been faster than this message.
    let current = acceptors.first { $0.listener.socket === listener.socket }?.listener ?? listener
    if !register.adopt(descriptor, peer, current) { for acceptor in acceptors { acceptor.pauseForLack() } }
  }
}
