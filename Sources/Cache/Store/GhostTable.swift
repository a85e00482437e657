/// Fingerprints of evicted answers, as many as there are answers. Each has one of four places beside each other: a store is larger than the
/// processor's caches, and what is looked up there should touch one line of memory.
struct GhostTable {
  private struct Ghost {
    var fingerprint: UInt64 = 0
    /// Among all that came; 0: none.
    var number: UInt64 = 0
  }

  private static let ways = 4
  /// With half of all places taken, one in twenty finds its line full.
  private static let placesPerGhost = 2
  private static let fewest = 64

  private var places: [Ghost] = []
  /// The number of the newest.
  private var last: UInt64 = 0
  /// How many of the newest count.
  private var limit: UInt64 = 0

  /// It displaces the oldest one of its line.
  mutating func insert(_ fingerprint: UInt64, limit: Int) {
    self.limit = UInt64(max(limit, 16))
    let wanted = max(limit * Self.placesPerGhost, Self.fewest)
    if places.count < wanted { grow(to: wanted) }
    last += 1
    put(Ghost(fingerprint: fingerprint, number: last))
  }

  /// - Returns: whether it was there.
  mutating func remove(_ fingerprint: UInt64) -> Bool {
    guard let place = place(of: fingerprint) else { return false }
    let isThere = counts(places[place])
    places[place] = Ghost()
    return isThere
  }

  /// How many there are. Looks at all places.
  var count: Int { places.count(where: counts) }

  private func counts(_ ghost: Ghost) -> Bool { ghost.number > 0 && last - ghost.number < limit }

  private func line(of fingerprint: UInt64) -> Range<Int> {
    let first = Int(truncatingIfNeeded: fingerprint) & (places.count - 1) & ~(Self.ways - 1)
    return first..<first + Self.ways
  }

  private func place(of fingerprint: UInt64) -> Int? {
    if places.isEmpty { return nil }
    for place in line(of: fingerprint) where places[place].fingerprint == fingerprint && places[place].number > 0 {
      return place
    }
    return nil
  }

  private mutating func put(_ ghost: Ghost) {
    var chosen = place(of: ghost.fingerprint)
    if chosen == nil {
      for place in line(of: ghost.fingerprint) where chosen.map({ places[place].number < places[$0].number }) ?? true {
        chosen = place
      }
    }
    if let chosen { places[chosen] = ghost }
  }

  private mutating func grow(to wanted: Int) {
    let former = places
    var count = Self.fewest
    while count < wanted { count *= 2 }
    places = Array(repeating: Ghost(), count: count)
    // In any order: those of a line all come from one former line, so that there is a place for each.
    for ghost in former where counts(ghost) { put(ghost) }
  }
}
