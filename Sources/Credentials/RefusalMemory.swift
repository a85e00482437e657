/// Identifies the request that an upstream refused.
public struct RequestKey: Sendable, Hashable {
  /// Name of the upstream entry.
  public var entry: String
  /// Name of the client; empty for an anonymous one.
  public var client: String
  public var method: String
  /// Path without the query.
  public var path: [UInt8]
  public init(entry: String, client: String, method: String, path: [UInt8]) {
    self.entry = entry
    self.client = client
    self.method = method
    self.path = path
  }
}

/// Remembers requests that refuse even a fresh token: such a 401 is about the path, not about the token.
///
/// Bounded per client, so that a client with many paths displaces only its own entries.
public struct RefusalMemory: Sendable {
  /// Milliseconds; doubles with each refusal after the time was over.
  public static let firstBackOff: Int64 = 1_000
  public static let longestBackOff: Int64 = 300_000
  public static let entriesPerClient = 64
  public static let maximumClients = 1_024

  private struct Entry: Sendable {
    var until: Int64
    var backOff: Int64
  }
  /// By client, then by a keyed hash of the rest: a path may be 32 KiB long. The hash has another seed in each process.
  private var clients: [String: [Int: Entry]] = [:]

  public init() {}

  public var isEmpty: Bool { clients.isEmpty }

  /// Until when (monotonic milliseconds) refusals of this request are ignored; nil if they count now.
  public func remembered(_ key: RequestKey, now: Int64) -> Int64? {
    guard let entry = clients[key.client]?[Self.fingerprint(key)], now < entry.until else { return nil }
    return entry.until
  }

  public mutating func remember(_ key: RequestKey, now: Int64) {
    if clients[key.client] == nil, clients.count >= Self.maximumClients { dropOldestClient() }
    var entries = clients[key.client] ?? [:]
    let fingerprint = Self.fingerprint(key)
    if let entry = entries[fingerprint] {
      // Simultaneous refusals of the same request count as one.
      guard now >= entry.until else { return }
      let backOff = min(entry.backOff * 2, Self.longestBackOff)
      entries[fingerprint] = Entry(until: now + backOff, backOff: backOff)
    } else {
      if entries.count >= Self.entriesPerClient, let oldest = entries.min(by: { $0.value.until < $1.value.until })?.key {
        entries[oldest] = nil
      }
      entries[fingerprint] = Entry(until: now + Self.firstBackOff, backOff: Self.firstBackOff)
    }
    clients[key.client] = entries
  }

  /// The upstream accepted the request.
  public mutating func forget(_ key: RequestKey) {
    clients[key.client]?[Self.fingerprint(key)] = nil
    if clients[key.client]?.isEmpty == true { clients[key.client] = nil }
  }

  private mutating func dropOldestClient() {
    let latest = clients.mapValues { entries in entries.values.reduce(Int64.min) { max($0, $1.until) } }
    if let oldest = latest.min(by: { $0.value < $1.value })?.key { clients[oldest] = nil }
  }

  private static func fingerprint(_ key: RequestKey) -> Int {
    var hasher = Hasher()
    hasher.combine(key)
    return hasher.finalize()
  }
}

/// Limits the refreshes that refusals cause, within a sliding interval.
///
/// The last place of several is not for a client whose refreshes were all useless. So a misbehaving client cannot use up the
/// refresh that others need when the token really is revoked.
struct RefusalWindow: Sendable {
  private struct Start: Sendable {
    var at: Int64
    var client: String
    var inVain: Bool
  }
  private var starts: [Start] = []

  mutating func admits(_ client: String, _ limit: OAuth2Policy.RefreshWindow, now: Int64) -> Bool {
    guard hasPlace(for: client, limit, now: now) else { return false }
    starts.append(Start(at: now, client: client, inVain: false))
    return true
  }

  /// The same without taking it.
  mutating func hasPlace(for client: String, _ limit: OAuth2Policy.RefreshWindow, now: Int64) -> Bool {
    starts.removeAll { $0.at <= now - Int64(limit.interval) }
    guard starts.count < limit.attempts else { return false }
    let own = starts.filter { $0.client == client }
    let isLast = starts.count == limit.attempts - 1
    return !isLast || own.isEmpty || !own.allSatisfy(\.inVain)
  }

  /// Takes over what a record says, which has this process's starts, too, but not all of what is known about them.
  /// - Parameter epoch: Unix milliseconds at 0 of the monotonic clock.
  mutating func follow(_ recorded: [RefusalStart], epoch: Int64) {
    let known = starts.filter(\.inVain)
    starts = recorded.map { start in
      let at = start.at - epoch
      let isKnown = known.contains { $0.client == start.client && abs($0.at - at) <= Self.clockStep }
      return Start(at: at, client: start.client, inVain: start.inVain || isKnown)
    }
  }

  func recorded(epoch: Int64) -> [RefusalStart] {
    starts.map { RefusalStart(at: $0.at + epoch, client: $0.client, inVain: $0.inVain) }
  }

  /// Milliseconds: a store's clock is read in seconds.
  private static let clockStep: Int64 = 2_000

  /// The last refresh that this client caused was useless: the upstream refused the fresh token, too, or the token was the
  /// same.
  mutating func wasInVain(for client: String) {
    if let index = starts.lastIndex(where: { $0.client == client && !$0.inVain }) { starts[index].inVain = true }
  }
}
