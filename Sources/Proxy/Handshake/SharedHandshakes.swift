import Interception
import Synchronization

/// What the handshakes of all loops have in common.
public final class SharedHandshakes: Sendable {
  public let leafs = LeafStore()
  let tickets = TicketStore()
  private let refusals = Mutex(RefusalMemory())

  init() {}

  /// - Parameter now: nanoseconds of the monotonic clock.
  /// - Returns: nil: nothing is said about it in the log.
  func note(_ outcome: RefusalMemory.Outcome, client: String, host: String, at now: Int64) -> RefusalMemory.Report? {
    refusals.withLock { $0.note(outcome, client: client, host: host, at: now / 1_000_000_000) }
  }
}
