import Synchronization

/// A fetch that later requests may join: what the index knows of it. Its machine lives on one loop.
public final class Flight: Sendable {
  /// What is known once the head is there.
  public final class Head: Sendable {
    public let vary: VaryNames
    public let variant: CacheDigest
    public let times: StoredTimes
    public init(vary: VaryNames, variant: CacheDigest, times: StoredTimes) {
      self.vary = vary
      self.variant = variant
      self.times = times
    }
  }

  /// What one costs in the index, with a target of usual length.
  static let cost = 1024
  static func cost(_ target: CacheTarget) -> Int { cost + max(0, target.size - 256) }

  public let target: CacheTarget
  public let partition: Partition
  /// Under which names the first request was told apart, and how.
  public let vary: VaryNames
  public let variant: CacheDigest
  /// When the fetch began; see `CacheStore.begin`.
  public let began: CacheStore.Beginning
  /// The loop that owns it, as the caller counts loops.
  public let loop: Int
  // SAFETY: only the loop that began it touches this.
  /// Who fetches, until the fetch has left.
  nonisolated(unsafe) public var owner: AnyObject?
  private let published = AtomicLazyReference<Head>()
  private let ledger: MemoryLedger

  /// The caller has taken `cost(target)`.
  init(
    target: CacheTarget, partition: Partition, vary: VaryNames, variant: CacheDigest, began: CacheStore.Beginning, loop: Int,
    ledger: MemoryLedger
  ) {
    self.target = target
    self.partition = partition
    self.vary = vary
    self.variant = variant
    self.began = began
    self.loop = loop
    self.ledger = ledger
  }

  deinit { ledger.give(Self.cost(target)) }

  /// Once; see `CacheStore.publish`.
  func publish(_ head: Head) { _ = published.storeIfNil(head) }

  /// nil: not yet there.
  public var head: Head? { published.load() }
}
