import Synchronization

/// All stored answers of a process, and the fetches under way: one index for all loops. Any thread may call it.
///
/// Locks: a shard's for one probe or link, and that of the queues for an insertion or an eviction. Never two at once.
public final class CacheStore: Sendable {
  /// Why an answer is gone: `cache_evictions_total`.
  public enum Removal: Int, Sendable, CaseIterable {
    case space, expired, invalidated, purged, reload, credential, trust, replaced

    /// Nobody is to be served with it any more, nor with its body under a newer head.
    var isDrop: Bool {
      switch self {
      case .invalidated, .purged, .reload, .credential, .trust: true
      case .space, .expired, .replaced: false
      }
    }
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
  private let rules = DropRules()
  private let walks = DropWalks()
  private let linkedBytes = Atomic<Int>(0)
  private let flyingBytes = Atomic<Int>(0)
  private let objects = Atomic<Int>(0)
  private let flights = Atomic<Int>(0)
  /// Bytes that went since the allocator was last asked to give memory back.
  private let gone = Atomic<Int>(0)
  /// The same at a sweep, and the time of the first one that found it so.
  private let goneBefore = Atomic<Int>(0)
  private let goneSince = Atomic<Int64>(0)
  private let giveBack: (@Sendable () -> Void)?
  /// Where the next sweep begins.
  private let swept = Atomic<Int>(0)
  private let removals: [Counter] = Removal.allCases.map { _ in Counter() }

  private final class Counter: Sendable { let value = Atomic<Int>(0) }

  /// - Parameters:
  ///   - limit: bytes.
  ///   - giveBack: makes the allocator return free pages to the system, as malloc_trim does. It is called by `sweep`, `drop` and
  ///     `set(limit:)` once an eighth of the store has gone, and by `sweep` when nothing goes any more: small answers leave holes that large
  ///     bodies do not fit into.
  public init(limit: Int, giveBack: (@Sendable () -> Void)? = nil) {
    ledger = MemoryLedger(limit: limit)
    self.giveBack = giveBack
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
    let answers: Few<StoredAnswer>
    let flights: Few<Flight>
    /// Of the last answer.
    public let vary: VaryNames
    fileprivate let version: UInt64
    /// Fetches that began before must not be joined.
    fileprivate var oldest: UInt64
    /// false: an answer was not storable a moment ago, so nobody waits for one.
    public let mayCollapse: Bool
    public var hasAnswers: Bool { !answers.isEmpty }

    /// The newest answer for a request.
    /// - Parameter variant: the request's digest under these names.
    public func answer(_ variant: (VaryNames) -> CacheDigest) -> StoredAnswer? {
      // As nearly always.
      if let answer = answers.only {
        return !answer.isGone && variant(answer.vary) == answer.variant ? answer : nil
      }
      var memo = VariantMemo()
      return answers.last { !$0.isGone && memo.variant($0.vary, variant) == $0.variant }
    }

    /// A fetch whose answer a request may wait for, or read.
    /// - Parameter needs: of the request; once the head is there, it must be fresh for them.
    public func flight(needs: RequestNeeds, now: Int64, _ variant: (VaryNames) -> CacheDigest) -> Flight? {
      if flights.isEmpty { return nil }
      var memo = VariantMemo()
      return flights.last { flight in
        guard flight.began.value >= oldest else { return false }
        guard let head = flight.head else { return memo.variant(flight.vary, variant) == flight.variant }
        guard case .now = head.times.use(for: needs, now: now) else { return false }
        return memo.variant(head.vary, variant) == head.variant
      }
    }
  }

  /// A request's digest under the names asked for last: most answers for a target have the same, and a digest costs more than all the
  /// rest of a look-up.
  private struct VariantMemo {
    private var known: (vary: VaryNames, variant: CacheDigest)?

    mutating func variant(_ vary: VaryNames, _ make: (VaryNames) -> CacheDigest) -> CacheDigest {
      if let known, known.vary.isEqual(to: vary) { return known.variant }
      let variant = make(vary)
      known = (vary, variant)
      return variant
    }
  }

