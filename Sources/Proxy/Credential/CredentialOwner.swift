import Credentials
import EventIO

/// The only owner of a credential in the process. Confined to its home loop. Loops send it messages, and it tells all of them
/// what changes. It survives reloads. Once the configuration no longer has its credential, it is retired and serves only
/// requests that began before.
class CredentialOwner: EventHandler {
  unowned let desk: CredentialDesk
  private(set) var setup: CredentialSetup
  /// Distinguishes this owner from earlier ones of the same name.
  let serial: UInt64
  /// The configuration no longer has its credential.
  private(set) var isRetired = false
  /// What the store of answers knows of it.
  let standing: CredentialStanding

  init(_ setup: CredentialSetup, _ desk: CredentialDesk, serial: UInt64) {
    self.setup = setup
    self.desk = desk
    self.serial = serial
    standing = desk.registry.standing(of: setup.identity.serial)
  }

  var name: String { setup.name }
  var loop: EventLoop { desk.loop }
  /// Monotonic milliseconds.
  var now: Int64 { loop.now / 1_000_000 }
  /// Number of the last published version.
  var latestVersion: UInt64 { 0 }
  /// Ending the process now would lose a refresh token.
  var mustFinish: Bool { false }

  /// It does work that requests, or a store, wait for.
  var isBusy: Bool { false }

  /// Takes over a newer configuration of the same identity. Messages can arrive in any order, so an older one is ignored.
  final func adopt(_ next: CredentialSetup) {
    guard next.generation > setup.generation else { return }
    setup = next
    reconfigure()
  }
  func reconfigure() {}
  /// The configuration no longer has the credential.
  func retire() { isRetired = true }
  /// Ends all work: no request will ask again.
  func stop() {}

  /// A loop has requests that need a usable version.
  func need(from executor: LoopExecutor) {}
  /// An origin refused `version`.
  /// - Parameter ticket: of the request that holds the answer; nil if no request waits for the decision.
  final func refused(version: UInt64, by key: RequestKey, isRetry: Bool, ticket: UInt64?, from executor: LoopExecutor) {
    guard isRetired else { return decide(version: version, by: key, isRetry: isRetry, ticket: ticket, from: executor) }
    // What a source or a token server returns from now on may be meant for others.
    if let ticket { tell(executor) { $0.decided(ticket, .relay(.replaced)) } }
  }
  func decide(version: UInt64, by key: RequestKey, isRetry: Bool, ticket: UInt64?, from executor: LoopExecutor) {}
  func accepted(_ key: RequestKey) {}
  /// The parent proxy refuses this version, and there is no other: it is not sent again until it changes.
  func refusedByParent(_ version: UInt64) {}
  /// The flight in the air with this id.
  func flight(_ id: UInt64) -> TokenFlight? { nil }
  /// An exchange on behalf of a user has succeeded with this version of the actor's token.
  func actorServed(_ version: UInt64) {}
  /// Whether a refused exchange on behalf of a user may be the fault of the actor's token.
  /// - Parameter began: monotonic milliseconds.
  func blamesActor(_ version: UInt64, began: Int64) -> Bool { false }
  /// A credential whose token it has exchanged was logged out, or belongs to another person now.
  func sourceWithdrawn() {}

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

  /// Runs `work` in a lane, where it may block, and passes its result to `then` on this loop. The result is nil if the lane's
  /// queue is full.
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
