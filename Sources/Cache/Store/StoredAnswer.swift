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
  private let standing = Atomic<UInt8>(StoredAnswer.present)
  /// Its node; changed under the lock of the queues only.
  let node = Atomic<Int>(-1)

  /// Measured with 50,000 answers: an object, its node, its ghost and its places in the index, whose tables may be half empty.
  static let least = 1100

  /// - Parameter received: Unix time.
  /// - Returns: nil: no room.
  public init?(
    _ store: CacheStore, target: CacheTarget, partition: Partition, vary: VaryNames, variant: CacheDigest, facts: ResponseFacts,
    times: StoredTimes, received: Int64, head: StoredHead, origin: OriginHead? = nil, body: StoredBody
  ) {
    overhead =
      Self.least + head.bytes.count + target.size + vary.names.reduce(0) { $0 + 32 + $1.count } + (facts.tag?.opaque.count ?? 0)
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

  private static let present: UInt8 = 0
  private static let gone: UInt8 = 1
  private static let dropped: UInt8 = 2

  public var isGone: Bool { standing.load(ordering: .acquiring) != Self.present }
  /// By a rule or an invalidation: nobody is to be served with it any more.
  public var isDropped: Bool { standing.load(ordering: .acquiring) == Self.dropped }
  /// - Returns: whether it was there until now.
  func markGone(isDropped: Bool = false) -> Bool {
    standing.compareExchange(
      expected: Self.present, desired: isDropped ? Self.dropped : Self.gone, ordering: .acquiringAndReleasing
    )
    .exchanged
  }

  // MARK: - Before it goes

  /// An object of this class has 280, and begins anywhere in a line.
  private static let bytes = 384

  /// Has the processor fetch it into its cache, without waiting for it.
  func prefetch() { cprefetch(Unmanaged.passUnretained(self).toOpaque(), Self.bytes) }

  /// The same for what it refers to, once it is there itself.
  func prefetchParts() {
    Self.prefetch(target.path)
    Self.prefetch(head.bytes)
    body.prefetch()
  }

  /// The beginning of an array.
  private static func prefetch(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { if let start = $0.baseAddress { cprefetch(start - arrayHeader, 64) } }
  }

  /// It answers the same requests.
  func isFor(_ other: StoredAnswer) -> Bool { variant == other.variant && vary.isEqual(to: other.vary) }

  /// What remembers it after it was evicted.
  var fingerprint: UInt64 {
    UInt64(bitPattern: Int64(target.hash)) ^ partition.id.short ^ variant.short &* 0x9e37_79b9_7f4a_7c15
  }
}

/// Bytes before an array's elements.
let arrayHeader = 32