  public func probe(_ target: CacheTarget, _ partition: Partition, now: Int64) -> Probe {
    let key = Self.key(target, partition)
    let probe = shard(target).state.withLock { state in
      let oldest = max(state.lastInvalidation(Self.bits(target)), floor.load(ordering: .acquiring))
      let mayCollapse = state.mayCollapse(key, now: now)
      let found = state.targets[target]?.read(partition.id) { slot in
        Probe(
          answers: slot.answers, flights: slot.flights, vary: slot.vary, version: slot.version, oldest: oldest,
          mayCollapse: mayCollapse)
      }
      return found
        ?? Probe(answers: Few(), flights: Few(), vary: .none, version: 0, oldest: oldest, mayCollapse: mayCollapse)
    }
    return probe.flights.isEmpty ? probe : withoutDropped(probe, target, partition)
  }

  /// A rule has dropped what some fetches would bring.
  private func withoutDropped(_ probe: Probe, _ target: CacheTarget, _ partition: Partition) -> Probe {
    guard let first = probe.flights.all.map(\.began.value).min() else { return probe }
    var probe = probe
    probe.oldest = max(probe.oldest, rules.last(for: target, partition, after: Beginning(value: first)))
    return probe
  }

  /// Before a request is sent whose answer may be stored.
  public func begin() -> Beginning { Beginning(value: sequence.load(ordering: .acquiring)) }

  /// Before a look at what may be validated: a 304 renews something that is as old as that.
  public func beginLookUp() -> Beginning {
    let now = begin()
    return Beginning(value: min(now.value, walks.bound))
  }

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
    let cost = Flight.cost(target)
    guard reserve(cost) else { return .alone }
    let flight = Flight(
      target: target, partition: partition, vary: vary, variant: variant, began: begin(), loop: loop, ledger: ledger)
    let result: Lead = shard(target).state.withLock { state in
      var result = Lead.changed
      state.withSlot(target, partition.id) { slot, version in
        guard slot.version == probe.version else { return }
        result = .alone
        guard slot.flights.count < Self.flightsPerTarget else { return }
        slot.flights.append(flight)
        slot.version = version
        result = .flight(flight)
      }
      return result
    }
    if case .flight = result {
      flights.add(1, ordering: .relaxed)
      flying(cost)
    }
    return result
  }

  /// The head of a fetch is there. Requests that its Vary tells apart are told apart from now on, before it is stored: those who waited
  /// and have to look again find one fetch for each variant.
  public func publish(_ head: Flight.Head, of flight: Flight) {
    flight.publish(head)
    shard(flight.target).state.withLock { state in
      state.withSlot(flight.target, flight.partition.id) { slot, version in
        guard !slot.isEmpty, !slot.vary.isEqual(to: head.vary) else { return }
        slot.vary = head.vary
        slot.version = version
      }
    }
  }

  /// No request joins it any more. May be called again.
  public func leave(_ flight: Flight) {
    let wasThere = shard(flight.target).state.withLock { state in
      var wasThere = false
      state.withSlot(flight.target, flight.partition.id) { slot, version in wasThere = slot.remove(flight, version) }
      return wasThere
    }
    if wasThere { landed(flight) }
  }

  private func landed(_ flight: Flight) {
    flights.subtract(1, ordering: .relaxed)
    flying(-Flight.cost(flight.target))
  }

  /// An answer for the key was not storable: for a while nobody waits for one.
  public func stopCollapsing(_ target: CacheTarget, _ partition: Partition, until: Int64) {
    let key = Self.key(target, partition)
    shard(target).state.withLock { $0.stopCollapsing(key, until: until) }
  }

  // MARK: - Link

