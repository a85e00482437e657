import Synchronization

/// What a request's fields tell under the names that were asked for: those of a fetch and of its answer, and of a few targets more. Any
/// thread may read it and add to it; nothing of it is freed before the whole.
struct ToldList: ~Copyable, Sendable {
  private static let limit = 4

  private final class Told: Sendable {
    let vary: VaryNames
    let variant: CacheDigest
    let older: Told?
    /// With all that are older.
    let count: Int

    init(_ vary: VaryNames, _ variant: CacheDigest, _ older: Told?) {
      self.vary = vary
      self.variant = variant
      self.older = older
      count = (older?.count ?? 0) + 1
    }
  }

  /// Retained.
  private let newest = Atomic<Unmanaged<Told>?>(nil)

  deinit { newest.load(ordering: .acquiring)?.release() }

  func variant(_ vary: VaryNames) -> CacheDigest? {
    var next = newest.load(ordering: .acquiring)?.takeUnretainedValue()
    while let told = next {
      if told.vary.isEqual(to: vary) { return told.variant }
      next = told.older
    }
    return nil
  }

  /// If there is room, and nobody else adds at the same time.
  func add(_ vary: VaryNames, _ variant: CacheDigest) {
    let known = newest.load(ordering: .acquiring)
    let older = known?.takeUnretainedValue()
    guard older?.count ?? 0 < Self.limit else { return }
    let told = Unmanaged.passRetained(Told(vary, variant, older))
    // The new one keeps the older ones, for those who read them as well.
    let isAdded = newest.compareExchange(expected: known, desired: told, ordering: .acquiringAndReleasing).exchanged
    (isAdded ? known : told)?.release()
  }
}
