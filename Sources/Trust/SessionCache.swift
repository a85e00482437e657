import TLS

/// Key of a pooled connection or session: with another policy or client certificate the same origin is another peer.
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

/// The verdict with which a resumed connection begins, as it receives no certificate.
public struct VerdictRecord: Sendable {
  public var chain: [Certificate]
  /// Seconds since 1970.
  public var until: Int64
  /// The stapled answer behind the verdict, in DER: in TLS 1.3 a resumed connection receives none.
  public var staple: [UInt8]?

  public init(chain: [Certificate], until: Int64, staple: [UInt8]? = nil) {
    self.chain = chain
    self.until = until
    self.staple = staple
  }
}

/// A loop's sessions, each with its verdict. Add a session only after a trusted verdict. Bounded; the oldest go first.
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
  /// The number of connections to an origin that may resume at once.
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
    // A reusable session replaces older ones.
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

  /// The newest session that is valid at `now`, as is its verdict. Removes a TLS 1.3 ticket, as it may be offered only once.
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

  /// Drops sessions that `isKept` rejects, for example after a reload that changed policies.
  public func retire(keeping isKept: (TrustKey) -> Bool) {
    entries = entries.filter { isKept($0.key) }
    total = entries.values.reduce(0) { $0 + $1.count }
  }
}
