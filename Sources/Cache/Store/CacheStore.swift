import Synchronization

/// All stored answers of a process, and the fetches under way: one index for all loops. Any thread may call it.
///
/// Locks: a shard's for one probe or link, and that of the queues for an insertion or an eviction. Never two at once.
public final class CacheStore: Sendable {
  /// Why an answer is gone: `cache_evictions_total`.
  public enum Removal: Int, Sendable, CaseIterable {
    case space, expired, invalidated, purged, reload, credential, trust, replaced
  }

  /// When a request or fetch began, counted in invalidations.
  public struct Beginning: Sendable, Hashable { let value: UInt64 }

  public static let answersPerTarget = 32
  static let flightsPerTarget = 32

  public let ledger: MemoryLedger
  private let shards: [CacheShard]
  private let queues = Mutex(EvictionQueues())
  /// Counts invalidations.
  private let sequence = Atomic<UInt64>(0)
  /// What began before it is not stored: raised before answers are dropped by a rule.
  private let floor = Atomic<UInt64>(0)
  private let linkedBytes = Atomic<Int>(0)
  private let flyingBytes = Atomic<Int>(0)
  private let objects = Atomic<Int>(0)
  private let flights = Atomic<Int>(0)
  private let removals: [Counter] = Removal.allCases.map { _ in Counter() }

  private final class Counter: Sendable { let value = Atomic<Int>(0) }

  /// - Parameter limit: bytes.
  public init(limit: Int) {
    ledger = MemoryLedger(limit: limit)
    shards = (0..<64).map { _ in CacheShard() }
  }

  // MARK: - Figures

  public var bytes: Int { ledger.bytes }
  public var count: Int { objects.load(ordering: .relaxed) }
  public var flightCount: Int { flights.load(ordering: .relaxed) }
  public func removed(_ reason: Removal) -> Int { removals[reason.rawValue].value.load(ordering: .relaxed) }
  /// Held by readers of answers that are not in the index any more.
  public var heldBytes: Int {
    max(0, ledger.bytes - linkedBytes.load(ordering: .relaxed) - flyingBytes.load(ordering: .relaxed))
  }

  // MARK: - Look

  /// What there is for a key, without its locks.
  public struct Probe: Sendable {
    /// Oldest first.
    let answers: ContiguousArray<StoredAnswer>
    let flights: ContiguousArray<Flight>
    /// Of the last answer.
    public let vary: VaryNames
    fileprivate let version: UInt64
    /// Fetches that began before must not be joined.
    fileprivate let oldest: UInt64
    /// false: an answer was not storable a moment ago, so nobody waits for one.
    public let mayCollapse: Bool
    public var hasAnswers: Bool { !answers.isEmpty }

    /// The newest answer for a request.
    /// - Parameter variant: the request's digest under these names.
    public func answer(_ variant: (VaryNames) -> CacheDigest) -> StoredAnswer? {
      var known: (vary: VaryNames, variant: CacheDigest)?
      for answer in answers.reversed() where !answer.isGone {
        if known?.vary !== answer.vary { known = (answer.vary, variant(answer.vary)) }
        if known?.variant == answer.variant { return answer }
      }
      return nil
    }

    /// A fetch whose answer a request may wait for, or read.
    /// - Parameter needs: of the request; once the head is there, it must be fresh for them.
    public func flight(needs: RequestNeeds, now: Int64, _ variant: (VaryNames) -> CacheDigest) -> Flight? {
      flights.last { flight in
        guard flight.began.value >= oldest else { return false }
        guard let head = flight.head else { return variant(flight.vary) == flight.variant }
        guard case .now = head.times.use(for: needs, now: now) else { return false }
        return variant(head.vary) == head.variant
      }
    }
  }

  public func probe(_ target: CacheTarget, _ partition: Partition, now: Int64) -> Probe {
    let key = Self.key(target, partition)
    return shard(target).state.withLock { state in
      let slot = state.targets[target]?[partition.id]
      let mark = state.uncollapsed[CacheShard.place(key)]
      return Probe(
        answers: slot?.answers ?? [], flights: slot?.flights ?? [], vary: slot?.vary ?? .none, version: slot?.version ?? 0,
        oldest: max(state.invalidated[CacheShard.place(Self.bits(target))], floor.load(ordering: .acquiring)),
        mayCollapse: mark.key != key || now >= mark.until)
    }
  }

  /// Before a request is sent whose answer may be stored.
  public func begin() -> Beginning { Beginning(value: sequence.load(ordering: .acquiring)) }

