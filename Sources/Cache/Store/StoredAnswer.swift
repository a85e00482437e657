import CPrefetch
import Synchronization

/// A stored answer. It does not change; a renewed one takes its place. Whoever sends it holds it, also after it was evicted.
public final class StoredAnswer: Sendable {
  public let target: CacheTarget
  public let partition: Partition
  /// The names that told the request apart, and the digest of what they said.
  public let vary: VaryNames
  public let variant: CacheDigest
  public let facts: ResponseFacts
  public let times: StoredTimes
  /// Unix time.
  public let received: Int64
  public let head: StoredHead
  /// nil: no redirect leads there.
  public let origin: OriginHead?
  public let body: StoredBody
  /// Bytes that it occupies, with its body.
  let size: Int
  private let overhead: Int
  private let ledger: MemoryLedger

  // What the queues know of it.
  private let uses = Atomic<UInt8>(0)
  private let gone = Atomic<Bool>(false)
  /// Its node; changed under the lock of the queues only.
  let node = Atomic<Int>(-1)

  /// - Parameter received: Unix time.
  /// - Returns: nil: no room.
  public init?(
    _ store: CacheStore, target: CacheTarget, partition: Partition, vary: VaryNames, variant: CacheDigest, facts: ResponseFacts,
    times: StoredTimes, received: Int64, head: StoredHead, origin: OriginHead? = nil, body: StoredBody
  ) {
    // Measured with 50,000 answers: an object, its node, its ghost and its places in the index, whose tables may be half empty.
    overhead =
      1100 + head.bytes.count + target.size + vary.names.reduce(0) { $0 + 32 + $1.count } + (facts.tag?.opaque.count ?? 0)
      + (origin.map { $0.size + 64 } ?? 0) + body.flatCost
    guard store.reserve(overhead) else { return nil }
    self.target = target
    self.partition = partition
    self.vary = vary
    self.variant = variant
    self.facts = facts
    self.times = times
    self.received = received
    self.head = head
    self.origin = origin
    self.body = body
    size = overhead + body.cost
    ledger = store.ledger
  }

  deinit { ledger.give(overhead) }

  /// A hit sets bits, and moves nothing.
  public func noteUse() {
    let now = uses.load(ordering: .relaxed)
    if now < 3 { uses.store(now + 1, ordering: .relaxed) }
  }

  var useCount: UInt8 { uses.load(ordering: .relaxed) }
  func set(useCount: UInt8) { uses.store(useCount, ordering: .relaxed) }

  public var isGone: Bool { gone.load(ordering: .acquiring) }
  /// - Returns: whether it was there until now.
  func markGone() -> Bool { !gone.exchange(true, ordering: .acquiringAndReleasing) }

  // MARK: - Before it goes

  /// Of an object of this class, without what it refers to.
  private static let bytes = 384

  /// Has the processor fetch it into its cache, without waiting for it.
  func prefetch() { cprefetch(Unmanaged.passUnretained(self).toOpaque(), Self.bytes) }

  /// The same for what it refers to, once it is there itself.
  func prefetchParts() {
    prefetchArray(target.path)
    prefetchArray(head.bytes)
    body.prefetch()
  }

  /// It answers the same requests.
  func isFor(_ other: StoredAnswer) -> Bool { variant == other.variant && vary.isEqual(to: other.vary) }

  /// What remembers it after it was evicted.
  var fingerprint: UInt64 {
    UInt64(bitPattern: Int64(target.hash)) ^ partition.id.short ^ variant.short &* 0x9e37_79b9_7f4a_7c15
  }
}

/// The beginning of an array, with what lies before its elements.
func prefetchArray(_ bytes: [UInt8]) {
  bytes.withUnsafeBytes { if let start = $0.baseAddress { cprefetch(start - 32, 64) } }
}
