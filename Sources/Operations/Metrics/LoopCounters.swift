import Cache
import Proxy
import Settings
import Trust
import Upstreams

/// The counters of one loop: plain arrays that only this loop changes. A scrape asks each loop for a copy and sums the copies.
/// If a reload removes an entry, its series disappear, so that their number stays bounded.
struct LoopCounters: Sendable {
  struct Upstream: Sendable {
    let name: String
    var codes = Tally<Int>()
    var duration = Histogram()
    var connect = Histogram()
    var firstByte = Histogram()
    var reuses: UInt64 = 0
    var discards: UInt64 = 0
    var unauthorized = Tally<UnauthorizedResult>()
    var retries = Tally<RetryReason>()
    private(set) var redirects = Tally<RedirectResult>()
    private(set) var cache = Tally<CacheResult>()
    var nonceRetries: UInt64 = 0
    var trustFailures = Tally<TrustFailure>()
    private(set) var streams = StreamCounters()
    private(set) var clockSkew: ClockSkew?

    mutating func note(_ event: StreamCounters.Event) { streams.note(event) }
    mutating func note(_ result: RedirectResult) { redirects.add(result) }
    mutating func note(_ result: CacheResult) { cache.add(result) }

    /// - Parameter seconds: that an origin's clock is ahead of ours.
    mutating func noteClockSkew(_ seconds: Int64, at now: Int64) { clockSkew = ClockSkew(seconds: seconds, at: now) }

    static func += (left: inout Upstream, right: Upstream) {
      left.codes += right.codes
      left.duration += right.duration
      left.connect += right.connect
      left.firstByte += right.firstByte
      left.reuses += right.reuses
      left.discards += right.discards
      left.unauthorized += right.unauthorized
      left.retries += right.retries
      left.redirects += right.redirects
      left.cache += right.cache
      left.nonceRetries += right.nonceRetries
      left.trustFailures += right.trustFailures
      left.streams += right.streams
      if let skew = right.clockSkew, skew.at >= left.clockSkew?.at ?? skew.at { left.clockSkew = skew }
    }
  }
  /// What an origin's clock was last ahead of ours.
  struct ClockSkew: Sendable {
    var seconds: Int64
    /// Monotonic nanoseconds.
    var at: Int64
  }
  struct TrustFailure: Sendable, Equatable {
    var evaluator: String
    var reason: TrustRefusalReason
  }
  struct Credential: Sendable {
    var name: String
    var wait = Histogram()
    var signed = Tally<SignedPayload>()
    var challenges = Tally<ChallengeResult>()
    private(set) var fleet = FleetCounters()

    mutating func note(_ event: FleetCounters.Event) { fleet.note(event) }

    static func += (left: inout Credential, right: Credential) {
      left.wait += right.wait
      left.signed += right.signed
      left.challenges += right.challenges
      left.fleet += right.fleet
    }
  }

  struct Parent: Sendable {
    var name: String
    var results = Tally<ParentResult>()
    var connect = Histogram()

    static func += (left: inout Parent, right: Parent) {
      left.results += right.results
      left.connect += right.connect
    }
  }

  /// The first two places: requests without an entry, and CONNECT tunnels. The entries follow.
  static let none = 0
  static let tunnel = 1
  private static let fixed = 2

  var upstreams: [Upstream] = [Upstream(name: "none"), Upstream(name: "tunnel")]
  var credentials: [Credential] = []
  var parents: [Parent] = []
  var errors = Tally<String>()
  var revocation = Tally<RevocationCheck.Observation>()
  /// Of the store that a fleet shares.
  private(set) var store = FleetStoreCounters()
  var tunnels = 0
  /// Connections of apps that broke a bound of HTTP/2, by kind.
  var appAbuses = Tally<HTTP2Abuse>()
  var handshakes = Tally<HandshakeOutcome>()
  /// By the listener's address.
  var proxyHeaderErrors = Tally<String>()

  /// Index in `credentials` of each entry's credential; -1 = none.
  private var credentialOfUpstream: [Int] = [-1, -1]

