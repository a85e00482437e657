import Synchronization
import TLS

/// Caches revocation answers until their next update, and failures for 60 s, doubling up to an hour. Also coordinates fetches,
/// so that each runs only once. Shared by all loops; bounded in entries and bytes.
///
/// A question that judges a parent and the same one that judges somebody else have entries of their own, as they are fetched over
/// different ways, but each of the two has the other's answer as well.
public final class RevocationCache: Sendable {
  public enum Lookup: Sendable, Hashable {
    case answer(RevocationStatus)
    /// There is a valid list, but it does not cover this certificate.
    case notCovering
    /// Earliest time of the next attempt, in seconds since 1970.
    case failed(retryAt: Int64)
    case absent
  }

  public enum Flight: Sendable, Hashable {
    /// No fetch is running: the caller makes it, and must call `finish` in every case.
    case lead
    /// A fetch is running: the caller waits for its `finish`.
    case join
  }

  private enum Content: Sendable {
    case status(RevocationStatus)
    case list(CertificateList)
  }

  private struct Entry {
    var request: FetchRequest
    var content: Content?
    var fetchedAt: Int64 = 0
    var until: Int64 = 0
    var bytes = 0
    var failures = 0
    var retryAt: Int64 = 0
    /// After failures to renew an answer that is still valid: they say nothing of the time after it.
    var refreshAt: Int64 = 0
    var lastUse: Int64 = 0
  }

  private struct State {
    var entries: [[UInt8]: Entry] = [:]
    var bytes = 0
    var inFlight: Set<[UInt8]> = []
  }

  private let state = Mutex(State())
  private let entryLimit: Int
  private let byteLimit: Int

  static let firstRetry: Int64 = 60
  static let lastRetry: Int64 = 3600
  /// How long a revocation counts without asking again, in seconds.
  static let revokedLifetime: Int64 = 3600
  /// Do not immediately ask again for an answer that is valid only because of the allowance for clock skew.
  static let shortestLifetime: Int64 = 60
  /// Approximate size of an entry without its list.
  private static let entryOverhead = 4096

  public init(entryLimit: Int = 4096, byteLimit: Int = 64 * 1024 * 1024) {
    self.entryLimit = entryLimit
    self.byteLimit = byteLimit
  }

  public func lookup(_ request: FetchRequest, of certificate: Certificate, issuer: Certificate, now: Int64) -> Lookup {
    let (own, other, retryAt) = state.withLock { state -> (Content?, Content?, Int64) in
      func use(_ key: [UInt8]) -> (Content?, Int64) {
        guard var entry = state.entries.removeValue(forKey: key) else { return (nil, 0) }
        entry.lastUse = now
        let content = entry.until > now ? entry.content : nil
        let retryAt = entry.retryAt
        state.entries[key] = entry
        return (content, retryAt)
      }
      let (own, other) = (use(request.key), use(request.otherKey))
      return (own.0, other.0, own.1)
    }
    func read(_ content: Content?) -> Lookup? {
      switch content {
      case .status(let status): return .answer(status)
      case .list(let list):
        switch list.status(of: certificate, issuer: issuer, now: now, signatureIsVerified: true) {
        case .good(let until): return .answer(.good(until: max(until, now + Self.shortestLifetime)))
        case .revoked(let at): return .answer(.revoked(at: at))
        case .unusable: return .notCovering
        }
      case nil: return nil
      }
    }
    let second = read(other)
    // A revocation counts, whoever heard of it.
    if case .answer(.revoked)? = second, let second { return second }
    return read(own) ?? second ?? (retryAt > now ? .failed(retryAt: retryAt) : .absent)
  }

  public func begin(_ request: FetchRequest) -> Flight {
    state.withLock { $0.inFlight.insert(request.key).inserted ? .lead : .join }
  }

  /// Ends the flight and stores its result. A failure does not replace an answer that is still valid.
  public func finish(_ request: FetchRequest, _ outcome: FetchOutcome, now: Int64) {
    let kept = Self.content(outcome, now: now)
    state.withLock { state in
      state.inFlight.remove(request.key)
      var entry = state.entries.removeValue(forKey: request.key) ?? Entry(request: request, lastUse: now)
      state.bytes -= entry.bytes
      entry.request = request
      if let kept {
        entry.content = kept.content
        entry.until = kept.until
        entry.fetchedAt = now
        entry.bytes = kept.bytes
        entry.failures = 0
        entry.retryAt = 0
        entry.refreshAt = 0
      } else {
        let isExpired = entry.until <= now
        // The failures so far were those of renewing it.
        if isExpired, entry.content != nil { entry.failures = 0 }
        let retryAt = now + min(Self.firstRetry << Int64(min(entry.failures, 10)), Self.lastRetry)
        if isExpired {
          entry.content = nil
          entry.bytes = 0
          entry.retryAt = retryAt
        } else {
          entry.refreshAt = retryAt
        }
        entry.failures += 1
      }
      entry.bytes = max(entry.bytes, Self.entryOverhead)
      state.bytes += entry.bytes
      state.entries[request.key] = entry
      evict(&state, keeping: request.key)
    }
  }

