import Settings
import Testing

@testable import ConfigurationFile

@Suite("Units, names and dates")
struct UnitTests {
  @Test(
    "durations are milliseconds",
    arguments: [("250ms", 250), ("30s", 30_000), ("5m", 300_000), ("1h", 3_600_000), ("0s", 0), ("8784h", 31_622_400_000)])
  func durations(_ text: String, _ milliseconds: Int) throws { #expect(try Units.duration(text) == milliseconds) }

  @Test(
    "durations are written in the largest unit that divides them",
    arguments: [(0, "0s"), (250, "250ms"), (1500, "1500ms"), (90_000, "90s"), (300_000, "5m"), (3_600_000, "1h")])
  func writtenDurations(_ milliseconds: Int, _ text: String) throws {
    #expect(Units.text(duration: milliseconds) == text)
    #expect(try Units.duration(text) == milliseconds)
  }

  @Test(
    "what is no duration is an error",
    arguments: ["", "s", "30", "-1s", "+1s", "1.5s", "1 s", "1S", "1d", "1_000ms", "9000h", "99999999999999999999ms", "１s"])
  func noDurations(_ text: String) { #expect(throws: UnitError.self) { try Units.duration(text) } }

  @Test(
    "what lasts long may be written in days",
    arguments: [("90d", 7_776_000_000), ("12h", 43_200_000), ("366d", 31_622_400_000)])
  func longDurations(_ text: String, _ milliseconds: Int) throws { #expect(try Units.longDuration(text) == milliseconds) }

  @Test("what is no long duration is an error", arguments: ["", "d", "90", "90D", "1.5d", "367d", "12w"])
  func noLongDurations(_ text: String) { #expect(throws: UnitError.self) { try Units.longDuration(text) } }

  @Test(
    "sizes are bytes",
    arguments: [("512B", 512), ("64KiB", 65_536), ("10MiB", 10_485_760), ("1GiB", 1 << 30), ("1kB", 1000), ("1MB", 1_000_000)])
  func sizes(_ text: String, _ bytes: Int) throws { #expect(try Units.size(text) == bytes) }

  @Test(
    "what is no size is an error", arguments: ["", "B", "64", "64K", "64kib", "-1B", "1.5MiB", "9999999999999GiB", "0x10B"])
  func noSizes(_ text: String) { #expect(throws: UnitError.self) { try Units.size(text) } }

  @Test(
    "what is no whole number is an error",
    arguments: ["", "1e3", "0x10", "-1", "+1", "1.0", "1_0", " 1", "99999999999999999999"])
  func noNumbers(_ text: String) { #expect(throws: UnitError.self) { try Units.integer(text) } }

  @Test(
    "the nearest name is suggested, and none that is far",
    arguments: [
      ("pasword", "password"), ("Password", "password"), ("passwrod", "password"), ("user-name", "username"),
      ("usrname", "username"),
      ("tokens", "token"), ("tpken", "token"), ("secret", nil), ("", nil), ("x", nil), ("passphrase", nil),
    ])
  func suggestions(_ written: String, _ meant: String?) {
    #expect(Suggestion.nearest(to: written, among: ["username", "password", "token"]) == meant)
  }

  @Test(
    "days end at midnight in UTC, times are exact",
    arguments: [
      ("1970-01-01", 86_400), ("2027-06-01", 1_811_894_400), ("2024-02-29", 1_709_251_200),
      ("2027-06-01T12:00:00Z", 1_811_851_200),
      ("2100-03-01", 4_107_628_800), ("2027-02-29", nil), ("2100-02-29", nil), ("2027-13-01", nil), ("2027-6-1", nil),
      ("1969-12-31", nil), ("2027-06-01 12:00:00", nil), ("2027-06-01T24:00:00Z", nil), ("2027-06-01T12:00:00+", nil),
      ("never", nil),
    ] as [(String, Int64?)])
  func dates(_ text: String, _ seconds: Int64?) { #expect(UTCDate.parse(text) == seconds) }

  @Test(
    "a day is printed as it is written",
    arguments: [
      (0, "1970-01-01"), (86_399, "1970-01-01"), (1_709_251_199, "2024-02-29"), (1_709_251_200, "2024-03-01"),
      (1_811_894_400, "2027-06-02"), (253_402_300_799, "9999-12-31"), (.max, "9999-12-31"), (-1, "1970-01-01"),
    ] as [(Int64, String)])
  func days(_ seconds: Int64, _ text: String) { #expect(UTCDate.text(seconds) == text) }
}
