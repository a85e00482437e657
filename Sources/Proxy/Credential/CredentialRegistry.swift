import Cache
import EventIO
import Synchronization

/// What all loops know about the credentials.
final class CredentialRegistry: Sendable {
  private struct Record: Sendable {
    let count = WaitCount()
    var report: CredentialReport?
    var refreshes: [RefreshResult: UInt64] = [:]
    var exchanges: [SubjectResult: UInt64] = [:]
  }
  private let records = Mutex<[String: Record]>([:])
  /// By serial.
  private let standings = Mutex<[UInt64: CredentialStanding]>([:])
  private let cache: CacheStore
  private let unfinished = Mutex<Set<UInt64>>([])
  /// The store that a fleet shares.
  let store = StoreStanding()

  init(_ cache: CacheStore) { self.cache = cache }

  /// Of an identity; the same object for all loops.
  func standing(of serial: UInt64) -> CredentialStanding {
    standings.withLock { standings in
      let standing = standings[serial] ?? CredentialStanding(serial, cache)
      standings[serial] = standing
      return standing
    }
  }

  /// No configuration has these identities any more.
  func forgetStandings(but serials: Set<UInt64>) { standings.withLock { $0 = $0.filter { serials.contains($0.key) } } }

  /// The same object for all loops.
  func waitCount(of name: String) -> WaitCount {
    records.withLock { records in
      // Reading with a default would not store the record.
      let record = records[name] ?? Record()
      records[name] = record
      return record.count
    }
  }
  func note(_ report: CredentialReport) { records.withLock { $0[report.name, default: Record()].report = report } }
  /// The configuration no longer has the credential.
  func forget(_ name: String) { records.withLock { $0[name]?.report = nil } }
  func count(_ result: RefreshResult, of name: String) {
    records.withLock { $0[name, default: Record()].refreshes[result, default: 0] += 1 }
  }
  func count(_ result: SubjectResult, of name: String) {
    records.withLock { $0[name, default: Record()].exchanges[result, default: 0] += 1 }
  }
  /// - Parameter owner: unique in the process.
  func note(owner: UInt64, mustFinish: Bool) {
    unfinished.withLock { if mustFinish { $0.insert(owner) } else { $0.remove(owner) } }
  }
  var mustFinish: Bool { unfinished.withLock { !$0.isEmpty } }

  var reports: [CredentialReport] {
    let now = wallClockSeconds()
    let found = records.withLock { records in
      records.values.compactMap { record -> CredentialReport? in
        guard var report = record.report else { return nil }
        report.waiting = record.count.value
        report.refreshes = record.refreshes
        report.subjects?.exchanges = record.exchanges
        // No request has needed it since it expired.
        if report.phase == .ready, let expiry = report.expiry, expiry <= now { report.phase = .empty }
        return report
      }
    }
    return found.sorted { $0.name < $1.name }
  }
}