  /// Puts an answer into the index, in place of an older one for the same requests.
  /// - Parameters:
  ///   - began: before the request was sent.
  ///   - replaced: the answer that it renews, if any, whose rank it takes. One that came for the same requests in the meantime stays.
  ///   - flight: the fetch that it comes from, if that ends with it: as `leave`, under the same lock.
  /// - Returns: why not.
  public func link(
    _ answer: StoredAnswer, began: Beginning, replacing replaced: StoredAnswer? = nil, leaving flight: Flight? = nil
  ) -> StoreRefusal? {
    // The queues know it first: whoever drops answers by a rule finds it there, or the floor below does.
    linkedBytes.add(answer.size, ordering: .relaxed)
    objects.add(1, ordering: .relaxed)
    queues.withLock { $0.insert(answer, replacing: replaced) }
    let ruled = rules.last(for: answer.target, answer.partition, after: began)
    var dropped: [StoredAnswer] = []
    var hasLanded = false
    let refusal: StoreRefusal? = shard(answer.target).state.withLock { state in
      let oldest = max(ruled, state.lastInvalidation(Self.bits(answer.target)), floor.load(ordering: .acquiring))
      var refusal: StoreRefusal?
      state.withSlot(answer.target, answer.partition.id) { slot, version in
        if let flight { hasLanded = slot.remove(flight, version) }
        refusal = Self.refusal(answer, began, oldest, replacing: replaced, in: slot)
        if refusal == nil { slot.put(answer, replacing: replaced, version, &dropped) }
      }
      return refusal
    }
    if hasLanded, let flight { landed(flight) }
    for old in dropped { remove(old, .replaced) }
    if refusal != nil { remove(answer, nil) }
    return refusal
  }

  /// Why an answer does not come into a slot.
  private static func refusal(
    _ answer: StoredAnswer, _ began: Beginning, _ oldest: UInt64, replacing replaced: StoredAnswer?, in slot: CacheShard.Slot
  ) -> StoreRefusal? {
    guard began.value >= oldest else { return .invalidated }
    // What was dropped while it was validated does not come back.
    if answer.isDropped || replaced?.isDropped == true { return .invalidated }
    // It was evicted between the two locks.
    guard !answer.isGone else { return .full }
    guard let replaced, !slot.answers.isEmpty, !slot.answers.contains(where: { $0 === replaced }) else { return nil }
    // A newer one took its place while it was validated.
    return slot.answers.contains { $0.isFor(answer) || $0.isFor(replaced) } ? .invalidated : nil
  }

  // MARK: - Removal

  /// - Parameter isDrop: nobody is to be served with it any more; nil: as its reason says.
  /// - Returns: whether it was there.
  @discardableResult
  public func remove(_ answer: StoredAnswer, _ reason: Removal?, isDrop: Bool? = nil) -> Bool {
    guard answer.markGone(isDropped: isDrop ?? reason?.isDrop ?? false) else { return false }
    queues.withLock { _ = $0.remove(answer) }
    unlink(answer, reason)
    return true
  }

  private func unlink(_ answer: StoredAnswer, _ reason: Removal?) {
    shard(answer.target).state.withLock { state in
      state.withSlot(answer.target, answer.partition.id) { slot, version in slot.remove(answer, version) }
    }
    linkedBytes.subtract(answer.size, ordering: .relaxed)
    gone.add(answer.size, ordering: .relaxed)
    objects.subtract(1, ordering: .relaxed)
    if let reason { removals[reason.rawValue].value.add(1, ordering: .relaxed) }
  }

  /// Drops a target in all partitions of its origin. What began before is neither joined nor stored.
  /// - Parameter isMeant: which of its answers; what began before is joined and stored in no partition.
  /// - Returns: how many answers.
  @discardableResult
  public func invalidate(
    _ target: CacheTarget, _ reason: Removal = .invalidated, where isMeant: (StoredAnswer) -> Bool = { _ in true }
  ) -> Int {
    walks.walk(after: begin().value) {
      let answers = noteInvalidation(of: target, at: nextInvalidation())
      return answers.count { isMeant($0) && remove($0, reason) }
    }
  }

