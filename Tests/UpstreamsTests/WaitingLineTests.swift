import Testing

@testable import Upstreams

/// Who waits for a connection, and which requests of one client are held back.
@Suite struct WaitingLineTests {
  private final class Waiter {}
  private final class Told {
    var line = WaitingLine<Waiter>()
    let waiters = (0..<5).map { _ in Waiter() }
    func place(of waiter: Waiter?) -> Int? { waiters.firstIndex { $0 === waiter } }
  }

  @Test func `a line says since when its first waits`() {
    let told = Told()
    #expect(told.line.since == nil)
    for (index, waiter) in told.waiters.enumerated() { told.line.append(waiter, at: Int64(10 + index)) }
    #expect(told.line.since == 10)
    _ = told.line.removeFirst()
    #expect(told.line.since == 11)
    _ = told.line.remove(told.waiters[1])
    #expect(told.line.since == 12)
    _ = told.line.removeAll(upTo: 20)
    #expect(told.line.since == nil)
  }

  @Test func `first in, first out, however many there are`() {
    var line = WaitingLine<Waiter>()
    let waiters = (0..<300).map { _ in Waiter() }
    var next = 0
    // More come while some leave, so that freed places are used again.
    for (index, waiter) in waiters.enumerated() {
      line.append(waiter, at: Int64(index))
      #expect(line.newest === waiter)
      guard index % 3 == 2 else { continue }
      for _ in 0..<2 {
        #expect(line.removeFirst() === waiters[next])
        next += 1
      }
    }
    #expect(line.count == 100)
    while let waiter = line.removeFirst() {
      #expect(waiter === waiters[next])
      next += 1
    }
    #expect(next == 300 && line.isEmpty && line.newest == nil)
  }

  @Test func `only who waits long enough leaves`() {
    let told = Told()
    #expect(told.line.removeFirst(upTo: 9) == nil)
    for (index, waiter) in told.waiters.enumerated() { told.line.append(waiter, at: Int64(index)) }
    #expect(told.place(of: told.line.removeFirst(upTo: 1)) == 0)
    #expect(told.place(of: told.line.removeFirst(upTo: 1)) == 1)
    #expect(told.line.removeFirst(upTo: 1) == nil)
    #expect(told.line.count == 3)
  }

  @Test func `one can leave from anywhere, once`() {
    let told = Told()
    for (index, waiter) in told.waiters.enumerated() { told.line.append(waiter, at: Int64(index)) }
    #expect(told.place(of: told.line.removeFirst()) == 0)
    let gone = told.line.remove(told.waiters[2])
    let again = told.line.remove(told.waiters[2])
    let served = told.line.remove(told.waiters[0])
    #expect(gone && !again && !served)
    #expect(told.line.count == 3)
    #expect([1, 3, 4].allSatisfy { told.place(of: told.line.removeFirst()) == $0 })
    #expect(told.line.removeFirst() == nil)
  }

  @Test func `those who have waited too long leave together, in their order`() {
    let told = Told()
    for (index, waiter) in told.waiters.enumerated() { told.line.append(waiter, at: Int64(index) * 10) }
    _ = told.line.removeFirst()
    #expect(told.line.removeAll(upTo: 20).map { told.place(of: $0) } == [1, 2])
    #expect(told.line.removeAll(upTo: 20).isEmpty)
    #expect(told.place(of: told.line.removeFirst()) == 3)
    #expect(told.line.count == 1)
  }

  @Test func `who has left is not kept alive`() {
    var line = WaitingLine<Waiter>()
    weak var first: Waiter?
    let second = Waiter()
    do {
      let waiter = Waiter()
      first = waiter
      line.append(waiter, at: 0)
      line.append(second, at: 0)
      _ = line.removeFirst()
    }
    #expect(first == nil)
    #expect(line.count == 1)
  }
}

@Suite struct HeldBackTests {
  private final class Waiter {}

  private static let limit = OriginLimit(
    OriginIdentity(
      scheme: .http, host: "origin.test", port: 80, trustDigest: [], certificateDigest: [], checksAddresses: false))

  @Test func `each client has a line of its own`() {
    let (one, other) = (ClientAccount(name: "a"), ClientAccount(name: "b"))
    let (mine, theirs) = (Self.limit.share(for: one), Self.limit.share(for: other))
    var held = HeldBack<Waiter>()
    let waiters = (0..<3).map { _ in Waiter() }
    held.append(waiters[0], of: mine, at: 0)
    held.append(waiters[1], of: theirs, at: 1)
    held.append(waiters[2], of: mine, at: 2)
    #expect(held.contains(mine) && held.contains(theirs))
    #expect(held.shares.count == 2)
    #expect(held.removeFirst(of: theirs) === waiters[1])
    #expect(!held.contains(theirs))
    #expect(held.removeFirst(of: theirs) == nil)
    #expect(held.removeFirst(of: mine) === waiters[0])
    let wrong = held.remove(waiters[2], of: theirs)
    let right = held.remove(waiters[2], of: mine)
    #expect(!wrong && right)
    #expect(held.isEmpty)
  }
}
