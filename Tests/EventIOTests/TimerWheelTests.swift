import Testing

@testable import EventIO

@Suite struct TimerWheelTests {
  final class Probe: EventHandler {}

  /// Runs the wheel like a loop: sleeps as long as it says, then advances. Returns when each handler fired.
  private func run(_ wheel: TimerWheel, from start: Int64, until end: Int64) -> [(handler: EventHandler, at: Int64)] {
    var fired: [(EventHandler, Int64)] = []
    var now = start
    while let delay = wheel.delay(from: now), now + delay <= end {
      now += max(delay, 1)
      wheel.advance(to: now) { fired.append(($0, now)) }
    }
    return fired
  }

  @Test(
    "a handler fires once, never early and at most a tick late",
    arguments: [1, 15, 16, 17, 250, 1_000, 1_024, 1_040, 5_000, 65_000, 66_000, 75_000, 3_600_000, 90_000_000])
  func firesOnTime(milliseconds: Int64) {
    for offset: Int64 in [0, 7_000_000, 16_368_000_000, 1_048_560_000_003] {
      let start = 1_000_000_000_000 + offset
      let wheel = TimerWheel(now: start)
      let probe = Probe()
      probe.deadline = start + milliseconds * 1_000_000
      wheel.insert(probe)
      let deadline = probe.deadline
      let fired = run(wheel, from: start, until: deadline + 10 * TimerWheel.tick)
      #expect(fired.count == 1)
      if let at = fired.first?.at {
        #expect(at >= deadline)
        #expect(at - deadline <= 2 * TimerWheel.tick)
      }
    }
  }

  @Test("a deadline that moved to later is looked at again, not fired") func lazyExtension() {
    let start: Int64 = 5_000_000_000
    let wheel = TimerWheel(now: start)
    let probe = Probe()
    probe.deadline = start + 1_000_000_000
    wheel.insert(probe)
    probe.deadline = start + 3_000_000_000
    #expect(probe.timerLooks <= probe.deadline)
    #expect(probe.timerLooks > start + 100_000_000)
    let fired = run(wheel, from: start, until: start + 10_000_000_000)
    #expect(fired.map(\.at).allSatisfy { $0 >= start + 3_000_000_000 })
    #expect(fired.count == 1)
  }

  @Test("a removed handler never fires and an emptied wheel has nothing to wait for") func removal() {
    let wheel = TimerWheel(now: 0)
    let probes = (0..<100).map { _ in Probe() }
    for (index, probe) in probes.enumerated() {
      probe.deadline = Int64(index + 1) * 700_000_000
      wheel.insert(probe)
    }
    for probe in probes { wheel.remove(probe) }
    #expect(wheel.delay(from: 0) == nil)
  }
}