  /// Answers that were used since their fetch and have reached three quarters of their time: fetch them again before they
  /// expire.
  public func due(now: Int64, limit: Int = 16) -> [FetchRequest] {
    state.withLock { state in
      var result: [FetchRequest] = []
      for (key, entry) in state.entries where result.count < limit {
        guard entry.content != nil, entry.lastUse > entry.fetchedAt, entry.until > now, entry.refreshAt <= now,
          now >= entry.fetchedAt + (entry.until - entry.fetchedAt) / 4 * 3, !state.inFlight.contains(key)
        else { continue }
        result.append(entry.request)
      }
      return result
    }
  }

  /// Forgets failures, as an operator may have fixed the cause; the next check asks again at once.
  public func forgetFailures() {
    state.withLock { state in
      for key in Array(state.entries.keys) {
        state.entries[key]?.failures = 0
        state.entries[key]?.retryAt = 0
        state.entries[key]?.refreshAt = 0
      }
    }
  }

  public var count: Int { state.withLock { $0.entries.count } }

  /// What needs attention first.
  public func reports(now: Int64, limit: Int) -> [RevocationReport] {
    let all = state.withLock { $0.entries.values.map { ($0, Self.state(of: $0, now: now)) } }
    let order: [RevocationReport.State] = [.revoked, .unknown, .stale, .good, .list]
    let sorted = order.lazy.flatMap { wanted in all.lazy.filter { $0.1 == wanted } }
    return sorted.prefix(limit).map { Self.report($0.0, $0.1, now: now) }
      .sorted { (order.firstIndex(of: $0.state) ?? 0, $0.subject) < (order.firstIndex(of: $1.state) ?? 0, $1.subject) }
  }

  private static func state(of entry: Entry, now: Int64) -> RevocationReport.State {
    switch entry.content {
    case nil: .unknown
    case .some where entry.until <= now: .stale
    case .status(.revoked): .revoked
    case .status: .good
    case .list: .list
    }
  }

  private static func report(_ entry: Entry, _ state: RevocationReport.State, now: Int64) -> RevocationReport {
    let (source, subject): (RevocationReport.Source, String) =
      switch entry.request.subject {
      case .ocsp(let certificate, _): (.ocsp, certificate.subject)
      case .list(let issuer): (.crl, issuer.subject)
      }
    let retry = max(entry.retryAt, entry.refreshAt)
    return RevocationReport(
      source: source, state: state, subject: subject, responder: RevocationReport.responder(entry.request.url),
      fetched: entry.content == nil ? nil : entry.fetchedAt, expires: entry.content == nil ? nil : entry.until,
      retry: retry > now ? retry : nil)
  }

  private static func content(_ outcome: FetchOutcome, now: Int64) -> (content: Content, until: Int64, bytes: Int)? {
    switch outcome {
    case .status(.good(let until)):
      let held = max(until, now + shortestLifetime)
      return (.status(.good(until: held)), held, 0)
    case .status(.revoked(let at)): return (.status(.revoked(at: at)), now + revokedLifetime, 0)
    case .status(.unusable), .failed: return nil
    case .list(let list, let bytes):
      let until = list.nextUpdate ?? list.thisUpdate + RevocationStatus.lifetimeWithoutNextUpdate
      guard until + RevocationStatus.clockAllowance >= now else { return nil }
      // A parsed list takes several times the size of its encoding.
      return (.list(list), max(until, now + shortestLifetime), bytes * 4)
    }
  }

  private func evict(_ state: inout State, keeping key: [UInt8]) {
    while state.entries.count > entryLimit || state.bytes > byteLimit {
      guard let oldest = state.entries.filter({ $0.key != key }).min(by: { $0.value.lastUse < $1.value.lastUse }) else {
        return
      }
      state.bytes -= oldest.value.bytes
      state.entries[oldest.key] = nil
    }
  }
}
