import Crypto
import TLS
import Testing

@testable import Interception

@Suite struct LeafCacheTests {
  private let one: SigningCA
  private let other: SigningCA
  private let leaf: Leaf

  init() throws {
    one = try authority(for: ["example"]).signing
    other = try authority(for: ["example"]).signing
    leaf = try one.makeLeaf(for: PeerName("a.example"), lifetime: 1000, now: 0 + now)
  }

  private func key(_ host: String, _ authority: SigningCA? = nil) -> LeafCache.Key {
    LeafCache.Key(host: PeerName(host), authority: authority ?? one)
  }

  /// A word for an answer: what tests compare.
  private func look(_ cache: inout LeafCache, _ key: LeafCache.Key, at time: Int64 = now) -> String {
    switch cache.look(key, at: time) {
    case .leaf: "leaf"
    case .make(old: nil): "make"
    case .make(old: _?): "renew"
    case .wait: "wait"
    }
  }

  private func filled(_ names: [String], capacity: Int) -> LeafCache {
    var cache = LeafCache(capacity: capacity)
    for name in names {
      #expect(look(&cache, key(name)) == "make")
      cache.made(leaf, for: key(name))
    }
    return cache
  }

  @Test func `one caller makes a leaf, the others wait for it`() {
    var cache = LeafCache(capacity: 4)
    #expect(look(&cache, key("a.example")) == "make")
    #expect(look(&cache, key("a.example")) == "wait")
    #expect(look(&cache, key("b.example")) == "make")
    #expect(look(&cache, key("a.example", other)) == "make")
    cache.failed(key("a.example"))
    #expect(look(&cache, key("a.example")) == "make")
    cache.made(leaf, for: key("a.example"))
    #expect(look(&cache, key("a.example")) == "leaf")
    #expect(look(&cache, key("A.Example.")) == "leaf")
    #expect(cache.count == 1)
  }

  @Test func `after half of its life one caller makes another leaf, and none that has expired is served`() {
    var cache = filled(["a.example"], capacity: 4)
    #expect(look(&cache, key("a.example"), at: leaf.renewal - 1) == "leaf")
    #expect(look(&cache, key("a.example"), at: leaf.renewal) == "renew")
    #expect(look(&cache, key("a.example"), at: leaf.notAfter - 1) == "leaf")
    #expect(look(&cache, key("a.example"), at: leaf.notAfter) == "wait")
    cache.failed(key("a.example"))
    #expect(look(&cache, key("a.example"), at: leaf.notAfter) == "make")
  }

  @Test func `the least recently used leaf goes first`() {
    var cache = filled(["a.example", "b.example", "c.example"], capacity: 3)
    #expect(look(&cache, key("a.example")) == "leaf")
    #expect(look(&cache, key("d.example")) == "make")
    cache.made(leaf, for: key("d.example"))
    #expect(cache.count == 3)
    #expect(look(&cache, key("b.example")) == "make")
    for name in ["c", "a", "d"] { #expect(look(&cache, key(name + ".example")) == "leaf") }
  }

  @Test func `a cache of one keeps the last`() {
    var cache = filled(["a.example", "b.example", "c.example"], capacity: 1)
    #expect(cache.count == 1)
    #expect(look(&cache, key("c.example")) == "leaf")
    #expect(look(&cache, key("a.example")) == "make")
  }

  @Test func `it behaves as a list that is sorted by use`() {
    var cache = LeafCache(capacity: 8)
    var model: [String] = []
    var random = SystemRandomNumberGenerator()
    for _ in 0..<3000 {
      let name = "h\(UInt8.random(in: 0..<16, using: &random)).example"
      let isKept = model.contains(name)
      #expect(look(&cache, key(name)) == (isKept ? "leaf" : "make"))
      if !isKept { cache.made(leaf, for: key(name)) }
      model.removeAll { $0 == name }
      model.append(name)
      if model.count > 8 { model.removeFirst() }
      #expect(cache.count == model.count)
    }
  }

  @Test func `what a removed authority has signed goes with it, also what comes late`() {
    var cache = filled(["a.example", "b.example"], capacity: 4)
    for name in ["a.example", "late.example"] { #expect(look(&cache, key(name, other)) == "make") }
    cache.made(leaf, for: key("a.example", other))
    cache.keep(only: [one])
    cache.made(leaf, for: key("late.example", other))
    #expect(cache.count == 2)
    #expect(look(&cache, key("a.example")) == "leaf")
    #expect(look(&cache, key("a.example", other)) == "make")
    cache.keep(only: [])
    #expect(cache.count == 0)
  }

  @Test func `a smaller cache keeps the most recently used`() {
    var cache = filled(["a.example", "b.example", "c.example"], capacity: 3)
    cache.resize(to: 2)
    #expect(cache.count == 2)
    #expect(look(&cache, key("b.example")) == "leaf")
    #expect(look(&cache, key("c.example")) == "leaf")
    #expect(look(&cache, key("a.example")) == "make")
    cache.resize(to: 5)
    #expect(cache.count == 2)
  }
}
