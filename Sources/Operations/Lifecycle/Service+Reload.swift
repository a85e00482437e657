import CSystem
import Dispatch
import EventIO
import Logging
import Proxy
import Settings

extension Service {
  /// SIGHUP: reads the configuration again and puts it into use. Whatever did not change keeps its sockets, pools, tokens and state. If
  /// there is any error, nothing changes and the log has every error. Returns at once.
  public func reload() {
    reloads.async { @Sendable in self.reload(.demand, because: "signal", metadata: [:]) }
  }

  private enum Outcome {
    case changed, unchanged
    case failed([String])

    var errors: [String] { if case .failed(let errors) = self { errors } else { [] } }

    var result: LifecycleReport.ReloadResult {
      switch self {
      case .changed: .success
      case .unchanged: .unchanged
      case .failed: .failure
      }
    }
  }

  private func reload(_ occasion: ConfigurationSource.Occasion, because reason: String, metadata: Logger.Metadata) {
    guard lifecycle.phase == .serving else { return }
    supervisor.reloading()
    let (loaded, stale) = source.load(occasion)
    if !stale.isEmpty {
      logger.warning(
        "some files or programs cannot be read; their old content stays in use",
        metadata: ["errors": .array(stale.map { .string($0) })])
    }
    let outcome = apply(loaded, occasion)
    state.withLock {
      let interval = loaded.settings.map(\.watchInterval) ?? $0.snapshot?.settings.watchInterval
      $0.watch.follow(loaded, interval: interval, now: csys_monotonic())
      $0.lifecycle.reloaded(outcome.result, errors: outcome.errors, at: wallClockSeconds())
    }
    scheduleWatch()
    var metadata = metadata
    metadata["reason"] = .string(reason)
    switch outcome {
    case .changed:
      warn(of: loaded)
      let report = lifecycle
      metadata["generation"] = "\(report.generation)"
      metadata["addresses"] = .array(report.addresses.map { .string($0) })
      logger.info("configuration reloaded", metadata: metadata)
      supervisor.ready("serving, configuration \(report.generation)")
      csys_release_code()
    case .unchanged:
      metadata["changed"] = "false"
      logger.info("configuration reloaded", metadata: metadata)
      supervisor.ready("serving")
    case .failed(let errors):
      metadata["errors"] = .array(errors.map { .string($0) })
      logger.error("reload failed: the old configuration stays in use", metadata: metadata)
      supervisor.ready("serving; the last reload failed")
    }
  }

  private func apply(_ loaded: LoadedConfiguration, _ occasion: ConfigurationSource.Occasion) -> Outcome {
    guard let settings = loaded.settings else { return .failed(loaded.errors.map { "\($0)" }) }
    let (old, listeners, admin, lingering) = state.withLock { ($0.snapshot, $0.listeners, $0.admin, $0.lingering) }
    let now = wallClockSeconds()
    if let old, old.isOf(settings, at: now), !(occasion.isDemand && (old.lacksSigners(at: now) || old.hasSourcesToAsk)) {
      // Somebody may have removed what apps are given.
      do throws(Publication.Failure) { try publish(old, occasion) } catch { return .failed(["\(error)"]) }
      return .unchanged
    }
    let before = old?.settings

    // Everything that can fail comes first, and the report has all errors.
    var errors: [String] = []
    var snapshot: Snapshot?
    do {
      snapshot = try builder.build(
        settings, sources: loaded.secretSources, generation: (old?.generation ?? 0) + 1, after: old)
    } catch { errors.append("\(error)") }
    var log: LogOutput.Prepared?
    do { log = try output.prepare(settings.log.destination) } catch { errors.append("\(error)") }
    var plan: ListenerPlan?
    do throws(StartError) {
      plan = try ListenerPlan(
        from: listeners + (admin.map { [$0] } ?? []), lingering: lingering.filter { !$0.socket.isClosed },
        to: Self.wanted(settings))
    } catch { errors.append("\(error)") }
    if errors.isEmpty, let snapshot {
      do throws(Publication.Failure) { try publish(snapshot, occasion) } catch { errors.append("\(error)") }
    } else if occasion.isDemand, let snapshot {
      state.withLock { $0.publication.remember(snapshot) }
    }
    guard let snapshot, let plan, errors.isEmpty else {
      plan?.takeBack()
      return .failed(errors)
    }

    let bound = Self.split(plan.listeners, settings)
    let isServing = state.withLock {
      // A shutdown that has begun meanwhile takes precedence.
      guard $0.lifecycle.phase == .serving || $0.lifecycle.phase == .stopping else { return false }
      $0.snapshot = snapshot
      $0.listeners = bound.0
      $0.admin = bound.1
      $0.lingering = lingering.filter { !$0.socket.isClosed } + plan.leaving
      $0.lifecycle.follow(snapshot, bound.0)
      return true
    }
    guard isServing else {
      plan.takeBack()
      return .failed(["the proxy is shutting down"])
    }
    if let log { output.adopt(log) }
    format.follow(settings.log)
    group.connectionLimit = settings.limits.connections
    if let before, before.threads != settings.threads {
      logger.warning("a change of threads needs a restart", metadata: ["threads": "\(group.executors.count)"])
    }
    swap(to: snapshot, bound.0, bound.1, leaving: plan.leaving, formerAdmin: admin)
    if settings.admin?.expose.contains(.status) == true, before?.admin?.expose.contains(.status) != true {
      sampleTraffic { self.history.begin(from: $0) }
    }
    shared.dropStored(under: snapshot)
    shared.cache.set(limit: settings.limits.cache)
    return .changed
  }

