import Credentials
import EventIO

/// Owns a credential whose value the configuration names. When an origin refuses it, the owner reads its source again, once.
final class StaticOwner: CredentialOwner {
  private var machine: StaticCredentialMachine?
  private var version: UInt64
  private var problem = ""
  /// The one that its parent proxy refuses.
  private var refusedVersion: UInt64?

  /// - Parameter version: number of the last one that an earlier owner of this name published.
  init(_ setup: CredentialSetup, _ desk: CredentialDesk, serial: UInt64, after version: UInt64) {
    self.version = version
    super.init(setup, desk, serial: serial)
    render()
  }

  private func render() {
    do throws(CredentialError) {
      let machine = try StaticCredentialMachine(setup.policy, after: version)
      self.machine = machine
      version = machine.current.version
      standing.begin()
      standing.resume()
    } catch { problem = error.description }
    note()
  }

  override var latestVersion: UInt64 { version }

  override func reconfigure() {
    guard machine != nil else {
      render()
      return
    }
    do throws(CredentialError) { perform(try machine?.reconfigure(setup.policy) ?? []) } catch { problem = error.description }
  }

  /// The source may hold a value for others by now, so waiting requests are told that no new version comes.
  override func retire() {
    super.retire()
    tellAll { $0.released(.replaced) }
  }

  override func need(from executor: LoopExecutor) {
    if let current = machine?.current {
      publish(current, to: executor)
    } else {
      let problem = problem
      tell(executor) { $0.failed(.needsOperator(problem)) }
    }
  }

  override func decide(version: UInt64, by key: RequestKey, isRetry: Bool, ticket: UInt64?, from executor: LoopExecutor) {
    guard let outcome = machine?.refused(version: version, by: key, isRetry: isRetry, now: now) else { return }
    if let ticket { tell(executor, ticket, outcome.decision) }
    perform(outcome.actions)
  }

  override func accepted(_ key: RequestKey) { machine?.accepted(key) }

  override func refusedByParent(_ version: UInt64) {
    guard version == self.version else { return }
    refusedVersion = version
    note()
  }

  private func perform(_ actions: [StaticCredentialMachine.Action]) {
    for action in actions {
      switch action {
      case .readSource(let id): read(id)
      case .publish(let credential):
        version = credential.version
        // Another value may be another account's.
        standing.begin()
        publish(credential)
        desk.registry.note(.replaced(version: credential.version), of: name)
        desk.observer.credential(name, .replaced(version: credential.version))
        note()
      case .releaseRefused(let reason): tellAll { $0.released(reason) }
      }
    }
  }

  private func read(_ id: UInt64) {
    let (sources, kind) = (setup.sources, setup.policy.kind)
    inLane(sources.runProgram ? .helpers : .files) {
      sources.reread(kind)
    } then: { owner, found in
      (owner as? StaticOwner)?.sourceRead(id, found ?? nil)
    }
  }

  private func sourceRead(_ id: UInt64, _ kind: CredentialPolicy.Kind?) {
    if isRetired { return }
    perform(machine?.sourceRead(id: id, kind, now: now) ?? [])
  }

  private func note() {
    if isRetired { return }
    var reason: String?
    if machine == nil { reason = problem } else if refusedVersion == version { reason = "the parent proxy refuses it" }
    desk.registry.note(
      CredentialReport(name: name, phase: reason == nil ? .ready : .needsOperator, version: version, reason: reason))
  }
}
