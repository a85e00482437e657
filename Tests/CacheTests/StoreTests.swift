import Synchronization
import Testing

@testable import Cache

@Suite("The store")
struct StoreTests {
  private let store = CacheStore(limit: 1 << 20)

  @Test("finds what it has for this target, partition and variant, and nothing else")
  func finds() throws {
    put(store, "/a", pattern(1, 10))
    #expect(try text(of: #require(get(store, "/a"))) == pattern(1, 10))
    #expect(get(store, "/b") == nil && get(store, "/a?") == nil)
    #expect(get(store, "/a", them) == nil)
    #expect(get(store, "/a", variant: CacheDigest(parts: [[1]])) == nil)
    put(store, "/a", pattern(2, 10), them)
    #expect(try text(of: #require(get(store, "/a"))) == pattern(1, 10))
    #expect(try text(of: #require(get(store, "/a", them))) == pattern(2, 10))
    #expect(store.count == 2)
  }

  @Test("has the newest answer for a request, and 32 for a target and partition")
  func variants() throws {
    func digest(_ number: Int) -> CacheDigest { CacheDigest(parts: [[UInt8(number)]]) }
    for number in 0..<40 { put(store, "/a", pattern(number, 10), variant: digest(number)) }
    #expect(store.count == 32 && store.removed(.replaced) == 8)
    #expect(get(store, "/a", variant: digest(7)) == nil && get(store, "/a", variant: digest(8)) != nil)
    put(store, "/a", pattern(99, 10), variant: digest(20))
    #expect(try text(of: #require(get(store, "/a", variant: digest(20)))) == pattern(99, 10))
    #expect(store.count == 32)
    // Another Vary: both stay, the newer one is found.
    put(store, "/a", pattern(77, 10), variant: digest(20), vary: VaryNames([[1]]))
    #expect(try text(of: #require(get(store, "/a", variant: digest(20)))) == pattern(77, 10))
  }

  /// farm.js#977, hurttlocker/o8#184.
  @Test("`an answer that was asked for before an invalidation is not stored`")
  func invalidation() {
    put(store, "/a", pattern(1, 10))
    put(store, "/a", pattern(1, 10), them)
    put(store, "/b", pattern(1, 10))
    let before = store.begin()
    #expect(store.invalidate(target("/a")) == 2)
    #expect(get(store, "/a") == nil && get(store, "/a", them) == nil && get(store, "/b") != nil)
    #expect(put(store, "/a", pattern(1, 10), began: before) == .invalidated)
    #expect(put(store, "/a", pattern(1, 10), them, began: before) == .invalidated)
    #expect(get(store, "/a") == nil && store.count == 1)
    #expect(put(store, "/a", pattern(1, 10)) == nil && store.removed(.invalidated) == 2)
  }

  @Test("drops what is meant of one target, and lets what was asked for elsewhere be stored")
  func dropsOfTarget() {
    put(store, "/a", pattern(1, 10))
    put(store, "/a", pattern(1, 10), them)
    let before = store.begin()
    #expect(store.invalidate(target("/a"), .purged) { $0.partition === them } == 1)
    #expect(get(store, "/a") != nil && get(store, "/a", them) == nil && store.removed(.purged) == 1)
    #expect(put(store, "/a", pattern(1, 10), them, began: before) == .invalidated)
    #expect(put(store, "/b", pattern(1, 10), began: before) == nil)
  }

  @Test("`a fetch that began before an invalidation is joined by no later request`")
  func detached() {
    let flight = lead("/a")
    #expect(join("/a") === flight)
    store.invalidate(target("/a"))
    #expect(flight != nil && join("/a") == nil)
    // The next one begins its own, while the old one goes on.
    let second = lead("/a")
    #expect(second != nil && join("/a") === second && store.flightCount == 2)
    store.drop(.reload) { _ in false }
    #expect(join("/a") == nil)
    if let flight { store.leave(flight) }
    if let second { store.leave(second) }
    #expect(store.flightCount == 0)
  }

