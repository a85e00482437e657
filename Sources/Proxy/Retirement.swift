import EventIO
import Settings

extension Request {
  /// Whether this exchange has no place in `next`: its client or entry is gone, or its entry's trust is another one. Others end on
  /// the snapshot that they began with, however long they take.
  func isCutOff(by next: Snapshot) -> Bool {
    if snapshot.generation == next.generation { return false }
    if let name = summary.client, !next.settings.clients.contains(where: { $0.name == name }) { return true }
    guard let entry else { return false }
    guard let now = next.entry(named: entry.name, isUnlisted: entry.isUnlisted) else { return true }
    let isTLS = pool?.origin.identity.isTLS ?? (entry.settings.origin.scheme == .https)
    return isTLS && (entry.trust?.digest ?? []) != (now.trust?.digest ?? [])
  }
}

/// Ends, when its time is up, the exchanges that a reload has cut off.
final class Retirement: EventHandler {
  private unowned let worker: Worker
  init(_ worker: Worker) { self.worker = worker }
  override func expired(on loop: EventLoop) { worker.endCutOff() }
}
