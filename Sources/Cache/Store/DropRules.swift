import Synchronization

/// The last rules by which answers were dropped: what began before one, and is meant by it, is neither joined nor stored. A fetch may be
/// under way for hours, so the oldest rule goes as others come, and then it means everything that began before it.
final class DropRules: Sendable {
  typealias Meaning = @Sendable (CacheTarget, Partition) -> Bool

  private struct Rule {
    let number: UInt64
    let isMeant: Meaning
  }

  static let limit = 8
  private let rules = Mutex<[Rule]>([])
  private let newest = Atomic<UInt64>(0)

  /// - Parameters:
  ///   - next: the rule's number; numbers rise.
  ///   - forget: gets the number of the rule that goes for it, if one does, before it has gone.
  func add(_ isMeant: @escaping Meaning, next: () -> UInt64, forget: (UInt64) -> Void) {
    rules.withLock { rules in
      let number = next()
      if rules.count == Self.limit {
        forget(rules[0].number)
        rules.removeFirst()
      }
      rules.append(Rule(number: number, isMeant: isMeant))
      newest.store(number, ordering: .releasing)
    }
  }

  /// The number of the last rule that means a key, if it came after what began then; 0: none did.
  func last(for target: CacheTarget, _ partition: Partition, after began: CacheStore.Beginning) -> UInt64 {
    // As nearly always.
    if newest.load(ordering: .acquiring) <= began.value { return 0 }
    let later = rules.withLock { rules in rules.filter { $0.number > began.value } }
    return later.last { $0.isMeant(target, partition) }?.number ?? 0
  }
}