  // MARK: - Fetches

  public enum Lead: Sendable {
    /// The caller fetches.
    case flight(Flight)
    /// Something changed since the probe: look again.
    case changed
    /// Too many fetches, or no room: go alone.
    case alone
  }

  /// Begins a fetch that others may join, if nothing has changed since the probe.
  /// - Parameters:
  ///   - vary: names under which `variant` was made: those of the probe.
  ///   - loop: of the caller.
  public func lead(
    _ target: CacheTarget, _ partition: Partition, vary: VaryNames, variant: CacheDigest, after probe: Probe, loop: Int
  ) -> Lead {
    guard reserve(Flight.cost) else { return .alone }
    let flight = Flight(
      target: target, partition: partition, vary: vary, variant: variant, began: begin(), loop: loop, ledger: ledger)
    let result: Lead = shard(target).state.withLock { state in
      let slot = state.targets[target]?[partition.id]
      guard (slot?.version ?? 0) == probe.version else { return .changed }
      guard (slot?.flights.count ?? 0) < Self.flightsPerTarget else { return .alone }
      state.change(target, partition.id) { $0.flights.append(flight) }
      return .flight(flight)
    }
    if case .flight = result {
      flights.add(1, ordering: .relaxed)
      flying(Flight.cost)
    }
    return result
  }

  /// The head of a fetch is there. Requests that its Vary tells apart are told apart from now on, before it is stored: those who waited
  /// and have to look again find one fetch for each variant.
  public func publish(_ head: Flight.Head, of flight: Flight) {
    flight.publish(head)
    shard(flight.target).state.withLock { state in
      guard let slot = state.targets[flight.target]?[flight.partition.id], !slot.vary.isEqual(to: head.vary) else { return }
      state.change(flight.target, flight.partition.id) { $0.vary = head.vary }
    }
  }

  /// No request joins it any more. May be called again.
  public func leave(_ flight: Flight) {
    let wasThere = shard(flight.target).state.withLock { state in
      guard state.targets[flight.target]?[flight.partition.id]?.flights.contains(where: { $0 === flight }) == true else {
        return false
      }
      state.change(flight.target, flight.partition.id) { slot in slot.flights.removeAll { $0 === flight } }
      return true
    }
    guard wasThere else { return }
    flights.subtract(1, ordering: .relaxed)
    flying(-Flight.cost)
  }

  /// An answer for the key was not storable: for a while nobody waits for one.
  public func stopCollapsing(_ target: CacheTarget, _ partition: Partition, until: Int64) {
    let key = Self.key(target, partition)
    shard(target).state.withLock { $0.uncollapsed[CacheShard.place(key)] = (key, until) }
  }

  // MARK: - Link

  /// Puts an answer into the index, in place of an older one for the same requests.
  /// - Parameters:
  ///   - began: before the request was sent.
  ///   - replaced: the answer that it renews, if any, whose rank it takes.
  /// - Returns: why not.
  public func link(_ answer: StoredAnswer, began: Beginning, replacing replaced: StoredAnswer? = nil) -> StoreRefusal? {
    // The queues know it first: whoever drops answers by a rule finds it there, or the floor below does.
    linkedBytes.add(answer.size, ordering: .relaxed)
    objects.add(1, ordering: .relaxed)
    queues.withLock { $0.insert(answer, replacing: replaced) }
    var dropped: [StoredAnswer] = []
    let refusal: StoreRefusal? = shard(answer.target).state.withLock { state in
      let oldest = max(state.invalidated[CacheShard.place(Self.bits(answer.target))], floor.load(ordering: .acquiring))
      guard began.value >= oldest else { return .invalidated }
      // It was evicted between the two locks.
      guard !answer.isGone else { return .full }
      state.change(answer.target, answer.partition.id) { slot in
        slot.answers.removeAll { old in
          let isSame = old.variant == answer.variant && old.vary.isEqual(to: answer.vary) || old === replaced
          if isSame { dropped.append(old) }
          return isSame
        }
        if slot.answers.count >= Self.answersPerTarget { dropped.append(slot.answers.removeFirst()) }
        slot.answers.append(answer)
        slot.vary = answer.vary
      }
      return nil
    }
    for old in dropped { remove(old, .replaced) }
    if refusal != nil { remove(answer, nil) }
    return refusal
  }

  // MARK: - Removal

