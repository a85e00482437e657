/// Exchanges that wait: first in, first out. Few leave from the middle.
struct WaitingLine<Waiter: AnyObject> {
  /// The waiters before `head` have left, and are nil.
  private var entries: [(waiter: Waiter?, since: Int64)] = []
  private var head = 0

  var count: Int { entries.count - head }
  var isEmpty: Bool { count == 0 }

  var first: Waiter? { isEmpty ? nil : entries[head].waiter }
  var newest: Waiter? { isEmpty ? nil : entries.last?.waiter }
  /// Since when the first waits.
  var since: Int64? { isEmpty ? nil : entries[head].since }

  mutating func append(_ waiter: Waiter, at time: Int64) { entries.append((waiter, time)) }

  mutating func removeFirst() -> Waiter? {
    guard !isEmpty else { return nil }
    defer {
      entries[head].waiter = nil
      head += 1
      if head > 64, head * 2 > entries.count {
        entries.removeFirst(head)
        head = 0
      } else if isEmpty {
        entries.removeAll(keepingCapacity: entries.count < 64)
        head = 0
      }
    }
    return entries[head].waiter
  }

  /// The first, if it waits since that time or longer.
  mutating func removeFirst(upTo time: Int64) -> Waiter? {
    isEmpty || entries[head].since > time ? nil : removeFirst()
  }

  mutating func removeAll(upTo time: Int64) -> [Waiter] {
    let waiting = entries[head...]
    let leaving = waiting.filter { $0.since <= time }.compactMap(\.waiter)
    entries = waiting.filter { $0.since > time }
    head = 0
    return leaving
  }

  /// - Returns: whether it was there.
  mutating func remove(_ waiter: Waiter) -> Bool {
    guard let index = entries[head...].firstIndex(where: { $0.waiter === waiter }) else { return false }
    entries.remove(at: index)
    return true
  }
}

/// Exchanges whose client uses its whole share of the origin's connections. They wait for one of the client's own exchanges to
/// end. Each client has its own line, so a freed place finds the client's next exchange at once, however many others wait.
struct HeldBack<Waiter: AnyObject> {
  private struct Queue {
    /// Owns the object whose address is the key.
    let share: OriginShare
    var line = WaitingLine<Waiter>()
    var turn = OwnTurn()
  }
  private var queues: [ObjectIdentifier: Queue] = [:]

  var isEmpty: Bool { queues.isEmpty }
  var shares: [OriginShare] { queues.values.map(\.share) }

  func contains(_ share: OriginShare) -> Bool { queues[ObjectIdentifier(share)] != nil }

  /// Since when the first request of that client waits; nil: there is none.
  func since(of share: OriginShare) -> Int64? { queues[ObjectIdentifier(share)]?.line.since }

  mutating func append(_ waiter: Waiter, of share: OriginShare, at time: Int64) {
    queues[ObjectIdentifier(share), default: Queue(share: share)].line.append(waiter, at: time)
  }

  mutating func removeFirst(of share: OriginShare) -> Waiter? {
    let key = ObjectIdentifier(share)
    let waiter = queues[key]?.line.removeFirst()
    forgetIfEmpty(key)
    return waiter
  }

  /// - Returns: whether it was there.
  mutating func remove(_ waiter: Waiter, of share: OriginShare) -> Bool {
    let key = ObjectIdentifier(share)
    guard queues[key]?.line.remove(waiter) == true else { return false }
    forgetIfEmpty(key)
    return true
  }

  /// Whether the next free place of this share should go to another loop.
  mutating func isOwnTurnOver(_ share: OriginShare, at now: Int64, othersWait: Bool) -> Bool {
    queues[ObjectIdentifier(share)]?.turn.isOver(at: now, othersWait: othersWait) ?? false
  }

  private mutating func forgetIfEmpty(_ key: ObjectIdentifier) {
    if queues[key]?.line.isEmpty == true { queues[key] = nil }
  }
}
