import EventIO
import Routing
import Settings
import Upstreams

/// What the next configuration keeps of older ones. Made once per reload and loop, so that many entries and many connections
/// stay cheap together.
struct Succession {
  private let next: Snapshot
  private let clients: Set<String>
  private let entries: [String: Entry]
  private let origins: [OriginIdentity: Entry]
  /// Entries whose hosts are origins of their own.
  private let open: [Entry]

  init(to next: Snapshot) {
    self.next = next
    clients = Set(next.settings.clients.map(\.name))
    var entries: [String: Entry] = [:]
    var origins: [OriginIdentity: Entry] = [:]
    for entry in next.entries {
      if !entry.isUnlisted { entries[entry.name] = entry }
      for origin in entry.writtenOrigins where origins[origin.identity] == nil { origins[origin.identity] = entry }
    }
    self.entries = entries
    self.origins = origins
    open = next.entries.filter { $0.origin == nil }
  }

  /// False if the exchange's client or entry is gone, if the trust of its entry has changed, or if its client may no longer open
  /// its tunnel. All others end on the snapshot that they began with, however long they take.
  func keeps(_ request: Request) -> Bool {
    if request.snapshot.generation == next.generation { return true }
    if let name = request.record.client, !clients.contains(name) { return false }
    if let target = request.tunnel?.target { return allows(target, for: request.record.client) }
    guard let entry = request.way?.entry else { return true }
    // Of a request that a redirect has led elsewhere, the entry that the app asked counts, too.
    if let first = request.redirection?.entry, entries[first.name] == nil { return false }
    let open = entry.isRedirected ? next.redirected : next.unlisted
    guard let now = entry.isUnlisted ? open : entries[entry.name] else { return false }
    let isTLS = request.way?.pool.origin.identity.isTLS ?? (entry.settings.origin.scheme == .https)
    return !isTLS || (entry.trust?.digest ?? []) == (now.trust?.digest ?? [])
  }

  private func allows(_ target: TunnelTarget, for client: String?) -> Bool {
    let settings = next.settings
    let known = settings.clients.first { $0.name == client }
    let identity = known.map { ClientIdentity($0) } ?? ClientIdentity(anonymousIn: settings)
    switch try? next.router.decideConnect(host: target.host, port: target.port, for: identity) {
    case .tunnel: return true
    case .served(let served):
      if case .tunnelled = served.tls { return true }
      return false
    case nil: return false
    }
  }

  /// The first entry whose requests may go to this origin under this trust.
  func entry(leadingTo identity: OriginIdentity) -> Entry? {
    origins[identity.ofEitherForm] ?? open.first { next.mayLead($0, to: identity) }
  }
}