  /// Whether something that began then must not be stored any more.
  public func isOutdated(_ began: Beginning, _ target: CacheTarget, _ partition: Partition) -> Bool {
    // Nothing at all was invalidated since, nearly always.
    if began.value >= sequence.load(ordering: .acquiring) { return false }
    if rules.last(for: target, partition, after: began) > 0 { return true }
    return shard(target).state.withLock { state in
      began.value < max(state.lastInvalidation(Self.bits(target)), floor.load(ordering: .acquiring))
    }
  }

  func nextInvalidation() -> UInt64 { sequence.add(1, ordering: .acquiringAndReleasing).newValue }

  /// - Returns: the answers for the target.
  @discardableResult
  func noteInvalidation(of target: CacheTarget, at number: UInt64) -> [StoredAnswer] {
    shard(target).state.withLock { state in
      state.invalidate(Self.bits(target), at: number)
      return state.targets[target]?.answers ?? []
    }
  }

  /// Drops answers by a rule: a purge, a credential or an origin that lost its trust. What it means and began before is neither joined
  /// nor stored.
  /// - Parameter isMeant: kept for a while: it must hold nothing large, and no secret.
  /// - Returns: how many answers.
  @discardableResult
  public func drop(_ reason: Removal, meaning isMeant: @escaping @Sendable (CacheTarget, Partition) -> Bool) -> Int {
    walks.walk(after: begin().value) {
      rules.add(isMeant, next: nextInvalidation, forget: raiseFloor)
      return dropStored(reason) { isMeant($0.target, $0.partition) }
    }
  }

  /// The same, and nothing at all that began before is joined or stored: after a reload, which may change what a rule would say.
  @discardableResult
  public func drop(_ reason: Removal, where isMeant: (StoredAnswer) -> Bool) -> Int {
    walks.walk(after: begin().value) {
      raiseFloor(nextInvalidation())
      return dropStored(reason, where: isMeant)
    }
  }

  private func dropStored(_ reason: Removal, where isMeant: (StoredAnswer) -> Bool) -> Int {
    defer { giveBackIfWorthIt() }
    var removed = 0
    var start: Int? = 0
    while let from = start { start = remove(256, from: from, reason, where: isMeant, &removed) }
    return removed
  }

  private func raiseFloor(_ next: UInt64) {
    var now = floor.load(ordering: .relaxed)
    while now < next {
      let (isDone, found) = floor.weakCompareExchange(expected: now, desired: next, ordering: .acquiringAndReleasing)
      if isDone { return }
      now = found
    }
  }

  /// - Returns: where to go on; nil: that was the last one.
  private func remove(
    _ count: Int, from start: Int, _ reason: Removal, where isMeant: (StoredAnswer) -> Bool, _ removed: inout Int
  ) -> Int? {
    var answers: [StoredAnswer] = []
    answers.reserveCapacity(count)
    let next = queues.withLock { $0.collect(from: start, count, into: &answers) }
    for answer in answers where isMeant(answer) && remove(answer, reason) { removed += 1 }
    return next
  }

  /// What one sweep looks at: under a millisecond.
  static let sweepLimit = 4096

  /// Drops answers that no request has a use for. To be called now and then: each call goes on where the last one ended.
  /// - Returns: how many.
  @discardableResult
  public func sweep(now: Int64) -> Int {
    var removed = 0
    var start: Int? = swept.load(ordering: .relaxed)
    var left = Self.sweepLimit
    while let from = start, left > 0 {
      start = remove(256, from: from, .expired, where: { $0.times.isUseless(now) }, &removed)
      left -= 256
    }
    swept.store(start ?? 0, ordering: .relaxed)
    giveBackIfWorthIt(isIdle: isIdle(now))
    return removed
  }

  /// Nanoseconds in which nothing goes from a store that is idle. Several loops sweep.
  private static let idleTime: Int64 = 5_000_000_000

