import Testing

@testable import Cache

/// What stays in the store, compared with LRU and FIFO: a Zipf trace (0.9) over 4,000 answers of 32 MiB, a store of 1.6 MiB.
@Suite("What the store keeps")
struct EvictionTests {
  private static let answers = 4000
  /// Sizes of 100 bytes to 64 KiB.
  private static let sizes: [Int] = {
    var random = Seeded(11)
    return (0..<answers).map { _ in
      let scale = Double(random.next() % 1_000_000) / 1_000_000
      return Int(100 + 65_000 * scale * scale * scale * scale * scale * scale * scale)
    }
  }()

  /// Numbers of wanted answers, and -1 for an answer that comes once.
  private static func trace(_ count: Int, scans: Bool) -> [Int] {
    var sums: [Double] = []
    var sum = 0.0
    for rank in 1...answers {
      sum += 1 / pow(Double(rank), 0.9)
      sums.append(sum)
    }
    var random = Seeded(7)
    var scanning = 0
    return (0..<count).map { _ in
      if scans, scanning == 0, random.next() % 1000 < 2 { scanning = 215 }
      if scanning > 0 {
        scanning -= 1
        return -1
      }
      let wanted = Double(random.next() >> 11) / Double(1 << 53) * sum
      var (low, high) = (0, answers - 1)
      while low < high {
        let middle = (low + high) / 2
        if sums[middle] < wanted { low = middle + 1 } else { high = middle }
      }
      // Popularity and size have nothing to do with each other.
      return (low &* 7919) % answers
    }
  }

  private static func pow(_ base: Double, _ exponent: Double) -> Double {
    // 0.9 = 1 - 1/8 + 1/40; by roots, as the standard library has no powers.
    let eighth = base.squareRoot().squareRoot().squareRoot()
    let fortieth = fifthRoot(eighth)
    return base / eighth * fortieth
  }
  private static func fifthRoot(_ value: Double) -> Double {
    var root = value
    for _ in 0..<60 { root -= (root * root * root * root * root - value) / (5 * root * root * root * root) }
    return root
  }

  /// Hits of 100 wanted answers.
  private static func ofStore(_ trace: [Int], _ limit: Int) -> Double {
    let store = CacheStore(limit: limit)
    var (hits, wanted, once) = (0, 0, 0)
    for number in trace {
      if number >= 0 {
        wanted += 1
        if let answer = get(store, "/\(number)") {
          hits += 1
          answer.noteUse()
          continue
        }
      } else {
        once += 1
      }
      let size = number >= 0 ? sizes[number] : sizes[once % answers]
      put(store, number >= 0 ? "/\(number)" : "/once/\(once)", [UInt8](repeating: 0, count: size))
    }
    return Double(hits) / Double(wanted) * 100
  }

  private static func ofList(_ trace: [Int], _ limit: Int, movesOnHit: Bool) -> Double {
    var order: [Int: Int] = [:]
    var queue: [(key: Int, stamp: Int)] = []
    var (first, bytes, hits, wanted, once, stamp) = (0, 0, 0, 0, 0, 0)
    func size(_ key: Int) -> Int { (key >= 0 ? sizes[key] : sizes[-key % answers]) + 900 }
    for number in trace {
      stamp += 1
      var key = number
      if number >= 0 {
        wanted += 1
        if order[number] != nil {
          hits += 1
          if movesOnHit {
            order[number] = stamp
            queue.append((number, stamp))
          }
          continue
        }
      } else {
        once += 1
        key = -once
      }
      bytes += size(key)
      order[key] = stamp
      queue.append((key, stamp))
      while bytes > limit {
        let old = queue[first]
        first += 1
        guard order[old.key] == old.stamp else { continue }
        order[old.key] = nil
        bytes -= size(old.key)
      }
    }
    return Double(hits) / Double(wanted) * 100
  }

  @Test("is more of what is wanted than LRU and FIFO keep, also during scans")
  func ratio() {
    for scans in [false, true] {
      let trace = Self.trace(40_000, scans: scans)
      let fifo = Self.ofList(trace, 1_600_000, movesOnHit: false)
      let lru = Self.ofList(trace, 1_600_000, movesOnHit: true)
      let ours = Self.ofStore(trace, 1_600_000)
      print("hits of 100 wanted, \(scans ? "with" : "without") scans: FIFO \(fifo), LRU \(lru), store \(ours)")
      #expect(ours > lru + 5 && ours > fifo + 8)
    }
  }

