import EventIO
import Synchronization
import Testing

@testable import Upstreams

/// One client's maximum share of an origin, and how it is counted.
@Suite struct ClientShareRuleTests {
  private static func limit() -> OriginLimit {
    OriginLimit(
      OriginIdentity(
        scheme: .http, host: "origin.test", port: 80, trustDigest: [], certificateDigest: [], checksAddresses: false))
  }

  private static func most(_ limit: OriginLimit, _ share: OriginShare, of capacity: Int) -> Int {
    var count = 0
    while limit.take(share, of: capacity) { count += 1 }
    for _ in 0..<count { share.giveBack() }
    return count
  }

  @Test func `a client has seven eighths at most, of a few connections all but one where it is not alone`() {
    let expected: [(capacity: Int, alone: Int, withOthers: Int)] = [
      (1, 1, 1), (2, 2, 1), (3, 3, 2), (7, 7, 6), (8, 7, 7), (9, 7, 7), (10, 8, 8), (16, 14, 14), (100, 87, 87),
      (256, 224, 224), (1_000_000, 875_000, 875_000),
    ]
    let limit = Self.limit()
    let first = limit.share(for: ClientAccount(name: "a"))
    for (capacity, alone, _) in expected { #expect(Self.most(limit, first, of: capacity) == alone, "\(capacity)") }
    do {
      let second = limit.share(for: ClientAccount(name: "b"))
      for (capacity, _, shared) in expected { #expect(Self.most(limit, first, of: capacity) == shared, "\(capacity)") }
      #expect(second.take(upTo: 1))
    }
    // The other client has gone.
    #expect(Self.most(limit, first, of: 2) == 2)
    #expect(first.account.name == "a")
  }

  @Test func `a client has one share of an origin, whoever asks for it, and all of it back in the end`() {
    let limit = Self.limit()
    let account = ClientAccount(name: nil)
    let share = limit.share(for: account)
    #expect(limit.share(for: account) === share)
    #expect(Self.limit().share(for: account) !== share)
    for _ in 0..<14 { #expect(limit.take(share, of: 16)) }
    #expect(!limit.take(share, of: 16))
    // A reload with a lower limit: no new connection until enough have ended.
    #expect(!limit.take(share, of: 8))
    for _ in 0..<8 { share.giveBack() }
    #expect(limit.take(share, of: 8))
    #expect(!limit.take(share, of: 8))
  }

  @Test func `requests in flight are counted whatever the limit was when they began`() {
    let account = ClientAccount(name: "a")
    for _ in 0..<3 { #expect(account.begin(upTo: nil)) }
    #expect(!account.begin(upTo: 3))
    #expect(account.begin(upTo: 4))
    #expect(!account.begin(upTo: 1))
    for _ in 0..<4 { account.end() }
    #expect(account.begin(upTo: 1))
    #expect(!account.begin(upTo: 1))
  }

  @Test func `many threads take no place too many and lose none`() async {
    let account = ClientAccount(name: "a")
    let most = 5
    let inside = Counter()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<20_000 where account.begin(upTo: most) {
            inside.note(inside.value.add(1, ordering: .sequentiallyConsistent).newValue)
            inside.value.subtract(1, ordering: .sequentiallyConsistent)
            account.end()
          }
        }
      }
    }
    #expect((1...most).contains(inside.peak.load(ordering: .sequentiallyConsistent)))
    for _ in 0..<most { #expect(account.begin(upTo: most)) }
    #expect(!account.begin(upTo: most))
  }

  private final class Counter: Sendable {
    let value = Atomic<Int>(0)
    let peak = Atomic<Int>(0)
    func note(_ now: Int) { _ = peak.max(now, ordering: .sequentiallyConsistent) }
  }

  @Test func `a table forgets what nobody else owns, and nothing else`() {
    let table = SharedTable<Int, ClientAccount>()
    let kept = (0..<100).map { key in table.value(of: key) { ClientAccount(name: "kept \(key)") } }
    for key in 100..<10_000 { _ = table.value(of: key) { ClientAccount(name: nil) } }
    #expect(table.count <= 200)
    for (key, account) in kept.enumerated() {
      #expect(table.value(of: key) { ClientAccount(name: "another") } === account)
    }
    #expect(table.isUsed(otherThan: kept[0]))
  }

  @Test func `a loop serves its own for a tenth of a second while others wait, and no longer`() {
    var turn = OwnTurn()
    let steps: [(milliseconds: Int64, othersWait: Bool, isOver: Bool)] = [
      (0, false, false), (500, false, false), (600, true, false), (650, true, false), (699, true, false), (700, true, true),
      (701, true, false), (750, false, false), (900, true, false), (1_000, true, true),
    ]
    for (time, othersWait, isOver) in steps {
      #expect(turn.isOver(at: time * 1_000_000, othersWait: othersWait) == isOver, "at \(time) ms")
    }
  }
}
