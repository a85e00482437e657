import Credentials
import Testing

@testable import Signing

@Suite struct TicketMachineTests {
  private typealias Machine = TicketMachine<Int>

  private func held(lifetime: Int64 = 100_000, mark: Int? = 1) -> Machine {
    var machine = Machine()
    _ = machine.need(.missing, mark: mark, now: 0)
    machine.fetched(version: 1, lifetime: lifetime, mark: mark, now: 0)
    return machine
  }

  @Test func `one fetch runs at a time, and all wait for it`() {
    var machine = Machine()
    #expect(machine.need(.missing, mark: 1, now: 0) == (.wait, true, true))
    #expect(machine.need(.missing, mark: 1, now: 1) == (.wait, false, false))
    #expect(machine.need(.refused(0), mark: 1, now: 1) == (.wait, false, false))
    machine.fetched(version: 1, lifetime: 100_000, mark: 1, now: 5)
    #expect(machine.need(.missing, mark: 1, now: 6) == (.ready, false, false))
  }

  @Test func `a held ticket serves until it expires, and is renewed in the last fifth of its life`() {
    var machine = held()
    #expect(machine.need(.ahead, mark: 1, now: 79_999) == (.ready, false, false))
    #expect(machine.isUsable(at: 98_999))
    #expect(!machine.isUsable(at: 99_000))
    #expect(machine.need(.ahead, mark: 1, now: 80_000) == (.wait, true, false))
    #expect(machine.need(.missing, mark: 1, now: 80_001) == (.ready, false, false))
    _ = machine.failed(.temporary, "no KDC", mark: 1, now: 81_000)
    #expect(machine.need(.missing, mark: 1, now: 81_001) == (.ready, false, false), "a failure does not take it away")
    #expect(machine.need(.missing, mark: 1, now: 99_000) == (.wait, true, false))
  }

  @Test func `a refused ticket is fetched again, once for all that were refused`() {
    var machine = held()
    #expect(machine.need(.refused(1), mark: 1, now: 10) == (.wait, true, true))
    #expect(machine.need(.refused(1), mark: 1, now: 11) == (.wait, false, false))
    machine.fetched(version: 2, lifetime: 100_000, mark: 1, now: 12)
    #expect(machine.need(.refused(1), mark: 1, now: 13) == (.ready, false, false))
  }

  @Test func `a changed source is read at once, and again only when it changes again`() {
    var machine = held(mark: 1)
    #expect(machine.need(.changed, mark: 2, now: 10) == (.wait, true, true))
    machine.fetched(version: 2, lifetime: 100_000, mark: 2, now: 12)
    #expect(machine.need(.changed, mark: 2, now: 13) == (.ready, false, false))
    #expect(machine.need(.changed, mark: nil, now: 13) == (.wait, true, true))
  }

  @Test func `pauses between failures grow, and a changed source ends them`() {
    var machine = Machine()
    var now: Int64 = 0
    for pause in [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000] as [Int64] {
      #expect(machine.need(.missing, mark: 1, now: now).fetch)
      #expect(machine.failed(.temporary, "no KDC", mark: 1, now: now) == .temporarily("no KDC", retryAfter: pause))
      #expect(
        machine.need(.missing, mark: 1, now: now + pause - 1).need == .unavailable(.temporarily("no KDC", retryAfter: 1)))
      now += pause
    }
    #expect(machine.need(.missing, mark: 1, now: now).fetch)
    _ = machine.failed(.temporary, "no KDC", mark: 1, now: now)
    #expect(machine.need(.missing, mark: 2, now: now) == (.wait, true, true))
  }

  @Test func `a refused key is not tried again for long, as accounts are locked by that`() {
    var machine = Machine()
    _ = machine.need(.missing, mark: 1, now: 0)
    #expect(machine.failed(.keyRefused, "wrong", mark: 1, now: 0) == .needsOperator("wrong"))
    #expect(machine.need(.missing, mark: 1, now: 899_999).need == .unavailable(.needsOperator("wrong")))
    #expect(machine.need(.missing, mark: 1, now: 900_000).fetch)
    _ = machine.failed(.needsOperator, "no keytab", mark: nil, now: 900_000)
    #expect(machine.need(.missing, mark: nil, now: 904_999).need == .unavailable(.needsOperator("no keytab")))
    #expect(machine.need(.missing, mark: 7, now: 904_999).fetch, "the keytab has appeared")
  }

  @Test func `a refused key pauses all services of its credential, until another one is there`() {
    var pause = KeyPause<Int>()
    #expect(pause.reason(mark: 1, now: 0) == nil)
    pause.refused("wrong", mark: 1, now: 10)
    #expect(pause.reason(mark: 1, now: 10) == "wrong")
    #expect(pause.reason(mark: 1, now: 900_009) == "wrong")
    #expect(pause.reason(mark: 1, now: 900_010) == nil)
    #expect(pause.reason(mark: 2, now: 11) == nil)
    #expect(pause.reason(mark: nil, now: 11) == nil)
  }

  @Test func `the pause of one key doubles up to a day, until the source changes or the key is taken`() {
    var pause = KeyPause<Int>()
    var now: Int64 = 0
    func refuse(_ mark: Int?, _ minutes: Int64) {
      pause.refused("wrong", mark: mark, now: now)
      #expect(pause.reason(mark: mark, now: now + minutes * 60_000 - 1) == "wrong", "\(minutes) min")
      #expect(pause.reason(mark: mark, now: now + minutes * 60_000) == nil, "\(minutes) min")
      now += minutes * 60_000
    }
    for minutes in [15, 30, 60, 120, 240, 480, 960, 1_440, 1_440, 1_440] as [Int64] { refuse(1, minutes) }
    refuse(2, 15)
    refuse(2, 30)
    pause.accepted()
    #expect(pause.reason(mark: 2, now: now) == nil)
    refuse(2, 15)
    // A password has no mark.
    refuse(nil, 15)
    refuse(nil, 30)
  }

  @Test func `the time until the next try is known`() {
    var machine = Machine()
    #expect(machine.pause(at: 5) == 0)
    _ = machine.need(.missing, mark: 1, now: 0)
    _ = machine.failed(.needsOperator, "no keytab", mark: 1, now: 5)
    #expect(machine.pause(at: 6) == 4_999)
    #expect(machine.pause(at: 6_000) == 0)
  }
}
