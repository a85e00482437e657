import Testing

@testable import Cache

@Suite("A fetch that several requests read")
struct FetchMachineTests {
  private let leader = ReaderID(0)
  private func waiter(_ number: Int) -> ReaderID { ReaderID(UInt64(number)) }
  private func machine(waiters: Int = 2, maxObject: Int = 1000) -> FetchMachine {
    var machine = FetchMachine(leader: leader, collapse: 5 * second, maxObject: maxObject, now: 0)
    for number in 0..<waiters { _ = machine.join(waiter(number + 1), now: 0) }
    return machine
  }
  private func told(_ step: FetchStep) -> [ReaderID: ReaderMessage] {
    Dictionary(step.messages.map { ($0.reader, $0.message) }) { first, _ in
      Issue.record("told twice")
      return first
    }
  }

  @Test("gives all who wait a storable answer, and stores it")
  func storable() {
    var machine = self.machine()
    #expect(
      told(machine.head(.store(length: 10), now: second) { _ in true }) == [leader: .read, waiter(1): .read, waiter(2): .read])
    #expect(told(machine.join(waiter(3), now: second)) == [waiter(3): .read])
    #expect(machine.wrote(10, now: second).effects == [])
    let end = machine.completed(hasTrailers: false, now: second)
    #expect(end.effects == [.complete, .store, .detach, .finished] && end.messages.isEmpty)
    #expect(told(machine.join(waiter(4), now: second)) == [waiter(4): .lookAgain])
  }

  /// envoy#34595.
  @Test("`goes on when the first client leaves`")
  func leaderLeaves() {
    var machine = self.machine()
    #expect(machine.leave(leader, now: 0).effects == [])
    #expect(told(machine.head(.store(length: nil), now: 0) { _ in true }) == [waiter(1): .read, waiter(2): .read])
    // Nobody can take over an answer that was for the first one alone.
    machine = self.machine()
    _ = machine.leave(leader, now: 0)
    let step = machine.head(.release, now: 0) { _ in true }
    #expect(
      step.effects == [.detach, .stopCollapsing, .cancel, .finished]
        && told(step) == [waiter(1): .goAlone, waiter(2): .goAlone])
  }

  /// pingora#314.
  @Test("`ends when the last reader leaves, unless little is missing`")
  func lastLeaves() {
    func left(_ length: Int?, written: Int) -> FetchStep {
      var machine = self.machine(waiters: 1, maxObject: 1 << 20)
      _ = machine.leave(leader, now: 0)
      _ = machine.head(.store(length: length), now: 0) { _ in true }
      _ = machine.wrote(written, now: 0)
      return machine.leave(waiter(1), now: 0)
    }
    let ended: FetchStep.Effects = [.cancel, .broken, .discard, .detach, .finished]
    #expect(left(nil, written: 10).effects == ended)
    #expect(left(FetchMachine.worthFinishing + 11, written: 10).effects == ended)
    #expect(left(FetchMachine.worthFinishing + 10, written: 10).effects == [])
    #expect(left(5, written: 5).effects == [])
    var machine = self.machine(waiters: 1)
    _ = machine.leave(waiter(1), now: 0)
    #expect(machine.leave(leader, now: 0).effects == [.cancel, .detach, .finished])
    // A validation in the background needs nobody.
    var background = FetchMachine(leader: nil, collapse: second, maxObject: 1000, now: 0)
    _ = background.join(waiter(1), now: 0)
    #expect(background.leave(waiter(1), now: 0).effects == [])
    #expect(background.head(.store(length: nil), now: 0) { _ in true }.effects == [])
  }

  /// varnish-cache#3461, magento2#28927, unjs/ocache#61.
  @Test("`releases all at once what must not be shared, and the key does not collapse for a while`")
  func release() {
    var machine = self.machine()
    let step = machine.head(.release, now: 0) { _ in true }
    #expect(told(step) == [leader: .relay, waiter(1): .goAlone, waiter(2): .goAlone])
    #expect(step.effects == [.detach, .stopCollapsing, .finished])
    machine = self.machine()
    #expect(told(machine.head(.store(length: 1001), now: 0) { _ in true })[waiter(1)] == .goAlone)
  }

  /// varnish-cache#4032.
  @Test("`parts those who wait by Vary`")
  func vary() {
    var machine = self.machine(waiters: 4)
    let step = machine.head(.store(length: 1), now: 0) { $0.value % 2 == 0 }
    #expect(told(step) == [leader: .read, waiter(1): .lookAgain, waiter(2): .read, waiter(3): .lookAgain, waiter(4): .read])
    // With nobody left for this variant it ends.
    machine = self.machine(waiters: 1)
    _ = machine.leave(leader, now: 0)
    #expect(
      machine.head(.store(length: nil), now: 0) { _ in false }.effects == [.cancel, .broken, .discard, .detach, .finished])
  }

  /// lancache#95, souin#849.
  @Test("`that hangs keeps its key from nobody`")
  func hangs() {
    var machine = self.machine(waiters: 1)
    #expect(machine.join(waiter(2), now: second).deadline == 5 * second)
    #expect(machine.timer(now: 5 * second - 1).messages.isEmpty)
    let step = machine.timer(now: 5 * second)
    #expect(told(step) == [waiter(1): .goAlone] && step.effects == [.detach] && step.deadline == 6 * second)
    #expect(told(machine.join(waiter(3), now: 5 * second)) == [waiter(3): .lookAgain])
    #expect(told(machine.timer(now: 6 * second)) == [waiter(2): .goAlone])
    // Who began it waits on, and its answer is stored.
    #expect(told(machine.head(.store(length: 1), now: 9 * second) { _ in true }) == [leader: .read])
    #expect(machine.completed(hasTrailers: false, now: 9 * second).effects.contains(.store))
  }

  @Test("fails for all who wait, once")
  func fails() {
    var machine = self.machine()
    let step = machine.failed(now: 0)
    #expect(told(step) == [leader: .failed, waiter(1): .failed, waiter(2): .failed] && step.effects == [.detach, .finished])
    #expect(machine.failed(now: 0).messages.isEmpty)
  }

  /// pingora#932.
  @Test("`that breaks cuts every reader, and who has no byte asks again, once`")
  func breaks() {
    var machine = self.machine()
    _ = machine.join(waiter(3), isSecondTry: true, now: 0)
    _ = machine.head(.store(length: 10), now: 0) { _ in true }
    _ = machine.wrote(5, now: 0)
    _ = machine.progress(waiter(1), position: 5, now: 0)
    let step = machine.failed(now: 0)
    #expect(told(step) == [leader: .askAgain, waiter(1): .cut, waiter(2): .askAgain, waiter(3): .failed])
    #expect(step.effects == [.broken, .discard, .detach, .finished])
  }

  @Test("that an invalidation meets is read on, not joined, and not stored")
  func invalidated() {
    for isEarly in [true, false] {
      var machine = self.machine(waiters: 1)
      if isEarly { #expect(machine.invalidate(now: 0).effects == [.detach]) }
      #expect(told(machine.head(.store(length: 5), now: 0) { _ in true }) == [leader: .read, waiter(1): .read])
      if !isEarly { #expect(machine.invalidate(now: 0).effects == [.detach, .discard]) }
      #expect(told(machine.join(waiter(2), now: 0)) == [waiter(2): .lookAgain])
      #expect(machine.completed(hasTrailers: false, now: 0).effects == [.complete, .discard, .finished])
    }
  }

  @Test("with trailers is not stored")
  func trailers() {
    var machine = self.machine()
    _ = machine.head(.store(length: nil), now: 0) { _ in true }
    #expect(machine.completed(hasTrailers: true, now: 0).effects == [.complete, .discard, .detach, .finished])
  }

  @Test("with a 304 gives all who wait the renewed answer")
  func renewed() {
    var machine = self.machine()
    let step = machine.head(.renewed, now: 0) { $0 == waiter(1) }
    #expect(
      told(step) == [leader: .answer, waiter(1): .answer, waiter(2): .lookAgain] && step.effects == [.detach, .finished])
  }

  @Test("`with a 304 that must not be shared gives those who wait nothing of it`")
  func renewedForOne() {
    var machine = self.machine()
    let step = machine.head(.renewedForOne, now: 0) { _ in true }
    #expect(told(step) == [leader: .answer, waiter(1): .goAlone, waiter(2): .goAlone])
    #expect(step.effects == [.detach, .stopCollapsing, .finished])
  }

  @Test("shares what only lacks freshness with those who waited, and nobody else")
  func shares() {
    var machine = self.machine()
    let step = machine.head(.share(length: 10), now: 0) { _ in true }
    #expect(told(step)[waiter(2)] == .read && step.effects == [.detach])
    #expect(told(machine.join(waiter(3), now: 0)) == [waiter(3): .lookAgain])
    #expect(machine.completed(hasTrailers: false, now: 0).effects == [.complete, .discard, .finished])
  }

  @Test("that outgrows the limit stays near its slowest reader, and cuts it after a second if others wait for it")
  func outgrows() {
    var machine = self.machine(waiters: 1)
    _ = machine.head(.store(length: nil), now: 0) { _ in true }
    #expect(machine.wrote(1000, now: 0).effects == [])
    let grown = machine.wrote(1001, now: 0)
    #expect(grown.effects == [.discard, .stopCollapsing, .detach, .pause])
    #expect(machine.progress(leader, position: 1001, now: 0).deadline == second)
    #expect(machine.timer(now: second - 1).messages.isEmpty)
    let cut = machine.timer(now: second)
    #expect(told(cut) == [waiter(1): .cut] && cut.effects == [.resume] && cut.deadline == nil)
    #expect(machine.readerCount == 1)
    #expect(machine.completed(hasTrailers: false, now: second).effects == [.complete, .discard, .finished])
  }

  @Test("in the background ends as soon as its answer is not stored: nobody reads it")
  func backgroundForNobody() {
    let ended: FetchStep.Effects = [.cancel, .broken, .discard, .detach, .finished]
    func background() -> FetchMachine {
      var machine = FetchMachine(leader: nil, collapse: second, maxObject: 1000, now: 0)
      _ = machine.head(.store(length: nil), now: 0) { _ in true }
      return machine
    }
    var machine = background()
    #expect(machine.wrote(1001, now: 0).effects == ended.union(.stopCollapsing))
    machine = background()
    #expect(machine.noRoom(now: 0).effects == ended.union(.stopCollapsing))
    machine = background()
    #expect(machine.invalidate(now: 0).effects == ended)
    machine = FetchMachine(leader: nil, collapse: second, maxObject: 1000, now: 0)
    #expect(machine.head(.share(length: nil), now: 0) { _ in true }.effects == ended)
    // Somebody reads it.
    machine = background()
    _ = machine.join(waiter(1), now: 0)
    #expect(!machine.wrote(1001, now: 0).effects.contains(.cancel))
    #expect(machine.leave(waiter(1), now: 0).effects.contains(.cancel))
  }

  @Test("does not cut a reader that holds up only itself")
  func alone() {
    var machine = self.machine(waiters: 0)
    _ = machine.head(.store(length: nil), now: 0) { _ in true }
    #expect(machine.wrote(1001, now: 0).effects.contains(.pause))
    #expect(machine.timer(now: 100 * second).messages.isEmpty)
    #expect(machine.progress(leader, position: 2, now: 100 * second).effects == [.resume])
  }

  @Test("does not cut a reader that catches up")
  func catchesUp() {
    var machine = self.machine(waiters: 1)
    _ = machine.head(.store(length: nil), now: 0) { _ in true }
    _ = machine.wrote(1200, now: 0)
    _ = machine.progress(leader, position: 1200, now: 0)
    #expect(machine.progress(waiter(1), position: 700, now: second / 2).effects == [.resume])
    #expect(machine.timer(now: 2 * second).messages.isEmpty)
    // But one that reads a byte at a time holds up the others.
    _ = machine.wrote(1700, now: 2 * second)
    for step in 0..<10 { _ = machine.progress(waiter(1), position: 701 + step, now: 2 * second + Int64(step) * second / 10) }
    #expect(told(machine.timer(now: 3 * second)) == [waiter(1): .cut])
  }

  @Test("for which there is no room goes on without being stored")
  func noRoom() {
    var machine = self.machine(waiters: 0)
    _ = machine.head(.store(length: nil), now: 0) { _ in true }
    _ = machine.wrote(100, now: 0)
    #expect(machine.noRoom(now: 0).effects == [.discard, .stopCollapsing, .detach, .pause])
    #expect(machine.progress(leader, position: 100, now: 0).effects == [.resume])
    #expect(machine.completed(hasTrailers: false, now: 0).effects == [.complete, .discard, .finished])
  }
}
