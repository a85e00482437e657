import Credentials
import EventIO

/// The one owner of a credential in the process. Confined to its home loop; loops speak with it by message, and it tells them
/// all what changes. It survives reloads; once no configuration has its credential any more, it is retired and serves only the
/// requests that began before.
class CredentialOwner: EventHandler {
  unowned let desk: CredentialDesk
  private(set) var setup: CredentialSetup
  /// Tells this owner from the ones before it under the same name.
  let serial: UInt64
  /// No configuration has its credential any more.
  private(set) var isRetired = false

  init(_ setup: CredentialSetup, _ desk: CredentialDesk, serial: UInt64) {
    self.setup = setup
    self.desk = desk
    self.serial = serial
  }

  var name: String { setup.name }
  var loop: EventLoop { desk.loop }
  /// Monotonic milliseconds.
  var now: Int64 { loop.now / 1_000_000 }
  /// Of the last version published.
  var latestVersion: UInt64 { 0 }
  /// Ending the process now would lose something.
  var mustFinish: Bool { false }

  /// Something is on its way that requests, or a store, wait for.
  var isBusy: Bool { false }

  /// The newest configuration of the same identity wins, in whatever order messages bring them.
  final func adopt(_ next: CredentialSetup) {
    guard next.generation > setup.generation else { return }
    setup = next
    reconfigure()
  }
  func reconfigure() {}
  /// The credential is in no configuration any more.
  func retire() { isRetired = true }
  /// Nobody will ask any more.
  func stop() {}

  /// A loop has requests without a usable version.
  func need(from executor: LoopExecutor) {}
  /// - Parameter ticket: of the request that holds the answer; nil where nobody waits for the decision.
  final func refused(version: UInt64, by key: RequestKey, isRetry: Bool, ticket: UInt64?, from executor: LoopExecutor) {
    guard isRetired else { return decide(version: version, by: key, isRetry: isRetry, ticket: ticket, from: executor) }
    // What a source or a token server gives from now on may be meant for others.
    if let ticket { tell(executor) { $0.decided(ticket, .relay(.replaced)) } }
  }
  func decide(version: UInt64, by key: RequestKey, isRetry: Bool, ticket: UInt64?, from executor: LoopExecutor) {}
  func accepted(_ key: RequestKey) {}

  final func publish(_ rendered: RenderedCredential) {
    let version = CredentialVersion(rendered, of: self)
    tellAll { $0.published(version) }
  }

  final func publish(_ rendered: RenderedCredential, to executor: LoopExecutor) {
    let version = CredentialVersion(rendered, of: self)
    tell(executor) { $0.published(version) }
  }

  final func tell(_ executor: LoopExecutor, _ ticket: UInt64, _ decision: OAuth2Machine.RefusalDecision) {
    let decided: CredentialView.OwnerDecision =
      switch decision {
      case .resend(let rendered): .resend(CredentialVersion(rendered, of: self))
      case .waitForRefresh: .waitForRefresh
      case .relay(let reason): .relay(reason)
      }
    tell(executor) { $0.decided(ticket, decided) }
  }

  final func tell(_ executor: LoopExecutor, _ body: @escaping @Sendable (CredentialView) -> Void) {
    let identity = setup.identity
    executor.call { loop in if let credential = CredentialDesk.of(loop).view(identity) { body(credential) } }
  }

  final func tellAll(_ body: @escaping @Sendable (CredentialView) -> Void) {
    for executor in desk.group.executors { tell(executor, body) }
  }

  /// Runs `work` where it may block, and brings its result back here; nil where too much waits there already.
  final func inLane<Result: Sendable>(
    _ lane: Lane, _ work: @escaping @Sendable () -> Result, then: @escaping @Sendable (CredentialOwner, Result?) -> Void
  ) {
    let (home, serial) = (loop.executor, serial)
    let accepted = lane.run {
      let result = work()
      home.call { loop in if let owner = CredentialDesk.of(loop).owner(serial: serial) { then(owner, result) } }
    }
    guard !accepted else { return }
    home.call { loop in if let owner = CredentialDesk.of(loop).owner(serial: serial) { then(owner, nil) } }
  }
}