  /// - Returns: whether it was there.
  @discardableResult
  public func remove(_ answer: StoredAnswer, _ reason: Removal?) -> Bool {
    guard answer.markGone() else { return false }
    queues.withLock { _ = $0.remove(answer) }
    unlink(answer, reason)
    return true
  }

  private func unlink(_ answer: StoredAnswer, _ reason: Removal?) {
    shard(answer.target).state.withLock { state in
      guard state.targets[answer.target]?[answer.partition.id]?.answers.contains(where: { $0 === answer }) == true else {
        return
      }
      state.change(answer.target, answer.partition.id) { slot in slot.answers.removeAll { $0 === answer } }
    }
    linkedBytes.subtract(answer.size, ordering: .relaxed)
    objects.subtract(1, ordering: .relaxed)
    if let reason { removals[reason.rawValue].value.add(1, ordering: .relaxed) }
  }

  /// Drops a target in all partitions of its origin. What began before is neither joined nor stored.
  /// - Returns: how many answers.
  @discardableResult
  public func invalidate(_ target: CacheTarget, _ reason: Removal = .invalidated) -> Int {
    let next = sequence.add(1, ordering: .acquiringAndReleasing).newValue
    let answers = shard(target).state.withLock { state in
      state.invalidated[CacheShard.place(Self.bits(target))] = next
      return state.targets[target]?.values.flatMap { $0.answers } ?? []
    }
    return answers.count { remove($0, reason) }
  }

  /// Drops answers by a rule: a purge, a reload, a credential or an origin that lost its trust. Nothing that began before is joined or
  /// stored, whether the rule meets it or not.
  /// - Returns: how many answers.
  @discardableResult
  public func drop(_ reason: Removal, where isMeant: (StoredAnswer) -> Bool) -> Int {
    let next = sequence.add(1, ordering: .acquiringAndReleasing).newValue
    raiseFloor(next)
    return removeAll(reason, where: isMeant)
  }

  private func raiseFloor(_ next: UInt64) {
    var now = floor.load(ordering: .relaxed)
    while now < next {
      let (isDone, found) = floor.weakCompareExchange(expected: now, desired: next, ordering: .acquiringAndReleasing)
      if isDone { return }
      now = found
    }
  }

  private func removeAll(_ reason: Removal, where isMeant: (StoredAnswer) -> Bool) -> Int {
    var removed = 0
    var start: Int? = 0
    while let from = start {
      var answers: [StoredAnswer] = []
      start = queues.withLock { $0.collect(from: from, 256, into: &answers) }
      for answer in answers where isMeant(answer) && remove(answer, reason) { removed += 1 }
    }
    return removed
  }

  /// Drops answers that no request has a use for. To be called now and then.
  @discardableResult
  public func sweep(now: Int64) -> Int { removeAll(.expired) { $0.times.isUseless(now) } }

  // MARK: - Memory

  /// Takes bytes from the ledger, and evicts for them. Whoever got them gives them back.
  /// - Returns: false: no room, or readers of evicted answers hold over half of all memory.
  func reserve(_ count: Int) -> Bool {
    let limit = ledger.limit
    guard count <= limit, heldBytes <= limit / 2 else { return false }
    // Evicting more than is needed gains nothing if readers hold it.
    var evicted = 0
    while !ledger.take(count) {
      guard evicted < count + count / 2, let freed = evict() else { return false }
      evicted += freed
    }
    return true
  }

  /// - Returns: bytes of an answer that is gone; nil: there is none.
  private func evict() -> Int? {
    while true {
      guard let answer = queues.withLock({ $0.evict(limit: ledger.limit) }) else { return nil }
      guard answer.markGone() else { continue }
      unlink(answer, .space)
      return answer.size
    }
  }

  /// Bytes of fetches under way.
  func flying(_ count: Int) { flyingBytes.add(count, ordering: .relaxed) }

  /// After a reload. Evicts until the rest fits, or until nothing is left but what readers hold.
  public func set(limit: Int) {
    ledger.set(limit: limit)
    while ledger.bytes > limit, evict() != nil {}
  }

  // MARK: - Parts

  private func shard(_ target: CacheTarget) -> CacheShard { shards[Int(truncatingIfNeeded: Self.bits(target) & 63)] }
  private static func bits(_ target: CacheTarget) -> UInt64 { UInt64(bitPattern: Int64(target.hash)) }
  private static func key(_ target: CacheTarget, _ partition: Partition) -> UInt64 {
    bits(target) ^ partition.id.short &* 0x9e37_79b9_7f4a_7c15
  }
}
