import Credentials
import EventIO
import Fetch
import JSON
import Trust

/// A fleet's store in one Secret of Kubernetes, for one process: reads, replaces entries at a resourceVersion, and watches. Confined to its
/// loop.
///
///     waiting -> looking (GET) -> opening (watch) -> watching
///        ^__________|_______________|_________________|  resting, until the watch goes on
///
/// A read is answered by a GET that begins after it was asked for, one for all that wait. Writes follow one another, as each changes the
/// version for the next.
public final class KubernetesEngine: EventHandler, RecordEngine {
  private enum Home {
    /// Not connected.
    case waiting
    case looking(APIExchange)
    case opening(SecretWatch)
    case watching(SecretWatch)
    /// Connected; the next watch goes on at this version, nil: the object is read first.
    case resting(version: String?)
    case stopped
  }

  private let client: APIClient
  private unowned let loop: EventLoop
  private let chance: () -> Double
  private let report: (RecordEngineEvent) -> Void
  private var home = Home.waiting
  private var plan = WatchPlan()
  /// Changes are announced, and commands are sent.
  private var isConnected = false
  private var isLost = false
  /// The version that the last watch went on at had just been read.
  private var isFresh = false
  /// When the last watch began; nanoseconds of the loop's clock.
  private var beganAt: Int64 = 0
  /// What the last event said: later ones are compared with it.
  private var announced: SecretObject?
  private let commands: CommandQueue

  /// Whoever may read a Secret may watch it, and nobody is told of the others.
  public let readers: Int? = nil

  /// Something is not saved that only this process has.
  public var hasUnsaved = false {
    didSet { if hasUnsaved { schedule() } }
  }

  /// Does nothing before `start`.
  /// - Parameters:
  ///   - trust: judges an https server; nil: for http.
  ///   - gate: judges revocation; nil: it is not checked.
  ///   - chance: from 0 up to 1; spreads what a fleet does.
  ///   - report: never called before a method returns.
  public init(
    _ settings: KubernetesSettings, on loop: EventLoop, under trust: TrustMaterial?, gate: (any FetchGate)?,
    chance: @escaping () -> Double = { Double.random(in: 0..<1) }, report: @escaping (RecordEngineEvent) -> Void
  ) {
    self.loop = loop
    self.chance = chance
    self.report = report
    client = APIClient(settings, on: loop, under: trust, gate: gate)
    commands = CommandQueue(client, on: loop, chance: chance)
    super.init()
    commands.failed = { [unowned self] failure in commandFailed(failure) }
  }

  public func start() { loop.again(self) }

  /// The owner calls it before it lets go of the engine: requests that are under way refer to it.
  public func stop() {
    let before = home
    home = .stopped
    isConnected = false
    loop.forget(self)
    switch before {
    case .looking(let exchange): exchange.cancel()
    case .opening(let watch), .watching(let watch): watch.cancel()
    case .waiting, .resting, .stopped: break
    }
    commands.stop()
  }

  public func perform(_ command: SealedRecord.Command, deliver: @escaping (SealedRecord.Reply) -> Void) {
    commands.add(command, deliver)
    loop.again(self)
  }

  // MARK: Time

  private var isStopped: Bool { if case .stopped = home { true } else { false } }
  private var isUrgent: Bool { hasUnsaved || commands.isWaiting }

  private func schedule() {
    switch home {
    case .waiting: loop.arm(self, at: max(plan.next(isUrgent: isUrgent), loop.now))
    case .resting: loop.arm(self, at: max(plan.next(isUrgent: false), loop.now))
    case .looking, .opening, .watching, .stopped: loop.disarm(self)
    }
  }

  override public func ready(_ events: UInt32, on loop: EventLoop) { turn() }
  override public func expired(on loop: EventLoop) { turn() }

  private func turn() {
    switch home {
    case .waiting where plan.next(isUrgent: isUrgent) <= loop.now: look()
    case .resting(let version) where plan.next(isUrgent: false) <= loop.now:
      if let version { open(from: version, isFresh: false) } else { look() }
    case .waiting, .resting, .looking, .opening, .watching, .stopped: break
    }
    commands.advance(isConnected: isConnected)
    schedule()
  }

  // MARK: Connecting

  /// Reads the object: from its version on, changes are reported.
  private func look() {
    plan.began(now: loop.now)
    let exchange = client.send(.get(client.settings), timeout: client.settings.timeout) { [unowned self] result in
      switch result.flatMap({ commands.object(of: $0) }) {
      case .success(let object):
        // After a connection everything is read.
        if isConnected { announce(object) } else { announced = object }
        if !isStopped { open(from: object.version, isFresh: true) }
      case .failure(let failure): attemptFailed(failure)
      }
      schedule()
    }
    home = .looking(exchange)
  }

  private func open(from version: String, isFresh: Bool) {
    plan.began(now: loop.now)
    self.isFresh = isFresh
    let watch = SecretWatch(client, from: version, on: loop) { [unowned self] in happened($0, $1) }
    home = .opening(watch)
    watch.start(chance: chance())
  }

  private func happened(_ watch: SecretWatch, _ event: SecretWatch.Event) {
    switch event {
    case .began:
      home = .watching(watch)
      isFresh = false
      beganAt = loop.now
      isLost = false
      if !isConnected {
        isConnected = true
        report(.connected)
        if isConnected { commands.advance(isConnected: true) }
      }
    case .object(let object): announce(object)
    case .ended(let version, let failure):
      if let failure {
        if case .opening = home { attemptFailed(failure) } else { lost(failure) }
      } else if isConnected, !isFresh {
        home = .resting(version: version)
        plan.ended(after: loop.now - beganAt, now: loop.now, chance: chance())
      } else {
        // 410 for what was read a moment ago: the next attempt is no better at once.
        attemptFailed(.expired)
      }
    }
    schedule()
  }

  private func announce(_ object: SecretObject) {
    let changes = object.changes(since: announced)
    announced = object
    commands.saw(object)
    for key in changes.sorted() where !isStopped { report(.changed(key: key)) }
  }

  // MARK: Losing

  private func commandFailed(_ failure: KubernetesFailure) {
    if let seconds = failure.retryAfter { plan.quiet(seconds, now: loop.now) }
    guard isConnected, !failure.isOfCommand else { return }
    lost(failure)
    schedule()
  }

  /// The store was in reach.
  private func lost(_ failure: KubernetesFailure) {
    leave()
    plan.ended(after: loop.now - beganAt, now: loop.now, chance: chance())
    tell(failure)
  }

  /// An attempt to reach it has failed: those who wait for it are told.
  private func attemptFailed(_ failure: KubernetesFailure) {
    leave()
    if let seconds = failure.retryAfter { plan.quiet(seconds, now: loop.now) }
    plan.failed(now: loop.now, chance: chance())
    tell(failure)
    commands.failWaiting(failure)
  }

  private func leave() {
    if case .watching(let watch) = home { watch.cancel() }
    if case .opening(let watch) = home { watch.cancel() }
    if case .looking(let exchange) = home { exchange.cancel() }
    home = .waiting
    isConnected = false
    commands.disconnected()
  }

  private func tell(_ failure: KubernetesFailure) {
    guard !isLost else { return }
    isLost = true
    report(.lost("\(failure)"))
  }
}
