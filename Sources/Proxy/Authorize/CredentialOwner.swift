import Credentials
import EventIO

/// The one owner of a credential in the process. Confined to its home loop; loops speak with it by message, and it tells them
/// all what changes. It survives reloads.
class CredentialOwner: EventHandler {
  unowned let worker: Worker
  private(set) var setup: CredentialSetup
  /// Tells this owner from the ones before it under the same name.
  let serial: UInt64
  /// Another owner has taken its place: nobody listens any more.
  private(set) var isReplaced = false

  init(_ setup: CredentialSetup, _ worker: Worker, serial: UInt64) {
    self.setup = setup
    self.worker = worker
    self.serial = serial
  }

  var name: String { setup.name }
  var loop: EventLoop { worker.loop }
  /// Monotonic milliseconds.
  var now: Int64 { loop.now / 1_000_000 }
  /// Of the last version published.
  var latestVersion: UInt64 { 0 }
  /// Ending the process now would lose something.
  var mustFinish: Bool { false }

  /// Whether the other configuration is of a kind that this owner can go on with.
  func fits(_ next: CredentialSetup) -> Bool { false }

  /// The newest configuration wins, in whatever order messages bring them.
  final func adopt(_ next: CredentialSetup) {
    guard next.generation > setup.generation else { return }
    setup = next
    reconfigure()
  }
  func reconfigure() {}
  /// The credential is in no configuration any more.
  func retire() {}
  /// Another owner takes over.
  func replaced() { isReplaced = true }

  /// A loop has requests without a usable version.
  func need(from executor: LoopExecutor) {}
  /// - Parameter ticket: of the request that holds the answer; nil where nobody waits for the decision.
  func refused(version: UInt64, by key: RequestKey, isRetry: Bool, ticket: UInt64?, from executor: LoopExecutor) {}
  func accepted(_ key: RequestKey) {}

  final func tell(_ executor: LoopExecutor, _ body: @escaping @Sendable (LoopCredential) -> Void) {
    if isReplaced { return }
    let name = name
    executor.call { loop in if let credential = Worker.of(loop).credential(named: name) { body(credential) } }
  }

  final func tellAll(_ body: @escaping @Sendable (LoopCredential) -> Void) {
    for executor in worker.group.executors { tell(executor, body) }
  }

  /// Runs `work` where it may block, and brings its result back here; nil where too much waits there already.
  final func inLane<Result: Sendable>(
    _ lane: Lane, _ work: @escaping @Sendable () -> Result, then: @escaping @Sendable (CredentialOwner, Result?) -> Void
  ) {
    let (home, serial) = (loop.executor, serial)
    let accepted = lane.run {
      let result = work()
      home.call { loop in if let owner = Worker.of(loop).owner(serial: serial) { then(owner, result) } }
    }
    guard !accepted else { return }
    home.call { loop in if let owner = Worker.of(loop).owner(serial: serial) { then(owner, nil) } }
  }
}
