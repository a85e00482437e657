import CSystem
import Dispatch
import EventIO
import Logging
import Proxy
import Settings
import SmallHTTP
import Synchronization
import Trust
import Upstreams

/// The running proxy: loops, listeners, and the configuration in use. Reloads run one after another on their own queue; a
/// shutdown does not wait for them.
public final class Service: Sendable {
  public let group: LoopGroup
  public let shared: Shared
  public let output: LogOutput
  public let logger: Logger
  private let trustLog: TrustLog
  let version: String
  let format: OperationalLogHandler.Format
  let builder: SnapshotBuilder
  let source: ConfigurationSource
  let supervisor: Supervisor
  let reloads = DispatchQueue(label: "reloads")
  let shutdowns = DispatchQueue(label: "shutdown")
  let purges = DispatchQueue(label: "purges")
  private let reopenings = DispatchQueue(label: "log reopening")
  let state: Mutex<State>
  private let threads: Int

  struct State {
    var snapshot: Snapshot?
    var listeners: [BoundListener] = []
    var admin: BoundListener?
    /// Retired listeners that may not be closed yet.
    var lingering: [BoundListener] = []
    var lifecycle = LifecycleReport()
    var watch = Watch()
    var publication = Publication()
    /// Number of the timer that counts; earlier timers do nothing.
    var watchTurn = 0
  }

  /// - Parameters:
  ///   - threads: event loops.
  ///   - source: what reloads read; also the source of the configuration for `start`.
  public init(
    threads: Int, version: String, output: LogOutput, log: LogSettings, supervisor: Supervisor, source: ConfigurationSource
  ) {
    self.threads = threads
    self.version = version
    self.output = output
    self.supervisor = supervisor
    self.source = source
    let format = OperationalLogHandler.Format()
    format.follow(log)
    self.format = format
    logger = Logger(label: "authproxy") { _ in OperationalLogHandler(output, format) }
    let trustLog = TrustLog(logger)
    self.trustLog = trustLog
    builder = SnapshotBuilder { trustLog.warn($0) }
    group = LoopGroup(count: threads)
    shared = Shared(group: group)
    state = Mutex(State())
  }

  /// Builds the configuration, binds the listeners, starts the loops, and logs `serving` with the addresses.
  /// - Returns: the listeners' addresses, with real ports.
  @discardableResult
  public func start(_ loaded: LoadedConfiguration, _ settings: Settings) throws(StartError) -> [Address] {
    let snapshot: Snapshot
    do { snapshot = try builder.build(settings, sources: loaded.secretSources, generation: 1) } catch {
      throw StartError(kind: .load, description: "\(error)")
    }
    // Before anything is published: a second proxy, started by mistake, fails here, and apps of the first one keep its roots.
    let plan = try ListenerPlan(from: [], to: Self.wanted(settings))
    var publication = Publication()
    do throws(Publication.Failure) {
      try publication.follow(snapshot, isDemanded: true, now: csys_wall_clock() / 1_000_000_000, logger)
    } catch {
      plan.takeBack()
      throw StartError(kind: .load, description: "\(error)")
    }
    let published = publication
    let (listeners, admin) = Self.split(plan.listeners, settings)
    group.connectionLimit = settings.limits.connections
    shared.cache.set(limit: settings.limits.cache)
    group.start()
    let (shared, output, format, trustLog) = (shared, output, format, trustLog)
    let others = admin.map { [$0.socket.address] } ?? []
    onEveryLoop { loop in
      Worker.install(
        on: loop, shared: shared, snapshot: snapshot, observer: LoopRecorder(loop, output, format, trustLog, log: settings.log))
    }
    // After every loop has its worker, as workers send each other messages from the first request on.
    onEveryLoop { Worker.of($0).listen(on: listeners, others: others) }
    state.withLock {
      $0.snapshot = snapshot
      $0.listeners = listeners
      $0.admin = admin
      $0.publication = published
      $0.lifecycle.started = Int(csys_wall_clock() / 1_000_000_000)
      $0.lifecycle.phase = .serving
      $0.lifecycle.follow(snapshot, listeners)
      $0.watch.follow(loaded, interval: settings.watchInterval, now: csys_monotonic())
    }
    serveAdmin(admin, settings.admin)
    scheduleWatch()
    supervisor.watch(group.executors)
    supervisor.ready("serving")
    warn(of: loaded)
    var metadata: Logger.Metadata = ["addresses": .array(listeners.map { .string("\($0.socket.address)") })]
    if let admin { metadata["admin"] = .string("\(admin.socket.address)") }
    logger.info("serving", metadata: metadata)
    csys_release_code()
    return listeners.map(\.socket.address)
  }

  /// The listeners' addresses, with real ports.
  public var addresses: [Address] { state.withLock { $0.listeners.map(\.socket.address) } }

  /// What to bind: the listeners, then the admin listener.
  static func wanted(_ settings: Settings) -> [ListenerSettings] {
    settings.listeners + (settings.admin.map { [ListenerSettings(endpoint: $0.endpoint)] } ?? [])
  }
  static func split(_ bound: [BoundListener], _ settings: Settings) -> ([BoundListener], BoundListener?) {
    settings.admin == nil ? (bound, nil) : (Array(bound.dropLast()), bound.last)
  }

  /// Logs the warnings of each configuration that the proxy puts into use, for example about a `disabled` trust policy. A reload
  /// that changes nothing logs none.
  func warn(of loaded: LoadedConfiguration) {
    for warning in loaded.warnings { logger.warning("configuration", metadata: ["warning": "\(warning)"]) }
  }