  @Test("does not forget a later invalidation for one that takes longer")
  func lateInvalidation() {
    // Two at once: the second comes to the index first. A fetch that began between them is from before the second.
    let (first, between) = (store.nextInvalidation(), store.begin())
    let second = store.nextInvalidation()
    store.noteInvalidation(of: target("/a"), at: second)
    store.noteInvalidation(of: target("/a"), at: first)
    #expect(put(store, "/a", pattern(1, 10), began: between) == .invalidated)
    #expect(put(store, "/a", pattern(1, 10)) == nil)
  }

  @Test("drops by rule, and stores nothing that the rule means and began before")
  func drop() {
    put(store, "/a", pattern(1, 10))
    put(store, "/b", pattern(1, 10), them)
    let before = store.begin()
    #expect(store.drop(.credential) { _, partition in partition.credential == them.credential } == 1)
    #expect(get(store, "/a") != nil && get(store, "/b", them) == nil && store.removed(.credential) == 1)
    #expect(put(store, "/b", pattern(1, 10), them, began: before) == .invalidated)
    #expect(store.isOutdated(before, target("/b"), them) && !store.isOutdated(before, target("/b"), us))
    #expect(put(store, "/b", pattern(1, 10), them) == nil && put(store, "/a", pattern(1, 10), began: before) == nil)
    #expect(store.drop(.purged) { target, _ in target.path.starts(with: Array("/a".utf8)) } == 1 && store.count == 1)
  }

  @Test("joins no fetch that a rule means and that began before, and all others")
  func ruled() {
    let (meant, other) = (lead("/a"), lead("/b"))
    store.drop(.purged) { asked, _ in asked == target("/a") }
    #expect(meant != nil && join("/a") == nil && join("/b") === other)
    let next = lead("/a")
    #expect(next != nil && join("/a") === next)
    for flight in [meant, other, next] { if let flight { store.leave(flight) } }
  }

  @Test("takes a rule that it has forgotten for one that means everything before it")
  func forgottenRule() {
    let before = store.begin()
    for _ in 0..<DropRules.limit { store.drop(.purged) { _, _ in false } }
    #expect(put(store, "/a", pattern(1, 10), began: before) == nil)
    store.drop(.purged) { _, _ in false }
    #expect(put(store, "/a", pattern(1, 10), began: before) == .invalidated && put(store, "/a", pattern(1, 10)) == nil)
  }

  private func lead(_ path: String, variant: CacheDigest = .none) -> Flight? {
    let probe = store.probe(target(path), us, now: 0)
    guard case .flight(let flight) = store.lead(target(path), us, vary: probe.vary, variant: variant, after: probe, loop: 0)
    else {
      return nil
    }
    return flight
  }
  private func join(_ path: String, variant: CacheDigest = .none, _ partition: Partition = us) -> Flight? {
    store.probe(target(path), partition, now: 0).flight(needs: RequestNeeds(), now: 0) { _ in variant }
  }

  @Test("lets one request fetch, and others like it join")
  func leads() {
    let before = store.probe(target("/a"), us, now: 0)
    let flight = lead("/a")
    guard case .changed = store.lead(target("/a"), us, vary: .none, variant: .none, after: before, loop: 1) else {
      Issue.record("two fetches for one key")
      return
    }
    #expect(join("/a") === flight && join("/a", variant: CacheDigest(parts: [[1]])) == nil && join("/a", them) == nil)
    #expect(join("/b") == nil)
    guard let flight else { return }
    store.leave(flight)
    store.leave(flight)
    #expect(join("/a") == nil && store.flightCount == 0)
  }

  @Test("joins a fetch whose head is there only if its answer is right and fresh")
  func joinsLate() throws {
    let flight = try #require(lead("/a"))
    flight.publish(Flight.Head(vary: .none, variant: .none, times: times("Cache-Control: max-age=60")))
    #expect(join("/a") === flight && join("/a", variant: CacheDigest(parts: [[1]])) == nil)
    let probe = store.probe(target("/a"), us, now: 0)
    #expect(probe.flight(needs: RequestNeeds(), now: 61 * second) { _ in .none } == nil)
    let always = try #require(lead("/b"))
    always.publish(Flight.Head(vary: .none, variant: .none, times: times("Cache-Control: no-cache\r\nETag: \"a\"")))
    #expect(join("/b") == nil)
  }