  @Test("survives a scan over ten times its size")
  func scan() {
    let store = CacheStore(limit: 1 << 20)
    for number in 0..<40 { put(store, "/hot/\(number)", pattern(number, 10_000)) }
    for _ in 0..<2 { for number in 0..<40 { get(store, "/hot/\(number)")?.noteUse() } }
    for number in 0..<1000 {
      put(store, "/scan/\(number)", pattern(number, 10_000))
      if number % 200 == 0 { for hot in 0..<40 { get(store, "/hot/\(hot)")?.noteUse() } }
    }
    #expect((0..<40).count { get(store, "/hot/\($0)") != nil } == 40)
  }

  @Test("is found by nobody from the moment it leaves the queues, and is nobody's victim if it is dropped just then")
  func goneAtOnce() throws {
    let store = CacheStore(limit: 1 << 20)
    let answers = try (0..<3).map { try #require(makeAnswer(store, "/\($0)", pattern($0, 10))) }
    var queues = EvictionQueues()
    for answer in answers { queues.insert(answer, replacing: nil) }
    #expect(answers[0].markGone(isDropped: true))
    var victims: [StoredAnswer] = []
    victims.reserveCapacity(8)
    var patience = 10
    queues.evict(1, limit: 1 << 20, patience: &patience, into: &victims)
    #expect(victims.count == 1 && victims[0] === answers[1] && answers[1].isGone && !answers[1].isDropped)
    #expect(!answers[2].isGone && queues.count == 1)
  }

  @Test("is known again by its ghost")
  func ghost() {
    let store = CacheStore(limit: 1 << 20)
    for number in 0..<150 { put(store, "/\(number)", pattern(number, 10_000)) }
    #expect(get(store, "/20") == nil)
    put(store, "/20", pattern(20, 10_000))
    // It is in the main queue now: new answers that are used by nobody do not push it out.
    for number in 1000..<1150 { put(store, "/\(number)", pattern(number, 10_000)) }
    #expect(get(store, "/20") != nil)
  }

  @Test("leaves as many ghosts as there are answers")
  func bounded() {
    var ghosts = GhostTable()
    let fingerprints = (0..<100_000).map { UInt64(bitPattern: Int64($0.hashValue)) }
    for (index, fingerprint) in fingerprints.enumerated() {
      ghosts.insert(fingerprint, limit: 100)
      if index % 1_000 == 0 { #expect(ghosts.count <= 100) }
    }
    #expect(fingerprints.prefix(99_900).allSatisfy { !ghosts.remove($0) })
    // Some were displaced by newer ones.
    #expect(fingerprints.suffix(100).count { ghosts.remove($0) } >= 80)
    #expect(fingerprints.suffix(100).allSatisfy { !ghosts.remove($0) } && ghosts.count == 0)
  }

  @Test("one that came back and left again is as young as its last leave")
  func young() {
    var ghosts = GhostTable()
    ghosts.insert(7, limit: 100)
    var wasThere = ghosts.remove(7)
    #expect(wasThere)
    for number in 0..<60 { ghosts.insert(UInt64(number << 8 | 1 << 40 | 16), limit: 100) }
    ghosts.insert(7, limit: 100)
    for number in 0..<60 { ghosts.insert(UInt64(number << 8 | 1 << 41 | 16), limit: 100) }
    wasThere = ghosts.remove(7)
    #expect(wasThere)
  }

  @Test("of five in one line the oldest goes")
  func displaced() {
    var ghosts = GhostTable()
    // Fingerprint 0 is one as any other.
    for number in 0..<5 as Range<UInt64> { ghosts.insert(number << 32, limit: 100) }
    #expect((0..<5).map { ghosts.remove(UInt64($0) << 32) } == [false, true, true, true, true])
  }

  @Test("of a limit that has fallen, so many of the newest count")
  func fallen() {
    var ghosts = GhostTable()
    for number in 0..<40 as Range<UInt64> { ghosts.insert(number * 4, limit: 100) }
    ghosts.insert(1_001, limit: 20)
    #expect(ghosts.count == 20)
    #expect((0..<40).map { ghosts.remove(UInt64($0) * 4) } == (0..<40).map { $0 >= 21 })
  }

  @Test("keeps ghosts while the store grows")
  func growing() {
    var ghosts = GhostTable()
    let fingerprints = (0..<5_000).map { UInt64(bitPattern: Int64($0.hashValue)) }
    for (index, fingerprint) in fingerprints.enumerated() { ghosts.insert(fingerprint, limit: index + 1) }
    #expect(ghosts.count >= 4_500)
  }
}