  /// Runs `body` on every loop and waits for all of them.
  func onEveryLoop(_ body: @escaping @Sendable (EventLoop) -> Void) {
    let waiter = DispatchGroup()
    for executor in group.executors {
      waiter.enter()
      executor.call { loop in
        body(loop)
        waiter.leave()
      }
    }
    waiter.wait()
  }

  /// The admin listener lives on the first loop.
  func serveAdmin(_ listener: BoundListener?, _ settings: AdminSettings?) {
    group.executors[0].call { loop in
      guard let recorder = LoopRecorder.of(loop) else { return }
      recorder.admin?.stop()
      recorder.admin = nil
      guard let listener, let settings else { return }
      let pages = AdminPages(settings: settings, service: self)
      recorder.admin = HTTPServer(on: loop, socket: listener.socket, limits: AdminPages.limits) { pages.answer($0, $1) }
    }
  }

  var lifecycle: LifecycleReport { state.withLock { $0.lifecycle } }

  /// Collects the figures of loops and credential owners. None of them waits.
  func gather(_ deliver: @escaping @Sendable (Figures) -> Void) {
    let lifecycle = lifecycle
    var figures = Figures(lifecycle: lifecycle, version: version)
    figures.connections = group.connections
    figures.logLinesDropped = output.dropped
    figures.credentials = shared.credentialReports
    figures.note(shared.storeReport)
    figures.leafs = shared.handshakes.leafs.figures
    figures.cache = StoreFigures(shared.cache)
    let gathering = Gathering(figures, parts: group.executors.count, deliver)
    for executor in group.executors {
      executor.call { loop in
        let worker = Worker.of(loop)
        let (counters, pools) = (LoopRecorder.of(loop)?.counters ?? LoopCounters(), worker.upstreams.poolReports())
        let (hashed, kept) = (worker.hashedBodies, worker.keptBodies)
        let (parentsUp, originsUp) = (worker.parentsUp, worker.originsUp)
        let waiting = worker.waitingForAnswers
        gathering.add {
          $0.counters += counters
          $0.bodies.hashed += hashed
          $0.bodies.kept += kept
          $0.cache.waiting += waiting
          // The process has one memory of it.
          $0.health = Figures.Health(parents: parentsUp, origins: originsUp)
          $0.add(pools)
        }
      }
    }
  }

  /// Opens the log file again, after a rotation renamed it. Returns at once.
  public func reopenLog() {
    reopenings.async { @Sendable in
      do { try self.output.reopen() } catch {
        self.logger.error("the log file could not be reopened; the old one stays in use", metadata: ["error": "\(error)"])
      }
    }
  }

  /// Writes out the loops' buffered log lines. Gives up after this time, as a hanging loop or log reader must not keep the
  /// process from exiting.
  public func flushLogs(within milliseconds: Int = 1_000) {
    let deadline = csys_monotonic() + Int64(milliseconds) * 1_000_000
    let waiter = DispatchGroup()
    for executor in group.executors {
      waiter.enter()
      executor.call { loop in
        LoopRecorder.of(loop)?.flush()
        waiter.leave()
      }
    }
    _ = waiter.wait(timeout: .now() + .milliseconds(milliseconds))
    output.flush(within: Int(max(deadline - csys_monotonic(), 0) / 1_000_000))
  }
}

/// Collects figures in parts; the last part delivers them.
private final class Gathering: Sendable {
  private struct State {
    var figures: Figures
    var left: Int
  }
  private let state: Mutex<State>
  private let deliver: @Sendable (Figures) -> Void

  init(_ figures: Figures, parts: Int, _ deliver: @escaping @Sendable (Figures) -> Void) {
    state = Mutex(State(figures: figures, left: parts))
    self.deliver = deliver
  }

  func add(_ part: (inout Figures) -> Void) {
    let whole: Figures? = state.withLock {
      part(&$0.figures)
      $0.left -= 1
      return $0.left == 0 ? $0.figures : nil
    }
    if let whole { deliver(whole) }
  }
}

extension Figures {
  mutating func add(_ reports: [PoolReport]) {
    for report in reports {
      if let index = pools.firstIndex(where: { $0.upstream == report.upstream }) {
        pools[index].idle += report.idle
        pools[index].active += report.active
        pools[index].connecting += report.connecting
        if let expiry = report.certificateExpiry {
          pools[index].certificateExpiry = min(pools[index].certificateExpiry ?? expiry, expiry)
        }
      } else {
        pools.append(report)
      }
    }
  }
}

extension LifecycleReport {
  mutating func follow(_ snapshot: Snapshot, _ listeners: [BoundListener]) {
    generation = snapshot.generation
    addresses = listeners.map(\.socket.address.description)
    proxyProtocolAddresses = listeners.filter { $0.settings.proxyProtocol != nil }.map(\.socket.address.description)
    pinExpiries = snapshot.settings.trust.sorted { $0.key < $1.key }.compactMap { name, policy in
      policy.pinExpiry.map { (name, $0) }
    }
    authorityExpiries = (snapshot.intercept?.authorities.list ?? []).map { authority in
      let mark = authority.fingerprint.prefix(8).map { String(UInt16($0) + 0x100, radix: 16).dropFirst() }.joined()
      return (mark, authority.notAfter)
    }
  }
}
