import Credentials
import EventIO
import KubernetesStore
import RedisClient
import Synchronization
import Upstreams

/// The process's connection to the fleet's store: on the first loop, for the owners of all loops. Confined to that loop, which owns it.
final class StoreKeeper {
  private unowned let loop: EventLoop
  private let group: LoopGroup
  private let standing: StoreStanding
  private let observer: LoopObserver
  private let gate: RevocationGate
  private var plan: StorePlan?
  private var generation = 0
  private var engine: (any RecordEngine)?
  /// Owners that have a token which no other process has.
  private var unsaved: Set<UInt64> = []

  /// - Parameter gate: of rediss://.
  init(
    on loop: EventLoop, _ group: LoopGroup, _ standing: StoreStanding, _ observer: LoopObserver, gate: @escaping RevocationGate
  ) {
    self.loop = loop
    self.group = group
    self.standing = standing
    self.observer = observer
    self.gate = gate
    loop.install(self)
  }

  /// Connects anew if the store is another one, or is reached otherwise.
  /// - Parameter generation: of the configuration. An older one than that in use changes nothing.
  func adopt(_ next: StorePlan?, generation: Int) {
    guard generation > self.generation else { return }
    self.generation = generation
    if let next, let plan, next.connects(as: plan) {
      self.plan = next
      standing.follow(next)
      return
    }
    guard plan != nil || next != nil else { return }
    engine?.stop()
    engine = nil
    if plan != nil { tellAll { $0.lost() } }
    plan = next
    standing.begin(next)
    guard let next else { return }
    let engine = Self.engine(for: next, on: loop, gate: gate) { [unowned self] in happened($0) }
    self.engine = engine
    engine.hasUnsaved = !unsaved.isEmpty
    engine.start()
  }

  /// - Parameter report: never called before this returns.
  static func engine(
    for plan: StorePlan, on loop: EventLoop, gate: @escaping RevocationGate, report: @escaping (RecordEngineEvent) -> Void
  ) -> any RecordEngine {
    switch plan.server {
    case .redis(let settings):
      return RedisEngine(settings, replicas: plan.settings.replicas, on: loop, gate: gate, report: report)
    case .kubernetes(let settings, let trust):
      return KubernetesEngine(
        KubernetesSettings(settings), on: loop, under: trust, gate: loop.resident(Upstreams.self).fetch.gate, report: report)
    }
  }

  /// - Parameter plan: of the owner that asks. Its message may arrive before the reload's own.
  func perform(_ command: SealedRecord.Command, under plan: StorePlan, reply: @escaping (SealedRecord.Reply) -> Void) {
    adopt(plan, generation: plan.generation)
    // An owner of an earlier configuration may still ask.
    guard let engine, self.plan?.keeps(plan) == true else { return reply(.failed("the proxy no longer uses it")) }
    engine.perform(command, deliver: reply)
  }

  /// - Parameter owner: unique in the process.
  func note(unsaved isUnsaved: Bool, of owner: UInt64) {
    if isUnsaved { unsaved.insert(owner) } else { unsaved.remove(owner) }
    engine?.hasUnsaved = !unsaved.isEmpty
  }

  private func happened(_ event: RecordEngineEvent) {
    switch event {
    case .connected:
      if standing.isUp != true { observer.storeChanged(plan?.address ?? "", isUp: true, reason: nil) }
      standing.note(isUp: true, reason: nil)
      tellAll { $0.connected() }
    case .lost(let reason):
      if standing.isUp != false { observer.storeChanged(plan?.address ?? "", isUp: false, reason: reason) }
      standing.note(isUp: false, reason: reason)
      tellAll { $0.lost() }
    case .changed(let key):
      let spread = RecordSpread.milliseconds(readers: engine?.readers)
      tellAll { $0.changed(key, spread: spread) }
    }
  }

  private func tellAll(_ body: @escaping @Sendable (StoreLink) -> Void) {
    // A loop that has no desk yet asks once it has one.
    let standing = standing
    for executor in group.executors {
      executor.call { loop in if standing.hasDesk(loop) { body(CredentialDesk.of(loop).store) } }
    }
  }

  /// A loop has begun, perhaps after the connection.
  func greet(_ executor: LoopExecutor) {
    guard standing.isUp == true else { return }
    executor.call { loop in CredentialDesk.of(loop).store.connected() }
  }
}

/// The fleet's token store, for people and scripts.
public struct StoreReport: Sendable {
  /// `redis://host:6379`, without user and password.
  public var address: String
  /// nil: the first attempt to connect has not ended.
  public var isUp: Bool?
  /// Why it is not; nil if it is.
  public var reason: String?
  /// Seconds since 1970: of the last change.
  public var since: Int64
}

/// What all loops know about the fleet's store.
final class StoreStanding: Sendable {
  private let known = Mutex<StoreReport?>(nil)
  private let plan = Mutex<StorePlan?>(nil)
  /// Indices of the loops that have one.
  private let desks = Mutex<Set<Int>>([])

  /// The loop's desk is in place. Its messages may arrive before those of other loops.
  func installed(on loop: EventLoop) {
    let index = loop.executor.index
    desks.withLock { _ = $0.insert(index) }
  }
  func hasDesk(_ loop: EventLoop) -> Bool {
    let index = loop.executor.index
    return desks.withLock { $0.contains(index) }
  }

  /// nil: no credential is shared.
  var report: StoreReport? { known.withLock { $0 } }
  var isUp: Bool? { known.withLock { $0?.isUp } }

  func begin(_ plan: StorePlan?) {
    let now = wallClockSeconds()
    known.withLock { known in known = plan.map { StoreReport(address: $0.address, since: now) } }
    follow(plan)
  }

  /// The same store, in a newer configuration.
  func follow(_ next: StorePlan?) { plan.withLock { $0 = next } }

  /// Whether the store in use is where records of this plan belong.
  func keeps(_ other: StorePlan) -> Bool { plan.withLock { $0?.keeps(other) ?? false } }

  func note(isUp: Bool, reason: String?) {
    let now = wallClockSeconds()
    known.withLock { known in
      if known?.isUp != isUp { known?.since = now }
      known?.isUp = isUp
      known?.reason = reason
    }
  }
}
