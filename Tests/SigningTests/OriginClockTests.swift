import HTTPWire
import Testing

@testable import Signing

@Suite("The clock of an origin")
struct OriginClockTests {
  private static let now: Int64 = 1_780_000_000

  private func corrected(_ date: Int64, _ clocks: inout OriginClocks<String>, now: Int64 = now) -> Bool {
    clocks.correct(to: date, from: "a", at: now)
  }

  @Test("is taken where it differs by more than is tolerated, and by less than a day")
  func bounds() {
    for (offset, taken) in [
      (0, false), (239, false), (240, false), (241, true), (-240, false), (-241, true), (3_600, true), (-3_600, true),
      (86_399, true),
      (86_400, false), (-86_400, false), (1 << 40, false),
    ] as [(Int64, Bool)] {
      var clocks = OriginClocks<String>(tolerance: 240)
      #expect(corrected(Self.now + offset, &clocks) == taken, "\(offset)")
      #expect(clocks.time(for: "a", at: Self.now + 5) == Self.now + 5 + (taken ? offset : 0))
      #expect(clocks.time(for: "b", at: Self.now) == Self.now)
    }
  }

  @Test("is no time before 2020, whatever our clock says")
  func neverSet() {
    var clocks = OriginClocks<String>(tolerance: 240)
    #expect(!corrected(1_000, &clocks, now: 2_000))
    #expect(!corrected(1_577_836_799, &clocks, now: 1_577_836_000))
    #expect(corrected(1_577_836_800, &clocks, now: 1_577_836_000))
  }

  @Test("is not taken twice for the same difference, and again when ours was set right")
  func again() {
    var clocks = OriginClocks<String>(tolerance: 240)
    #expect(corrected(Self.now + 3_600, &clocks))
    #expect(!corrected(Self.now + 3_700, &clocks, now: Self.now + 50))
    #expect(corrected(Self.now + 3_600, &clocks, now: Self.now + 3_600))
    #expect(clocks.offset(of: "a") == 0)
  }

  @Test("is read from Date alone, and not where Age says that it is old")
  func heads() {
    func later(_ lines: String) -> Bool {
      Array("HTTP/1.1 403 x\r\n\(lines)\r\n".utf8).withUnsafeBytes { bytes in
        var head = ResponseHead()
        var clocks = OriginClocks<String>(tolerance: 240)
        guard case .complete = head.parse(bytes, limit: 4_096) else { return false }
        return clocks.correct(by: head, in: bytes, from: "a", at: Self.now)
      }
    }
    let near = "Date: Thu, 28 May 2026 21:26:40 GMT\r\n"
    #expect(later(near))
    #expect(!later(near + "Age: 0\r\n"))
    #expect(!later(near + near))
    #expect(!later("Date: soon\r\n"))
    #expect(!later("Server: x\r\n"))
    #expect(!later("Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n"))
  }
}
