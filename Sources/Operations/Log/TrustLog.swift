import CSystem
import Logging
import Synchronization
import Trust

/// Logs trust warnings, which every connection may repeat: each at once when it first occurs, then once a minute with a count.
final class TrustLog: Sendable {
  private static let interval: Int64 = 60_000_000_000
  /// Bounds `records`, as a wildcard has any number of hosts. At this number the log forgets all of them.
  private static let capacity = 1024

  private struct Subject: Hashable {
    var kind: TrustWarning.Kind
    var policy, evaluator, host: String
  }
  private struct Record {
    var logged: Int64
    var held = 0
  }

  private let logger: Logger
  private let records = Mutex<[Subject: Record]>([:])

  init(_ logger: Logger) { self.logger = logger }

  /// Called on any loop.
  func warn(_ warning: TrustWarning) {
    guard let held = admit(warning, at: csys_monotonic()) else { return }
    var metadata: Logger.Metadata = [
      "kind": "\(warning.kind.rawValue)", "policy": "\(warning.policy)", "evaluator": "\(warning.evaluator)",
      "host": "\(warning.host)", "detail": "\(warning.detail)",
    ]
    if held > 0 { metadata["repeated"] = "\(held)" }
    logger.warning("trust policy warning", metadata: metadata)
  }

  /// Number of warnings held back since the last one; nil if this one is held back, too.
  func admit(_ warning: TrustWarning, at now: Int64) -> Int? {
    let subject = Subject(
      kind: warning.kind, policy: warning.policy, evaluator: warning.evaluator, host: warning.host)
    return records.withLock { records in
      if var record = records[subject], now - record.logged < Self.interval {
        record.held += 1
        records[subject] = record
        return nil
      }
      let held = records[subject]?.held ?? 0
      if records.count >= Self.capacity { records = [:] }
      records[subject] = Record(logged: now)
      return held
    }
  }
}
