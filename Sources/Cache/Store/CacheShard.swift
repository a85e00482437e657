import Synchronization

/// A part of the index. The lock is held for one probe or one link, and nothing is freed under it.
final class CacheShard: Sendable {
  /// What is known about one target in one partition.
  struct Slot {
    /// Oldest first.
    var answers = Few<StoredAnswer>()
    var flights = Few<Flight>()
    /// Of the last answer.
    var vary = VaryNames.none
    /// Changes with each change.
    var version: UInt64 = 0
    var isEmpty: Bool { answers.isEmpty && flights.isEmpty }

    /// - Parameter dropped: gets the answers whose place it takes.
    mutating func put(
      _ answer: StoredAnswer, replacing replaced: StoredAnswer?, _ version: UInt64, _ dropped: inout [StoredAnswer]
    ) {
      if !answers.isEmpty {
        answers.removeAll { old in
          let isSame = old.isFor(answer) || old === replaced
          if isSame { dropped.append(old) }
          return isSame
        }
        if answers.count >= CacheStore.answersPerTarget, let oldest = answers.removeFirst() { dropped.append(oldest) }
      }
      answers.append(answer)
      vary = answer.vary
      self.version = version
    }

    mutating func remove(_ answer: StoredAnswer, _ version: UInt64) {
      if answers.remove(answer) { self.version = version }
    }

    /// - Returns: whether it was there.
    mutating func remove(_ flight: Flight, _ version: UInt64) -> Bool {
      guard flights.remove(flight) else { return false }
      self.version = version
      return true
    }
  }

  /// The slots of one target, by partition. Nearly every target has one, which needs no table. Confined to the lock; an object, so that
  /// nothing is copied to change it.
  final class SlotsOfTarget {
    private var partition: CacheDigest
    private var slot = Slot()
    private var others: [CacheDigest: Slot] = [:]

    init(_ partition: CacheDigest) { self.partition = partition }

    var isEmpty: Bool { slot.isEmpty && others.isEmpty }
    var answers: [StoredAnswer] { slot.answers.all + others.values.flatMap { $0.answers.all } }

    /// Calls `body` with the slot of a partition, if there is one.
    @inline(__always)
    func read<Result>(_ id: CacheDigest, _ body: (borrowing Slot) -> Result) -> Result? {
      if id == partition { return body(slot) }
      return others.isEmpty ? nil : others[id].map { body($0) }
    }

    @inline(__always)
    fileprivate func withSlot(_ id: CacheDigest, _ body: (inout Slot) -> Void) {
      if slot.isEmpty, others.isEmpty { partition = id }
      guard id == partition else {
        body(&others[id, default: Slot()])
        if others[id]?.isEmpty == true { others[id] = nil }
        return
      }
      body(&slot)
      if slot.isEmpty { slot = Slot() }
    }
  }

  struct State {
    var targets: [CacheTarget: SlotsOfTarget] = [:]
    var versions: UInt64 = 0
    /// By a part of the target's hash: when a target was last invalidated. Two targets that share a place are invalidated together:
    /// it costs a fetch, and no memory.
    private var invalidated: [UInt64] = []
    /// By a part of the key's hash: until when a key does not collapse.
    private var uncollapsed: [(key: UInt64, until: Int64)] = []

    // Both tables come with their first entry: who stores nothing pays nothing.

    func lastInvalidation(_ hash: UInt64) -> UInt64 { invalidated.isEmpty ? 0 : invalidated[CacheShard.place(hash)] }

    /// Of two at once, the later one may come first.
    mutating func invalidate(_ hash: UInt64, at number: UInt64) {
      if invalidated.isEmpty { invalidated = [UInt64](repeating: 0, count: CacheShard.places) }
      invalidated[CacheShard.place(hash)] = max(invalidated[CacheShard.place(hash)], number)
    }

    func mayCollapse(_ key: UInt64, now: Int64) -> Bool {
      if uncollapsed.isEmpty { return true }
      let mark = uncollapsed[CacheShard.place(key)]
      return mark.key != key || now >= mark.until
    }

    mutating func stopCollapsing(_ key: UInt64, until: Int64) {
      if uncollapsed.isEmpty { uncollapsed = [(key: UInt64, until: Int64)](repeating: (0, 0), count: CacheShard.places) }
      uncollapsed[CacheShard.place(key)] = (key, until)
    }

    /// Calls `body` with a slot where it is, which may be a new one, and removes it if nothing is left in it.
    /// - Parameter body: gets the version to set if it changes the slot.
    @inline(__always)
    mutating func withSlot(_ target: CacheTarget, _ partition: CacheDigest, _ body: (inout Slot, UInt64) -> Void) {
      versions += 1
      let version = versions
      Self.change(&targets[target], partition) { body(&$0, version) }
    }

    /// Where the target is looked up once, there is one look-up.
    @inline(__always)
    private static func change(_ slots: inout SlotsOfTarget?, _ partition: CacheDigest, _ body: (inout Slot) -> Void) {
      let changed = slots ?? SlotsOfTarget(partition)
      changed.withSlot(partition, body)
      if changed.isEmpty { slots = nil } else if slots == nil { slots = changed }
    }
  }

  static let places = 256
  let state = Mutex(State())

  static func place(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: (hash >> 6) & UInt64(places - 1)) }
}
