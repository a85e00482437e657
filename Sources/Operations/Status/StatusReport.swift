import CSystem
import Proxy
import Settings
import Trust
import Upstreams
import WayOut

/// What `/status` and the dashboard say, once for both.
struct StatusReport: Sendable {
  let figures: Figures
  let settings: Settings
  let traffic: TrafficHistory
  /// Of each loop: the share of a processor that it used lately.
  let load: [Double]
  let revocation: [RevocationReport]
  /// The newest first.
  let trouble: [Trouble]
  /// Whoever reads this may know whole paths: the unix socket's permissions say who that is.
  let showsPaths: Bool
  /// Seconds since 1970.
  let now: Int64
  /// In the order of the configuration, after requests without an entry and tunnels.
  let upstreams: [Upstream]

  /// Most revocation answers that are shown.
  static let revocationLimit = 200

  struct Upstream: Sendable {
    let name: String
    /// nil: it is no entry.
    let settings: UpstreamSettings?
    /// Since the start, by status.
    let codes: [(code: Int, count: UInt64)]
    let minutes: TrafficHistory.Window
    let hours: TrafficHistory.Window
    let retries: UInt64
    /// Answers that refused the credential, after which the proxy got another one for the app.
    let saved: UInt64
    let reuses: UInt64
    let cache: [(result: String, count: UInt64)]
    let pool: PoolReport?
    /// Name of the entry before it that has the same origin: its connections, and what is known of the origin, count there.
    let sharesWith: String?
    let protocols: [(name: String, count: UInt64)]
    let judgement: Judgement
    let origins: [OriginReport]
    /// Names of parents, or `direct`, in the order of preference.
    let ways: [String]
    let trust: String

    func window(_ span: TrafficHistory.Span) -> TrafficHistory.Window { span == .minutes ? minutes : hours }

    /// The share of requests that the store answered, of those that it was asked for.
    var hitRatio: Double? {
      let all = cache.reduce(0) { $0 + $1.count }
      return all > 0 ? Double(cache.first { $0.result == "hit" }?.count ?? 0) / Double(all) : nil
    }
  }

  /// Of an origin's identity.
  enum Judgement: Sendable, Hashable {
    /// There was no connection yet.
    case none
    case clear
    case trusted
    /// `ago`: seconds.
    case refused(evaluator: String, reason: String, ago: Int64)

    var word: String {
      switch self {
      case .none: "unknown"
      case .clear: "clear"
      case .trusted: "trusted"
      case .refused: "refused"
      }
    }
  }

  init(
    _ figures: Figures, settings: Settings, traffic: TrafficHistory, load: [Double], revocation: [RevocationReport],
    showsPaths: Bool, now: Int64 = csys_wall_clock() / 1_000_000_000, monotonic: Int64 = csys_monotonic()
  ) {
    self.figures = figures
    self.settings = settings
    self.traffic = traffic
    self.load = load
    self.revocation = revocation
    self.showsPaths = showsPaths
    self.now = now
    trouble = TroubleRing.merged(figures.loops.values.map(\.trouble.list))
    upstreams = Self.upstreams(figures, settings, traffic, monotonic)
  }

  /// For a reader who may not know whole paths: those of webhooks are secrets.
  func shown(_ origin: UpstreamSettings.Origin) -> String {
    guard !showsPaths, !origin.path.isEmpty else { return origin.shown }
    var origin = origin
    origin.path = Trouble.short(origin.path)
    return origin.shown
  }

