import Credentials
import EventIO
import Synchronization

/// Credentials as one loop has them: its view of each, and the owners whose home it is.
struct CredentialTable {
  fileprivate var views: [String: LoopCredential] = [:]
  /// Of the present snapshot, in its order.
  fileprivate var current: [LoopCredential] = []
  fileprivate var owners: [String: CredentialOwner] = [:]
  /// Those that were replaced stay until they have finished what must not be cut.
  fileprivate var bySerial: [UInt64: CredentialOwner] = [:]
  fileprivate var lastSerial: UInt64 = 0
}

extension Worker {
  func adoptCredentials(of next: Snapshot) {
    credentials.current = next.credentials.map { setup in
      let view = view(of: setup)
      view.adopt(setup)
      if shared.home(of: setup.name) === loop.executor { _ = owner(of: setup) }
      return view
    }
    let named = Set(next.credentials.map(\.name))
    for (name, owner) in credentials.owners where !named.contains(name) {
      owner.retire()
      shared.registry.forget(name)
    }
  }

  private func view(of setup: CredentialSetup) -> LoopCredential {
    if let view = credentials.views[setup.name] { return view }
    let view = LoopCredential(setup, self)
    credentials.views[setup.name] = view
    return view
  }

  /// - Parameter index: place in the snapshot's credentials; a request may have begun on an older one.
  func credential(_ index: Int, of snapshot: Snapshot) -> LoopCredential {
    snapshot === self.snapshot ? credentials.current[index] : view(of: snapshot.credentials[index])
  }

  func credential(named name: String) -> LoopCredential? { credentials.views[name] }

  // MARK: On the home loop

  /// The credential's owner, under this configuration or a newer one. A message may be faster than the reload's own.
  func owner(of setup: CredentialSetup) -> CredentialOwner {
    let present = credentials.owners[setup.name]
    if let present, present.fits(setup) || setup.generation <= present.setup.generation {
      present.adopt(setup)
      return present
    }
    credentials.lastSerial += 1
    let version = present?.latestVersion ?? 0
    let owner: CredentialOwner
    if case .oauth2(let policy) = setup.policy.kind {
      owner = TokenOwner(setup, policy, self, serial: credentials.lastSerial, after: version)
    } else {
      owner = StaticOwner(setup, self, serial: credentials.lastSerial, after: version)
    }
    credentials.owners[setup.name] = owner
    credentials.bySerial[owner.serial] = owner
    if let present {
      present.replaced()
      if !present.mustFinish { forget(present) }
    }
    return owner
  }

  func owner(serial: UInt64) -> CredentialOwner? { credentials.bySerial[serial] }

  /// A replaced owner has nothing left to do.
  func forget(_ owner: CredentialOwner) {
    loop.forget(owner)
    credentials.bySerial[owner.serial] = nil
  }
}

/// What all loops know of the credentials.
final class CredentialRegistry: Sendable {
  private struct Record: Sendable {
    let count = WaitCount()
    var report: CredentialReport?
    var refreshes: [String: UInt64] = [:]
  }
  private let records = Mutex<[String: Record]>([:])
  private let unfinished = Mutex<Set<UInt64>>([])

  /// The same one for all loops.
  func waitCount(of name: String) -> WaitCount {
    records.withLock { records in
      // Reading with a default would not keep it.
      let record = records[name] ?? Record()
      records[name] = record
      return record.count
    }
  }
  func note(_ report: CredentialReport) { records.withLock { $0[report.name, default: Record()].report = report } }
  /// The credential is in no configuration any more.
  func forget(_ name: String) { records.withLock { $0[name]?.report = nil } }
  func count(_ result: String, of name: String) {
    records.withLock { $0[name, default: Record()].refreshes[result, default: 0] += 1 }
  }
  /// - Parameter owner: different for each in the process.
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
        // Nobody needed it since it ended.
        if report.phase == .ready, let expiry = report.expiry, expiry <= now { report.phase = .empty }
        return report
      }
    }
    return found.sorted { $0.name < $1.name }
  }
}

extension Shared {
  /// Where the credential's owner lives: by its name alone, so that all loops know without asking.
  func home(of credential: String) -> LoopExecutor {
    // FNV-1a
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in credential.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return group.executors[Int(hash % UInt64(group.executors.count))]
  }

  /// The credentials of the configuration, by name, each as its owner knew it when it last changed.
  public var credentialReports: [CredentialReport] { registry.reports }
  /// True while ending the process would lose a refresh token: for the time of a token request at most.
  public var mustFinish: Bool { registry.mustFinish }
}
