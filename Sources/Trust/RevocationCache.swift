import Synchronization
import TLS

/// Answers about revocation, kept until their next update; failures, remembered for 60 s doubling to an hour; and who fetches
/// what just now. Shared by all loops; bounded in entries and bytes.
public final class RevocationCache: Sendable {
  public enum Lookup: Sendable, Hashable {
    case answer(RevocationStatus)
    /// There is a fresh list that does not speak about this certificate.
    case notCovering
    /// Not to be asked again before then, in seconds since 1970.
    case failed(retryAt: Int64)
    case absent
  }

  public enum Flight: Sendable, Hashable {
    /// Nobody was fetching: the caller does, and must call `finish`, whatever happens.
    case lead
    /// Somebody is: the caller waits for that one's `finish`.
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
  /// How long a revocation is believed without asking again, in seconds.
  static let revokedLifetime: Int64 = 3600
  /// An answer that only the clock allowance keeps alive is not asked for again at once.
  static let shortestLifetime: Int64 = 60
  /// What an entry takes beside its list, roughly.
  private static let entryOverhead = 4096

  public init(entryLimit: Int = 4096, byteLimit: Int = 64 * 1024 * 1024) {
    self.entryLimit = entryLimit
    self.byteLimit = byteLimit
  }

  public func lookup(_ request: FetchRequest, of certificate: Certificate, issuer: Certificate, now: Int64) -> Lookup {
    let (content, retryAt) = state.withLock { state -> (Content?, Int64) in
      guard var entry = state.entries.removeValue(forKey: request.key) else { return (nil, 0) }
      entry.lastUse = now
      let content = entry.until > now ? entry.content : nil
      let retryAt = entry.retryAt
      state.entries[request.key] = entry
      return (content, retryAt)
    }
    switch content {
    case .status(let status): return .answer(status)
    case .list(let list):
      switch list.status(of: certificate, issuer: issuer, now: now, signatureIsVerified: true) {
      case .good(let until): return .answer(.good(until: max(until, now + Self.shortestLifetime)))
      case .revoked(let at): return .answer(.revoked(at: at))
      case .unusable: return .notCovering
      }
    case nil: return retryAt > now ? .failed(retryAt: retryAt) : .absent
    }
  }

  public func begin(_ request: FetchRequest) -> Flight {
    state.withLock { $0.inFlight.insert(request.key).inserted ? .lead : .join }
  }

  /// Ends the flight and keeps what it brought. A failure leaves an answer that still holds where it is.
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
      } else {
        if entry.until <= now {
          entry.content = nil
          entry.bytes = 0
        }
        entry.retryAt = now + min(Self.firstRetry << Int64(min(entry.failures, 10)), Self.lastRetry)
        entry.failures += 1
      }
      entry.bytes = max(entry.bytes, Self.entryOverhead)
      state.bytes += entry.bytes
      state.entries[request.key] = entry
      evict(&state, keeping: request.key)
    }
  }

  /// What was used since it was fetched and has lived three quarters of its time: to be fetched again before it is missed.
  public func due(now: Int64, limit: Int = 16) -> [FetchRequest] {
    state.withLock { state in
      var result: [FetchRequest] = []
      for (key, entry) in state.entries where result.count < limit {
        guard entry.content != nil, entry.lastUse > entry.fetchedAt, entry.until > now, entry.retryAt <= now,
          now >= entry.fetchedAt + (entry.until - entry.fetchedAt) / 4 * 3, !state.inFlight.contains(key)
        else { continue }
        result.append(entry.request)
      }
      return result
    }
  }

  /// Asks again at once what failed: somebody may have put it right.
  public func forgetFailures() {
    state.withLock { state in
      for key in Array(state.entries.keys) {
        state.entries[key]?.failures = 0
        state.entries[key]?.retryAt = 0
      }
    }
  }

  public var count: Int { state.withLock { $0.entries.count } }

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
      // Parsed, a list takes several times its encoding.
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