  private static func upstreams(
    _ figures: Figures, _ settings: Settings, _ traffic: TrafficHistory, _ monotonic: Int64
  ) -> [Upstream] {
    let minutes = Dictionary(traffic.windows(.minutes), uniquingKeysWith: { first, _ in first })
    let hours = Dictionary(traffic.windows(.hours), uniquingKeysWith: { first, _ in first })
    let pools = Dictionary(figures.pools.map { ($0.upstream, $0) }, uniquingKeysWith: { first, _ in first })
    let entries = Dictionary(settings.upstreams.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    let origins = Dictionary(grouping: figures.health.origins, by: \.upstream)
    var owners: [Place: String] = [:]
    for entry in settings.upstreams where pools[entry.name] != nil && owners[Place(entry)] == nil {
      owners[Place(entry)] = entry.name
    }
    return figures.counters.upstreams.map { counters in
      let entry = entries[counters.name]
      let owner = pools[counters.name] == nil ? entry.flatMap { owners[Place($0)] } : nil
      let pool = pools[owner ?? counters.name]
      return Upstream(
        name: counters.name, settings: entry,
        codes: counters.codes.entries.map { (code: $0.label, count: $0.count) }.sorted { $0.code < $1.code },
        minutes: minutes[counters.name] ?? .init(), hours: hours[counters.name] ?? .init(),
        retries: counters.retries.entries.reduce(0) { $0 + $1.count },
        saved: counters.unauthorized.entries.reduce(0) { sum, entry in
          entry.label == .newerVersion || entry.label == .refreshed ? sum + entry.count : sum
        }, reuses: counters.reuses, cache: counters.cache.entries.map { (result: $0.label.rawValue, count: $0.count) },
        pool: pool, sharesWith: owner,
        protocols: counters.streams.protocols.entries.map { (name: $0.label.rawValue, count: $0.count) },
        judgement: judgement(counters.judgement, entry, pool, monotonic), origins: origins[counters.name] ?? [],
        ways: entry.map { ways($0, settings) } ?? [],
        trust: entry?.trust ?? (settings.trust["default"] == nil ? TrustPolicy.systemDefault.name : "default"))
    }
  }

  /// What entries that share connections have in common.
  private struct Place: Hashable {
    let origin: UpstreamSettings.Origin
    let trust: String?
    let certificate: UpstreamSettings.ClientCertificate?

    init(_ entry: UpstreamSettings) {
      var origin = entry.origin
      origin.path = ""
      self.origin = origin
      trust = entry.trust
      certificate = entry.clientCertificate
    }
  }

  private static func judgement(
    _ judgement: LoopCounters.Judgement, _ entry: UpstreamSettings?, _ pool: PoolReport?, _ monotonic: Int64
  ) -> Judgement {
    if let refusal = judgement.standingRefusal {
      let ago = max(monotonic - judgement.refused, 0) / 1_000_000_000
      return .refused(evaluator: refusal.evaluator, reason: refusal.reason.rawValue, ago: ago)
    }
    if let entry, entry.origin.scheme != .https { return .clear }
    return pool?.certificateExpiry != nil ? .trusted : .none
  }

  private static func ways(_ entry: UpstreamSettings, _ settings: Settings) -> [String] {
    let origin = entry.origin
    if origin.scheme == .unix || (settings.ways.isDirect && entry.via == nil) { return ["direct"] }
    // Each host below a wildcard has ways of its own.
    if origin.host.isEmpty, entry.via == nil { return ["by host"] }
    let ways = settings.ways.ways(
      host: origin.host, port: origin.port, isTLS: origin.scheme == .https, via: entry.via
    ).ways
    return ways.map { way in
      switch way {
      case .direct: "direct"
      case .parent(let index): settings.parents.indices.contains(index) ? settings.parents[index].name : "?"
      }
    }
  }

  /// All upstreams together.
  func total(_ span: TrafficHistory.Span) -> TrafficHistory.Window {
    upstreams.reduce(into: TrafficHistory.Window()) { $0 += $1.window(span) }
  }

  // MARK: Certificates

  struct Ending: Sendable, Hashable {
    var kind: String
    var name: String
    /// Seconds since 1970.
    var expiry: Int64
  }

  /// Seconds before its end from which a certificate needs attention.
  static let soon: Int64 = 30 * 86_400

  /// The first to end first.
  var certificates: [Ending] {
    var endings = figures.pools.compactMap { pool in
      pool.certificateExpiry.map { Ending(kind: "origin", name: pool.upstream, expiry: $0) }
    }
    endings += figures.credentials.compactMap { credential in
      credential.certificateExpiry.map { Ending(kind: "credential", name: credential.name, expiry: $0) }
    }
    endings += figures.lifecycle.authorityExpiries.map { Ending(kind: "own CA", name: $0.authority, expiry: $0.expiry) }
    return endings.sorted { ($0.expiry, $0.name) < ($1.expiry, $1.name) }
  }
}