  @Test("does not hold more than 32 fetches for a target and partition")
  func crowd() {
    let flights = (0..<40).map { lead("/a", variant: CacheDigest(parts: [[UInt8($0)]])) }
    #expect(flights.count { $0 != nil } == 32 && store.flightCount == 32)
  }

  /// varnish-cache#3461, magento2#28927.
  @Test("`does not collapse a key for a while after an answer that was not storable`")
  func uncollapsed() {
    #expect(store.probe(target("/a"), us, now: 0).mayCollapse)
    store.stopCollapsing(target("/a"), us, until: 10 * second)
    #expect(!store.probe(target("/a"), us, now: 10 * second - 1).mayCollapse)
    #expect(store.probe(target("/a"), us, now: 10 * second).mayCollapse)
    #expect(store.probe(target("/a"), them, now: 0).mayCollapse && store.probe(target("/b"), us, now: 0).mayCollapse)
    // However many such keys there are, they take no memory.
    let bytes = store.bytes
    for number in 0..<1000 { store.stopCollapsing(target("/\(number)"), us, until: second) }
    #expect(store.bytes == bytes)
  }

  @Test("forgets what nobody has a use for")
  func sweep() throws {
    let answer = try #require(makeAnswer(store, "/a", pattern(1, 10), fields: "Cache-Control: max-age=5"))
    #expect(store.link(answer, began: store.begin()) == nil)
    put(store, "/b", pattern(1, 10))
    #expect(store.sweep(now: 4 * second) == 0 && store.sweep(now: 6 * second) == 1)
    #expect(get(store, "/a") == nil && get(store, "/b") != nil && store.removed(.expired) == 1)
  }

  @Test("does not put a renewed answer in the place of a newer one")
  func renewedLate() throws {
    put(store, "/a", pattern(1, 10))
    let old = try #require(get(store, "/a"))
    let began = store.begin()
    // While it is validated, another request has brought a new one.
    put(store, "/a", pattern(2, 10))
    let renewed = try #require(
      StoredAnswer(
        store, target: old.target, partition: us, vary: .none, variant: .none, facts: old.facts, times: old.times,
        received: noon,
        head: old.head, body: old.body))
    #expect(store.link(renewed, began: began, replacing: old) == .invalidated)
    #expect(try text(of: #require(get(store, "/a"))) == pattern(2, 10) && store.count == 1)
  }

  @Test("does not take back what was dropped while it was validated; what only made room may return", arguments: [true, false])
  func droppedMeanwhile(isDropped: Bool) throws {
    put(store, "/a", pattern(1, 10))
    let old = try #require(get(store, "/a"))
    if isDropped { store.drop(.trust) { _, partition in partition === us } } else { store.remove(old, .space) }
    // The request waited for a token, and leaves after that.
    let began = store.begin()
    let renewed = try #require(
      StoredAnswer(
        store, target: old.target, partition: us, vary: .none, variant: .none, facts: old.facts, times: old.times,
        received: noon,
        head: old.head, body: old.body))
    #expect(store.link(renewed, began: began, replacing: old) == (isDropped ? .invalidated : nil))
    #expect((get(store, "/a") == nil) == isDropped && store.count == (isDropped ? 0 : 1))
  }

  @Test("does not renew what was looked up while a drop was on its way to it")
  func renewedDuringDrop() throws {
    for number in 0..<2 { put(store, "/\(number)", pattern(number, 10)) }
    var seen: CacheStore.Beginning?
    store.drop(.trust) { answer in
      if answer.target == target("/1") { seen = store.beginLookUp() }
      return false
    }
    let old = try #require(get(store, "/1"))
    let renewed = try #require(
      StoredAnswer(
        store, target: old.target, partition: us, vary: .none, variant: .none, facts: old.facts, times: old.times,
        received: noon,
        head: old.head, body: old.body))
    #expect(try store.link(renewed, began: #require(seen), replacing: old) == .invalidated)
    #expect(store.beginLookUp() == store.begin())
  }

  @Test("is swept in pieces, all of it in the end")
  func sweepInPieces() {
    let store = CacheStore(limit: 64 << 20)
    let count = CacheStore.sweepLimit + 1000
    for number in 0..<count { put(store, "/\(number)", pattern(1, 10)) }
    #expect(store.sweep(now: 61 * second) == CacheStore.sweepLimit)
    #expect(store.sweep(now: 61 * second) == 1000 && store.count == 0)
    put(store, "/a", pattern(1, 10))
    #expect(store.sweep(now: 61 * second) == 1 && store.bytes == 0)
  }

  @Test("renews an answer without a second body, and its rank stays")
  func renews() throws {
    put(store, "/a", pattern(1, 100_000))
    let old = try #require(get(store, "/a"))
    old.noteUse()
    let bytes = store.bytes
    let new = try #require(
      StoredAnswer(
        store, target: old.target, partition: us, vary: .none, variant: .none, facts: old.facts, times: old.times,
        received: noon,
        head: old.head, body: old.body))
    #expect(store.bytes < bytes + 2000)
    #expect(store.link(new, began: store.begin(), replacing: old) == nil)
    #expect(get(store, "/a") === new && old.isGone && new.useCount == 1 && store.count == 1)
  }
}

