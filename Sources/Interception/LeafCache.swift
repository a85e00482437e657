import TLS

/// Leafs kept by host and authority; the least recently used goes first. A value without clock or I/O: who owns it asks, makes what
/// it is told to make, and hands that in.
///
/// A host has one leaf in the making at a time. What is kept is bounded by `capacity`, whatever names clients invent; what is in the
/// making is bounded by the handshakes that wait for it.
public struct LeafCache {
  public struct Key: Sendable, Hashable {
    public let host: PeerName
    /// The authority's, 32 bytes.
    public let authority: [UInt8]

    public init(host: PeerName, authority: SigningCA) {
      self.host = host
      self.authority = authority.fingerprint
    }
  }

  public enum Answer: Sendable {
    case leaf(Leaf)
    /// To be made by the caller, who then calls `made` or `failed`. Until then `old` serves, if there is one.
    case make(old: Leaf?)
    /// Another caller makes it.
    case wait
  }

  public let capacity: Int
  private var slots: [Slot] = []
  private var places: [Key: Int] = [:]
  private var inTheMaking: Set<Key> = []
  /// A ring through the slots by their use: `newest` is followed by older ones, and preceded by the oldest.
  private var newest = -1

  private struct Slot {
    var key: Key
    var leaf: Leaf
    var newer: Int
    var older: Int
  }

  /// - Parameter capacity: leafs, at least one.
  public init(capacity: Int) {
    precondition(capacity > 0)
    self.capacity = capacity
  }

  /// How many leafs are kept.
  public var count: Int { slots.count }

  /// The leaf for a handshake that begins now. None that has expired is an answer.
  /// - Parameter now: seconds since 1970.
  public mutating func look(_ key: Key, at now: Int64) -> Answer {
    var kept: Leaf?
    if let place = places[key] {
      use(place)
      let leaf = slots[place].leaf
      if now < leaf.renewal { return .leaf(leaf) }
      if now < leaf.notAfter { kept = leaf }
    }
    if inTheMaking.insert(key).inserted { return .make(old: kept) }
    return kept.map { .leaf($0) } ?? .wait
  }

  public mutating func made(_ leaf: Leaf, for key: Key) {
    // An authority that went meanwhile leaves nothing behind.
    guard inTheMaking.remove(key) != nil else { return }
    if let place = places[key] {
      slots[place].leaf = leaf
      return use(place)
    }
    if slots.count < capacity {
      let place = slots.count
      slots.append(Slot(key: key, leaf: leaf, newer: place, older: place))
      places[key] = place
      link(place)
    } else {
      let oldest = slots[newest].newer
      places[slots[oldest].key] = nil
      slots[oldest].key = key
      slots[oldest].leaf = leaf
      places[key] = oldest
      use(oldest)
    }
  }

  /// The next who looks is to make it.
  public mutating func failed(_ key: Key) { inTheMaking.remove(key) }

  /// Drops what others than these have signed.
  public mutating func keep(only authorities: [SigningCA]) {
    let kept = Set(authorities.map(\.fingerprint))
    inTheMaking = inTheMaking.filter { kept.contains($0.authority) }
    guard slots.contains(where: { !kept.contains($0.key.authority) }) else { return }
    var cache = LeafCache(capacity: capacity)
    cache.inTheMaking = Set(places.keys)
    for slot in oldestFirst where kept.contains(slot.key.authority) { cache.made(slot.leaf, for: slot.key) }
    cache.inTheMaking = inTheMaking
    self = cache
  }

  /// The same leafs under another bound.
  public mutating func resize(to capacity: Int) {
    guard capacity != self.capacity else { return }
    var cache = LeafCache(capacity: capacity)
    cache.inTheMaking = Set(places.keys)
    for slot in oldestFirst { cache.made(slot.leaf, for: slot.key) }
    cache.inTheMaking = inTheMaking
    self = cache
  }

  private var oldestFirst: [Slot] {
    guard newest >= 0 else { return [] }
    var result: [Slot] = []
    var place = slots[newest].newer
    for _ in slots {
      result.append(slots[place])
      place = slots[place].newer
    }
    return result
  }

  private mutating func use(_ place: Int) {
    guard place != newest else { return }
    // Off the ring, and on before the newest.
    slots[slots[place].newer].older = slots[place].older
    slots[slots[place].older].newer = slots[place].newer
    link(place)
  }

  /// Puts a slot that is in no ring before the newest.
  private mutating func link(_ place: Int) {
    if newest >= 0 {
      let oldest = slots[newest].newer
      slots[place].older = newest
      slots[place].newer = oldest
      slots[newest].newer = place
      slots[oldest].older = place
    }
    newest = place
  }
}
