import Cache
import Credentials
import EventIO
import Fetch
import Settings
import Testing

@testable import Proxy

/// What a loop knows of a credential while a reload and the owner's messages meet.
@Suite struct CredentialViewTests {
  /// A request that waits, or holds an answer.
  private final class Waiter: CredentialWaiter {
    override var refusalKey: RequestKey { RequestKey(entry: "", client: "", method: "GET", path: []) }
  }

  private func setup(_ token: String, generation: Int, _ builder: SnapshotBuilder, after: Snapshot? = nil) throws -> Snapshot {
    let policy = CredentialPolicy(name: "api", kind: .bearer(token: Secret(token)))
    return try builder.build(
      Settings(listeners: [], credentials: ["api": policy]), generation: generation, after: after)
  }

  /// A version as its owner publishes it.
  private func version(_ number: UInt64, of setup: CredentialSetup, _ desk: CredentialDesk) throws -> CredentialVersion {
    let owner = StaticOwner(setup, desk, serial: 1000 + number, after: number - 1)
    return CredentialVersion(try StaticCredentialMachine(setup.policy, after: number - 1).current, of: owner)
  }

  /// Runs `body` on a loop that has a desk.
  private func onLoop<Result: Sendable>(_ body: @escaping @Sendable (CredentialDesk) throws -> Result) async throws -> Result {
    let group = LoopGroup(count: 1)
    group.start()
    return try await withCheckedThrowingContinuation { continuation in
      group.executors[0].call { loop in
        let desk = CredentialDesk.install(
          on: loop, group: group, registry: CredentialRegistry(CacheStore(limit: 0)), fetch: FetchClient(loop: loop),
          observer: LoopObserver())
        continuation.resume(with: Swift.Result { try body(desk) })
      }
    }
  }

  @Test func `a decision of before a reload gives no later request the replaced value`() async throws {
    let builder = SnapshotBuilder(makesAuthorities: false)
    let before = try setup("first", generation: 1, builder)
    let after = try setup("second", generation: 2, builder, after: before)
    let supplies = try await onLoop { desk in
      let old = before.credentials[0]
      let view = desk.view(of: old)
      let replaced = try version(2, of: old, desk)
      view.published(try version(1, of: old, desk))
      let holder = Waiter()
      guard case .wait = view.refused(holder, version: 1) else { throw CancellationError() }
      view.published(replaced)
      view.adopt(after.credentials[0])
      view.decided(1, .resend(replaced))
      var supplies: [String] = []
      func authorize() {
        switch view.authorize(Waiter()) {
        case .ready(let version): supplies.append("version \(version.number)")
        case .wait: supplies.append("waits")
        case .failed: supplies.append("failed")
        }
      }
      authorize()
      view.published(try version(3, of: after.credentials[0], desk))
      authorize()
      return supplies
    }
    #expect(supplies == ["waits", "version 3"])
  }
}
