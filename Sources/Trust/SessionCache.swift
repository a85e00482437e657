import TLS

/// What a pooled connection or a session hangs on: the same origin under another policy or another client certificate is
/// another peer.
public struct TrustKey: Sendable, Hashable {
  public let host: String
  public let port: UInt16
  /// `TrustEvaluation.digest(over:)`.
  public let policy: [UInt8]
  /// `PolicyDigest.of(identity)`; empty = none.
  public let identity: [UInt8]

  public init(host: String, port: UInt16, policy: [UInt8], identity: [UInt8]) {
    self.host = host
    self.port = port
    self.policy = policy
    self.identity = identity
  }
}

/// The verdict that a resumed connection begins with: it sees no certificate of its own.
public struct VerdictRecord: Sendable {
  public var chain: [Certificate]
  /// Seconds since 1970.
  public var until: Int64
  /// The stapled answer that the verdict rests on, in DER: a resumed connection brings none in TLS 1.3.
  public var staple: [UInt8]?

  public init(chain: [Certificate], until: Int64, staple: [UInt8]? = nil) {
    self.chain = chain
    self.until = until
    self.staple = staple
  }
}

/// A loop's sessions, each with its verdict. To be filled only once the verdict is trusted. Bounded; the oldest go first.
public final class SessionCache {
  private struct Entry {
    var session: TLSSession
    var record: VerdictRecord
    var age: UInt64
  }

  private var entries: [TrustKey: [Entry]] = [:]
  private var total = 0
  private var clock: UInt64 = 0
  private let limit: Int
  /// As many connections to an origin as may want to resume at once.
  private let limitPerKey: Int

  public init(limit: Int = 1024, limitPerKey: Int = 8) {
    self.limit = limit
    self.limitPerKey = limitPerKey
  }

  public var count: Int { total }

  public func store(_ session: TLSSession, _ record: VerdictRecord, for key: TrustKey) {
    clock += 1
    var list = entries.removeValue(forKey: key) ?? []
    total -= list.count
    // One that may be used again replaces its elders.
    if !session.isSingleUse { list.removeAll() }
    list.append(Entry(session: session, record: record, age: clock))
    if list.count > limitPerKey { list.removeFirst() }
    total += list.count
    entries[key] = list
    while total > limit, let oldest = entries.min(by: { ($0.value.first?.age ?? 0) < ($1.value.first?.age ?? 0) })?.key {
      entries[oldest]?.removeFirst()
      total -= 1
      if entries[oldest]?.isEmpty == true { entries[oldest] = nil }
    }
  }

  /// The newest whose session and verdict still hold at `now`. A TLS 1.3 ticket is taken out: it is offered once.
  public func take(_ key: TrustKey, now: Int64) -> (session: TLSSession, record: VerdictRecord)? {
    guard var list = entries.removeValue(forKey: key) else { return nil }
    total -= list.count
    defer {
      if !list.isEmpty { entries[key] = list }
      total += list.count
    }
    list.removeAll { !$0.session.isResumable || $0.session.expiry <= now || $0.record.until <= now }
    guard let newest = list.last else { return nil }
    if newest.session.isSingleUse { list.removeLast() }
    return (newest.session, newest.record)
  }

  /// Forgets what `isKept` does not want, as after a reload that changed policies.
  public func retire(keeping isKept: (TrustKey) -> Bool) {
    entries = entries.filter { isKept($0.key) }
    total = entries.values.reduce(0) { $0 + $1.count }
  }
}