  private func publish(_ snapshot: Snapshot, _ occasion: ConfigurationSource.Occasion) throws(Publication.Failure) {
    var publication = state.withLock { $0.publication }
    // Also what a failure leaves.
    defer {
      let published = publication
      state.withLock { $0.publication = published }
    }
    try publication.follow(snapshot, isDemanded: occasion.isDemand, now: csys_wall_clock() / 1_000_000_000, logger)
  }

  private func swap(
    to snapshot: Snapshot, _ listeners: [BoundListener], _ admin: BoundListener?, leaving: [BoundListener],
    formerAdmin: BoundListener?
  ) {
    let adminLeaves = formerAdmin.map { former in leaving.contains { $0 === former } } ?? false
    let others = admin.map { [$0.socket.address] } ?? []
    for listener in leaving where listener !== formerAdmin { listener.retire() }
    onEveryLoop { loop in
      let worker = Worker.of(loop)
      worker.adopt(snapshot)
      worker.listen(on: listeners, others: others)
    }
    serveAdmin(admin, snapshot.settings.admin)
    if adminLeaves, let formerAdmin {
      group.executors[0].call { _ in formerAdmin.socket.close() }
    }
  }

  // MARK: Watching

  /// Sets the timer for the next check of the files; replaces an earlier timer.
  func scheduleWatch() {
    let (turn, next) = state.withLock {
      $0.watchTurn += 1
      return ($0.watchTurn, $0.watch.next)
    }
    guard let next else { return }
    let delay = max(next - csys_monotonic(), 1_000_000)
    reloads.asyncAfter(deadline: .now() + .nanoseconds(Int(delay))) { @Sendable in self.look(turn) }
  }

  private func look(_ turn: Int) {
    let watch: Watch? = state.withLock { $0.watchTurn == turn ? $0.watch : nil }
    guard var watch else { return }
    let findings = watch.look(now: csys_monotonic(), through: source.system)
    state.withLock { $0.watch = watch }
    if !findings.unreadable.isEmpty {
      logger.warning(
        "some files or programs cannot be read; their old content stays in use",
        metadata: ["errors": .array(findings.unreadable.map { .string($0) })])
    }
    guard !findings.isEmpty else { return scheduleWatch() }
    let occasion = ConfigurationSource.Occasion.change(due: findings.due)
    if findings.changed.isEmpty {
      reload(occasion, because: "refresh", metadata: ["programs": .array(findings.due.map { .string("\($0)") })])
    } else {
      reload(occasion, because: "watch", metadata: ["files": .array(findings.changed.map { .string($0) })])
    }
  }
}
