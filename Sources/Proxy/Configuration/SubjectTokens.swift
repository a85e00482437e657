import Credentials
import Synchronization

/// The tokens of one credential's subjects: the only table of them in the process. Setups own it, so that it lives as long as a
/// configuration, or a request that began before, has the credential, and a reload keeps it. Any loop may ask. The owner on the
/// home loop makes the exchanges.
final class SubjectTokens: Sendable {
  private let table: Mutex<SubjectTable>

  /// - Parameter previous: of another credential with this name, whose numbers of versions go on; nil: there was none.
  init(_ name: String, _ policy: OAuth2Policy, limit: Int, patience: Int64, after previous: SubjectTokens?) {
    table = Mutex(
      SubjectTable(
        name: name, policy: policy, limit: limit, patience: patience, seed: UInt64.random(in: 0 ... .max),
        after: previous?.lastVersion ?? 0))
  }

  var count: Int { table.withLock { $0.count } }
  var dpopKey: DPoPKey? { table.withLock { $0.dpopKey } }
  var lastVersion: UInt64 { table.withLock { $0.lastVersion } }

  /// - Returns: the policy before.
  @discardableResult func reconfigure(_ policy: OAuth2Policy, limit: Int, patience: Int64) -> OAuth2Policy {
    table.withLock { table in
      defer { table.reconfigure(policy, limit: limit, patience: patience) }
      return table.policy
    }
  }

  func retire() { table.withLock { $0.retire() } }

  func withdraw() { table.withLock { $0.withdraw() } }

  /// - Parameter now: monotonic milliseconds, here and below.
  func need(
    _ key: SubjectKey, _ client: SubjectClient, token: Secret, now: Int64
  ) -> (need: SubjectTable.Need, start: SubjectTable.Start?) {
    table.withLock { $0.need(key, client, token: token, now: now) }
  }

  func refused(
    _ key: SubjectKey, _ client: SubjectClient, version: UInt64, token: Secret, waits: Bool, now: Int64
  ) -> (decision: SubjectTable.Refusal, start: SubjectTable.Start?) {
    table.withLock { $0.refused(key, client, version: version, token: token, waits: waits, now: now) }
  }

  func answered(_ id: UInt64, _ answer: TokenAnswer, now: Int64) -> SubjectTable.Ended {
    table.withLock { $0.answered(id, answer, now: now) }
  }
}