  /// Nothing has gone for some time.
  private func isIdle(_ now: Int64) -> Bool {
    let gone = gone.load(ordering: .relaxed)
    if goneBefore.exchange(gone, ordering: .relaxed) == gone {
      return now - goneSince.load(ordering: .relaxed) >= Self.idleTime
    }
    goneSince.store(now, ordering: .relaxed)
    return false
  }

  /// Whether a sweep has something to do, or to give back.
  public var wantsSweep: Bool { count > 0 || giveBack != nil && gone.load(ordering: .relaxed) >= Self.least }

  /// - Parameter isIdle: there is time, and nobody will take the memory soon.
  private func giveBackIfWorthIt(isIdle: Bool = false) {
    let worth = isIdle ? Self.least : max(1 << 20, ledger.limit / 8)
    guard let giveBack, gone.load(ordering: .relaxed) >= worth else { return }
    gone.store(0, ordering: .relaxed)
    giveBack()
  }

  // MARK: - Memory

  /// Takes bytes from the ledger, and evicts for them. Whoever got them gives them back.
  /// - Returns: false: no room, or readers of evicted answers hold over half of all memory.
  func reserve(_ count: Int) -> Bool {
    let limit = ledger.limit
    guard count <= limit, heldBytes <= limit / 2 else { return false }
    // Evicting more than is needed gains nothing if readers hold it.
    var evicted = 0
    let before = self.count
    while !ledger.take(count) {
      guard evicted < count + count / 2, let freed = evict(Self.evictedAtOnce(limit)) else { return false }
      evicted += freed
    }
    // A large body does not fit into the holes of small answers.
    if count >= Self.large, evicted > 0, before - self.count > evicted / BodyBlock.size { giveBackIfWorthIt() }
    return true
  }

  /// Bytes from which on the holes of what went are given back at once, before the next sweep.
  private static let large = 1 << 20
  /// Bytes that are worth a look through the heap of an idle process.
  private static let least = 64 << 10

  /// Many small answers go at once: the next ones then find one large hole, not as many small ones, which bodies of another size would
  /// not fit into. Measured with 64 MiB, 100 bytes each, then 1,000, then 20,000: 64, 87 and 120 MiB resident one by one, 64, 74, 77 so.
  static func evictedAtOnce(_ limit: Int) -> Int { max(1, min(limit / 64, 1 << 20)) }

  /// Answers that are taken out of the queues under one lock: microseconds.
  private static let victimsAtOnce = 32

  /// - Returns: bytes of the answers that are gone; nil: there was none.
  private func evict(_ wanted: Int) -> Int? {
    var freed = 0
    // Some 100 microseconds.
    var patience = 2000
    var victims: [StoredAnswer] = []
    victims.reserveCapacity(Self.victimsAtOnce)
    repeat {
      queues.withLock { $0.evict(wanted - freed, limit: ledger.limit, patience: &patience, into: &victims) }
      if victims.isEmpty { break }
      for answer in victims { answer.prefetchParts() }
      // Each goes at once: others may wait for its bytes.
      while let answer = victims.popLast() {
        unlink(answer, .space)
        freed += answer.size
      }
    } while freed < wanted
    return freed > 0 ? freed : nil
  }

  /// Bytes of fetches under way.
  func flying(_ count: Int) { flyingBytes.add(count, ordering: .relaxed) }

  /// After a reload. Evicts until the rest fits, or until nothing is left but what readers hold.
  public func set(limit: Int) {
    ledger.set(limit: limit)
    while case let over = ledger.bytes - limit, over > 0, evict(min(over, 1 << 20)) != nil {}
    giveBackIfWorthIt()
  }

  // MARK: - Parts

  private func shard(_ target: CacheTarget) -> CacheShard { shards[Int(truncatingIfNeeded: Self.bits(target) & 63)] }
  private static func bits(_ target: CacheTarget) -> UInt64 { UInt64(bitPattern: Int64(target.hash)) }
  private static func key(_ target: CacheTarget, _ partition: Partition) -> UInt64 {
    bits(target) ^ partition.id.short &* 0x9e37_79b9_7f4a_7c15
  }
}
