import Foundation
import Testing

@testable import Credentials

/// Every interleaving of one refresh with a fault at every step, as far as seeds go. A failure prints its schedule, which repeats it.
@Suite("A simulated fleet")
struct SimulationTests {
  private static func number(_ name: String) -> UInt64? { ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) } }
  /// `AUTHPROXY_SCHEDULES` multiplies the seeds of each fault, server and step; `AUTHPROXY_SEED` is the first one.
  private static let factor = number("AUTHPROXY_SCHEDULES") ?? 1
  private static let first = number("AUTHPROXY_SEED") ?? 0
  /// More than ten thousand schedules of all faults.
  private static let seeds: UInt64 = 17
  private static let steps = 48

  private static func schedules(_ fault: Schedule.Fault, seeds: UInt64) -> [Schedule] {
    var all: [Schedule] = []
    for seed in first..<(first + seeds) {
      for server in Schedule.Server.allCases {
        for step in Schedule.delivery..<(fault == .none ? 3 : steps) {
          var random = SeededRandom(seed &* 7_919 &+ UInt64(step + 1))
          var schedule = Schedule(seed: random.next())
          schedule.processes = 2 + Int(random.within(0...3))
          schedule.server = server
          schedule.fault = fault
          schedule.step = step
          schedule.duration = random.happens(in: 40) ? random.within(12_000...16_000) : random.within(200...4_000)
          schedule.startsEmpty = random.happens(in: 30)
          schedule.losses = random.happens(in: 30) ? 10 : 0
          schedule.hasRefusals = random.happens(in: 30)
          schedule.isLate = schedule.hasRefusals && step >= 0 && random.happens(in: 50)
          if fault != .none, random.happens(in: 40) {
            let faults = Schedule.Fault.allCases.dropFirst()
            schedule.second = .init(
              fault: faults[1 + Int(random.within(0...Int64(faults.count - 1)))],
              moment: [.lostWrite, .lostWrites, .flush].contains(fault) ? .putBack : .takenOver,
              delay: Int(random.within(0...9)))
          }
          all.append(schedule)
        }
      }
    }
    return all
  }

  @Test(
    "no fault at any step has a refresh token used twice but as the design says, and the newest is never lost",
    arguments: Schedule.Fault.allCases)
  func everyStep(fault: Schedule.Fault) {
    var seen: Set<Simulation.Occurrence> = []
    let schedules = Self.schedules(fault, seeds: Self.seeds * Self.factor)
    print("\(schedules.count) schedules with \(fault.rawValue) from seed \(Self.first) on")
    for schedule in schedules {
      let simulation = Simulation(schedule)
      simulation.run()
      seen.formUnion(simulation.seen)
      guard !simulation.findings.isEmpty else { continue }
      let again = Simulation(schedule)
      again.isLogging = true
      again.run()
      Issue.record("\(schedule): \(simulation.findings.map(\.rawValue))\n\(again.log.joined(separator: "\n"))")
      return
    }
    let rare: [Schedule.Fault: Set<Simulation.Occurrence>] = [
      .none: [.adopted, .claimLost], .kill: [.takenOver, .operatorNeeded, .secondUse, .struckTwice],
      .cut: [.takenOver, .unsaved, .superseded, .secondUse, .struckTwice],
      .freeze: [.takenOver, .superseded, .secondUse, .struckTwice],
      .lostWrite: [.putBack, .secondUse, .struckTwice],
      .lostWrites: [.putBack, .secondUse, .struckTwice], .flush: [.putBack, .secondUse, .struckTwice], .down: [.unsaved],
    ]
    let missing = (rare[fault] ?? []).subtracting(seen)
    #expect(missing.isEmpty, "the schedules have become too tame")
  }

  @Test(
    "a rule that is missing is noticed",
    arguments: [
      (Plant.noClaim, Schedule.Fault.none, Finding.presentedTwice), (.shortClaim, .none, .presentedTwice),
      (.saveFencedByHolder, .cut, .presentedTwice), (.blindSave, .freeze, .wentBack),
      (.refusalUnread, .cut, .refusalBelieved), (.noPutBack, .lostWrite, .presentedTwice), (.ownClock, .none, .wrongExpiry),
      (.spentWhileDown, .down, .presentedWithoutClaim),
    ])
  func planted(plant: Plant, fault: Schedule.Fault, finding: Finding) {
    for var schedule in Self.schedules(fault, seeds: 40) {
      // Rare enough to be arranged: the holder comes back while another one holds a claim whose request gets lost.
      if plant == .saveFencedByHolder {
        (schedule.step, schedule.losses) = (Schedule.delivery, 50)
        schedule.duration = 12_000 + schedule.duration % 2_000
      }
      let simulation = Simulation(schedule, plant: plant)
      simulation.run()
      if simulation.findings.contains(finding) { return }
    }
    Issue.record("\(plant) was not noticed")
  }
}
