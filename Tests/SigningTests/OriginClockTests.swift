import Credentials
import Testing

@testable import Signing

@Suite("The clock of an origin")
struct OriginClockTests {
  private func corrected(_ offset: Int64, _ clocks: inout OriginClocks<String>, uncertainty: Int64 = 0, used: Int64 = 0) -> Bool
  {
    clocks.correct(ClockReading(offset: offset, uncertainty: uncertainty), from: "a", used: used)
  }

  @Test("is taken where it differs by more than is tolerated")
  func bounds() {
    for (offset, taken) in [
      (0, false), (239, false), (240, false), (241, true), (-240, false), (-241, true), (3_600, true), (-3_600, true),
      (86_399, true),
    ] as [(Int64, Bool)] {
      var clocks = OriginClocks<String>(tolerance: 240)
      #expect(corrected(offset, &clocks) == taken, "\(offset)")
      #expect(clocks.offset(of: "a") == (taken ? offset : 0))
      #expect(clocks.offset(of: "b") == 0)
    }
  }

  @Test("is not taken of an answer so slow that the difference may be its own")
  func slow() {
    var clocks = OriginClocks<String>(tolerance: 240)
    #expect(!corrected(540, &clocks, uncertainty: 300))
    #expect(corrected(541, &clocks, uncertainty: 300))
  }

  @Test("is not taken twice for the same difference, and again when ours was set right")
  func again() {
    var clocks = OriginClocks<String>(tolerance: 240)
    #expect(corrected(3_600, &clocks))
    #expect(!corrected(3_650, &clocks, used: 3_600))
    #expect(corrected(0, &clocks, used: 3_600))
    #expect(clocks.offset(of: "a") == 0)
  }

  @Test("is news for every request that was signed with another time")
  func parallel() {
    var clocks = OriginClocks<String>(tolerance: 240)
    for offset in [3_600, 3_601, 3_599] as [Int64] { #expect(corrected(offset, &clocks)) }
    #expect(clocks.offset(of: "a") == 3_600)
    #expect(!corrected(3_600, &clocks, used: 3_600))
  }

  @Test("is forgotten for one of very many origins, which is corrected again")
  func many() {
    var clocks = OriginClocks<Int>(tolerance: 240)
    for origin in 0..<1_100 {
      let isTaken = clocks.correct(ClockReading(offset: 600), from: origin, used: 0)
      #expect(isTaken)
    }
    #expect((0..<1_100).count { clocks.offset(of: $0) == 600 } == 1_024)
  }
}