@Suite("The store's memory")
struct StoreMemoryTests {
  @Test("is never over its limit, and returns to zero")
  func limit() {
    let store = CacheStore(limit: 1 << 20)
    var random = Seeded(1)
    for number in 0..<3000 {
      put(store, "/\(number % 700)", pattern(number, Int(random.next() % 60_000)))
      #expect(store.bytes <= 1 << 20)
    }
    #expect(store.removed(.space) > 1000 && store.bytes > 800_000 && store.heldBytes == 0)
    store.drop(.purged) { _ in true }
    #expect(store.bytes == 0 && store.count == 0 && store.heldBytes == 0)
  }

  @Test("counts evicted answers as long as they are sent, and stores nothing new while readers hold over half of it")
  func held() {
    let store = CacheStore(limit: 1 << 20)
    var readers: [BodyReader] = []
    var number = 0
    while store.heldBytes <= store.ledger.limit / 2, number < 1000 {
      if put(store, "/\(number)", pattern(number, 50_000)) == nil, let answer = get(store, "/\(number)") {
        readers.append(answer.body.reader())
      }
      number += 1
      #expect(store.bytes <= 1 << 20)
    }
    #expect(number < 1000)
    #expect(put(store, "/new", pattern(1, 10)) == .full)
    // Each of them still reads what it began to read.
    for index in readers.indices { #expect(read(&readers[index]).bytes == pattern(index, 50_000)) }
    readers = []
    #expect(put(store, "/new", pattern(1, 10)) == nil)
    store.drop(.purged) { _ in true }
    #expect(store.bytes == 0)
  }

  @Test("asks to give memory back once an eighth of it has gone, and at a purge")
  func givesBack() {
    let asked = Mutex(0)
    let store = CacheStore(limit: 16 << 20) { asked.withLock { $0 += 1 } }
    for number in 0..<330 { put(store, "/\(number)", pattern(number, 50_000)) }
    store.sweep(now: 0)
    #expect(asked.withLock { $0 } == 0)
    for number in 0..<100 { put(store, "/b\(number)", pattern(number, 50_000)) }
    store.sweep(now: 0)
    store.sweep(now: 0)
    #expect(asked.withLock { $0 } == 1)
    store.drop(.purged) { _ in true }
    #expect(asked.withLock { $0 } == 2)
  }

  @Test("asks to give less of it back, too, when nothing goes any more")
  func idle() {
    let asked = Mutex(0)
    let store = CacheStore(limit: 16 << 20) { asked.withLock { $0 += 1 } }
    for number in 0..<20 { put(store, "/\(number)", pattern(number, 10_000)) }
    for number in 0..<20 { store.invalidate(target("/\(number)")) }
    store.sweep(now: 0)
    // Another loop's.
    store.sweep(now: 0)
    #expect(asked.withLock { $0 } == 0 && store.count == 0 && store.wantsSweep)
    store.sweep(now: 10 * second)
    #expect(asked.withLock { $0 } == 1 && !store.wantsSweep)
    store.sweep(now: 20 * second)
    #expect(asked.withLock { $0 } == 1)
  }

  @Test("evicts several small answers at once, and no more than a sixty-fourth of it")
  func batches() {
    let store = CacheStore(limit: 64 << 20)
    var number = 0
    while store.removed(.space) == 0 {
      put(store, "/\(number)", pattern(1, 100))
      number += 1
    }
    #expect((100...1000).contains(store.removed(.space)) && store.bytes > 62 << 20)
  }

  @Test("does not pass over all that it has to evict one, even if all is in use")
  func allUsed() {
    let store = CacheStore(limit: 32 << 20)
    var answers: [StoredAnswer] = []
    for number in 0..<15_000 {
      put(store, "/\(number)", pattern(1, 10))
      if let answer = get(store, "/\(number)") { answers.append(answer) }
    }
    for answer in answers { for _ in 0..<3 { answer.noteUse() } }
    var number = 0
    while store.removed(.space) == 0 {
      put(store, "/new/\(number)", pattern(1, 20_000))
      number += 1
    }
    #expect(answers.count { $0.useCount == 3 } > 10_000)
  }

  @Test("shrinks with its limit at once")
  func shrinks() {
    let store = CacheStore(limit: 1 << 20)
    for number in 0..<15 { put(store, "/\(number)", pattern(number, 50_000)) }
    let reader = get(store, "/14").map { $0.body.reader() }
    store.set(limit: 100_000)
    #expect(store.bytes <= 100_000 && reader != nil)
    store.set(limit: 0)
    #expect(store.count == 0 && store.bytes == store.heldBytes)
    #expect(put(store, "/x", []) == .full)
  }

  @Test("counts the targets of fetches, however long")
  func longTargets() {
    let store = CacheStore(limit: 1 << 20)
    let path = "/" + String(repeating: "x", count: 60_000)
    var flights: [Flight] = []
    for number in 0..<100 {
      let place = target("\(path)\(number)")
      let probe = store.probe(place, us, now: 0)
      if case .flight(let flight) = store.lead(place, us, vary: .none, variant: .none, after: probe, loop: 0) {
        flights.append(flight)
      }
    }
    #expect(flights.count > 10 && flights.count * 60_000 <= store.bytes && store.bytes <= 1 << 20 && store.heldBytes == 0)
    for flight in flights { store.leave(flight) }
    flights = []
    #expect(store.bytes == 0 && store.heldBytes == 0)
  }

  @Test("counts what requests in flight keep for it")
  func memory() {
    let store = CacheStore(limit: 100_000)
    var held = (0..<5).compactMap { _ in HeldMemory(store, 30_000) }
    #expect(held.count == 3 && store.bytes == 90_000 && store.heldBytes == 0)
    held.removeLast()
    #expect(store.bytes == 60_000 && put(store, "/a", pattern(1, 10)) == nil)
    held = []
    store.drop(.purged) { _ in true }
    #expect(store.bytes == 0 && store.heldBytes == 0)
  }

  @Test("counts fetches")
  func flights() {
    let store = CacheStore(limit: 10_000)
    var flights: [Flight] = []
    for number in 0..<20 {
      let probe = store.probe(target("/\(number)"), us, now: 0)
      if case .flight(let flight) = store.lead(target("/\(number)"), us, vary: .none, variant: .none, after: probe, loop: 0) {
        flights.append(flight)
      }
    }
    #expect(flights.count == 9 && store.bytes == 9 * Flight.cost)
    for flight in flights { store.leave(flight) }
    flights = []
    #expect(store.bytes == 0 && store.heldBytes == 0)
  }
}