  /// Takes over another configuration. Entries and credentials that keep their name keep their counts.
  mutating func follow(_ snapshot: Snapshot) {
    let old = upstreams
    upstreams = Array(old.prefix(Self.fixed))
    for entry in snapshot.entries {
      let name = entry.settings.name
      upstreams.append(old.dropFirst(Self.fixed).first { $0.name == name } ?? Upstream(name: name))
    }
    parents = snapshot.settings.parents.map { parent in parents.first { $0.name == parent.name } ?? Parent(name: parent.name) }
    let names = snapshot.settings.credentials.keys.sorted()
    credentials = names.map { name in credentials.first { $0.name == name } ?? Credential(name: name) }
    credentialOfUpstream =
      [-1, -1] + snapshot.entries.map { entry in entry.settings.credential.flatMap { names.firstIndex(of: $0) } ?? -1 }
  }

  mutating func note(_ operation: StoreOperation, _ result: StoreResult, nanoseconds: Int64) {
    store.note(operation, result, nanoseconds: nanoseconds)
  }

  mutating func note(_ event: FleetCounters.Event, of credential: String) {
    if let index = credentials.firstIndex(where: { $0.name == credential }) { credentials[index].note(event) }
  }

  /// Index of an entry in `upstreams`. Finds an entry of an older snapshot by its name.
  func place(of entry: Entry?, in snapshot: Snapshot?) -> Int {
    guard let entry else { return Self.none }
    if let snapshot, entry.index < snapshot.entries.count, snapshot.entries[entry.index] === entry {
      return entry.index + Self.fixed
    }
    return place(of: entry.settings.name)
  }

  func place(of upstream: String) -> Int {
    upstreams.dropFirst(Self.fixed).firstIndex { $0.name == upstream } ?? Self.none
  }

  mutating func count(_ request: borrowing RequestRecord, in snapshot: Snapshot?) {
    let place =
      request.upstream.entry == nil && request.target.isTunnel && request.answer.status == 200
      ? Self.tunnel : place(of: request.upstream.entry, in: snapshot)
    upstreams[place].codes.add(request.answer.status)
    // A tunnel's lifetime is not a response time.
    if !request.target.isTunnel, request.answer.status != 101 {
      upstreams[place].duration.observe(request.times.ended - request.times.started)
    }
    if let error = request.answer.error { errors.add(error) }
    countHop(request, at: request.upstream.hop == nil ? place : self.place(of: request.upstream.hop, in: snapshot))
  }

  /// A hop that redirects counts where it was asked.
  mutating func countHop(_ request: borrowing RequestRecord, in snapshot: Snapshot?) {
    countHop(request, at: place(of: request.upstream.hop ?? request.upstream.entry, in: snapshot))
  }

  private mutating func countHop(_ request: borrowing RequestRecord, at place: Int) {
    if let cache = request.cache { upstreams[place].note(cache.outcome.result) }
    if request.upstream.isReused {
      upstreams[place].reuses += 1
    } else if request.times.connectStarted > 0, request.times.connected > 0 {
      upstreams[place].connect.observe(max(request.times.connected, request.times.secured) - request.times.connectStarted)
    }
    if request.times.sent > 0, request.times.firstByte >= request.times.sent {
      upstreams[place].firstByte.observe(request.times.firstByte - request.times.sent)
    }
    let credential = credentialOfUpstream[place]
    if credential >= 0, request.credential.name != nil || request.times.waitedForCredential > 0 {
      credentials[credential].wait.observe(request.times.waitedForCredential)
      if let payload = request.credential.payload { credentials[credential].signed.add(payload) }
    }
  }

  static func += (left: inout LoopCounters, right: LoopCounters) {
    for upstream in right.upstreams {
      if let index = left.upstreams.firstIndex(where: { $0.name == upstream.name }) {
        left.upstreams[index] += upstream
      } else {
        left.upstreams.append(upstream)
      }
    }
    for credential in right.credentials {
      if let index = left.credentials.firstIndex(where: { $0.name == credential.name }) {
        left.credentials[index] += credential
      } else {
        left.credentials.append(credential)
      }
    }
    for parent in right.parents {
      if let index = left.parents.firstIndex(where: { $0.name == parent.name }) {
        left.parents[index] += parent
      } else {
        left.parents.append(parent)
      }
    }
    left.errors += right.errors
    left.revocation += right.revocation
    left.store += right.store
    left.tunnels += right.tunnels
    left.appAbuses += right.appAbuses
    left.handshakes += right.handshakes
    left.proxyHeaderErrors += right.proxyHeaderErrors
  }
}
