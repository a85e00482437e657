import Synchronization

/// A part of the index. The lock is held for one probe or one link, and nothing is freed under it.
final class CacheShard: Sendable {
  /// What is known about one target in one partition.
  struct Slot {
    /// Oldest first.
    var answers = ContiguousArray<StoredAnswer>()
    var flights = ContiguousArray<Flight>()
    /// Of the last answer.
    var vary = VaryNames.none
    /// Changes with each change.
    var version: UInt64 = 0
    var isEmpty: Bool { answers.isEmpty && flights.isEmpty }
  }

  struct State {
    var targets: [CacheTarget: [CacheDigest: Slot]] = [:]
    var versions: UInt64 = 0
    /// By a part of the target's hash: when a target was last invalidated. Two targets that share a place are invalidated together:
    /// it costs a fetch, and no memory.
    var invalidated = [UInt64](repeating: 0, count: CacheShard.places)
    /// By a part of the key's hash: until when a key does not collapse.
    var uncollapsed = [(key: UInt64, until: Int64)](repeating: (0, 0), count: CacheShard.places)

    /// Changes a slot, and removes it if nothing is left in it.
    mutating func change<Result>(_ target: CacheTarget, _ partition: CacheDigest, _ body: (inout Slot) -> Result) -> Result {
      versions += 1
      var slots = targets[target] ?? [:]
      targets[target] = nil
      var slot = slots[partition] ?? Slot()
      slots[partition] = nil
      slot.version = versions
      let result = body(&slot)
      if !slot.isEmpty { slots[partition] = slot }
      if !slots.isEmpty { targets[target] = slots }
      return result
    }
  }

  static let places = 256
  let state = Mutex(State())

  static func place(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: (hash >> 6) & UInt64(places - 1)) }
}
