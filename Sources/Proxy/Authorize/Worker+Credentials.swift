import Credentials
import EventIO
import Synchronization

/// Credentials as one loop has them: its view of each, and the owners whose home it is.
struct CredentialTable {
  fileprivate var views: [CredentialIdentity: LoopCredential] = [:]
  /// Of the present snapshot, in its order.
  fileprivate var current: [LoopCredential] = []
  fileprivate var owners: [CredentialIdentity: CredentialOwner] = [:]
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
    let identities = Set(next.credentials.map(\.identity))
    for (identity, owner) in credentials.owners where !identities.contains(identity) {
      if owner.isRetired {
        // It had the time of a whole configuration. Should one more request of an older one ask, another owner begins for it.
        if !owner.isBusy { forget(owner) }
      } else {
        retire(owner, in: next)
      }
    }
    for identity in Array(credentials.views.keys) where !identities.contains(identity) {
      // Requests that began before hold on to theirs.
      var view = credentials.views.removeValue(forKey: identity)
      if !isKnownUniquelyReferenced(&view) { credentials.views[identity] = view }
    }
  }

  private func retire(_ owner: CredentialOwner, in next: Snapshot) {
    owner.retire()
    if !next.credentials.contains(where: { $0.name == owner.name }) { shared.registry.forget(owner.name) }
  }

  private func view(of setup: CredentialSetup) -> LoopCredential {
    if let view = credentials.views[setup.identity] { return view }
    let view = LoopCredential(setup, self)
    credentials.views[setup.identity] = view
    return view
  }

  /// - Parameter index: place in the snapshot's credentials; a request may have begun on an older one.
  func credential(_ index: Int, of snapshot: Snapshot) -> LoopCredential {
    snapshot === self.snapshot ? credentials.current[index] : view(of: snapshot.credentials[index])
  }

  func credential(_ identity: CredentialIdentity) -> LoopCredential? { credentials.views[identity] }

  // MARK: On the home loop

  /// The credential's owner, under this configuration or a newer one. A message may be faster than the reload's own.
  func owner(of setup: CredentialSetup) -> CredentialOwner {
    if let present = credentials.owners[setup.identity] {
      present.adopt(setup)
      return present
    }
    credentials.lastSerial += 1
    // Versions of one name are told apart in the logs, whichever identity they are of.
    let version = credentials.owners.values.lazy.filter { $0.name == setup.name }.map(\.latestVersion).max() ?? 0
    let owner: CredentialOwner
    if case .oauth2(let policy) = setup.policy.kind {
      owner = TokenOwner(setup, policy, self, serial: credentials.lastSerial, after: version)
    } else {
      owner = StaticOwner(setup, self, serial: credentials.lastSerial, after: version)
    }
    credentials.owners[setup.identity] = owner
    credentials.bySerial[owner.serial] = owner
    let isCurrent = snapshot.credentials.contains { $0.identity == setup.identity }
    // For a request of an older configuration, whose owner has gone.
    if !isCurrent, setup.generation < snapshot.generation { retire(owner, in: snapshot) }
    return owner
  }

  func owner(serial: UInt64) -> CredentialOwner? { credentials.bySerial[serial] }

  private func forget(_ owner: CredentialOwner) {
    owner.stop()
    loop.forget(owner)
    credentials.owners[owner.setup.identity] = nil
    credentials.bySerial[owner.serial] = nil
  }
}

/// What all loops know of the credentials.
final class CredentialRegistry: Sendable {
  private struct Record: Sendable {
    let count = WaitCount()
    var report: CredentialReport?
    var refreshes: [RefreshResult: UInt64] = [:]
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
  func count(_ result: RefreshResult, of name: String) {
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
