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
    "what is no duration is an error",
    arguments: ["", "s", "30", "-1s", "+1s", "1.5s", "1 s", "1S", "1d", "1_000ms", "9000h", "99999999999999999999ms", "１s"])
  func noDurations(_ text: String) { #expect(throws: UnitError.self) { try Units.duration(text) } }

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
  func dates(_ text: String, _ seconds: Int64?) { #expect(ExpiryDate.parse(text) == seconds) }

  @Test(
    "SHA-256 agrees with FIPS 180-4's examples",
    arguments: [
      ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
      (
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
      ),
      (String(repeating: "a", count: 1000), "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"),
    ])
  func digest(_ text: String, _ hex: String) {
    let digest = ContentDigest.sha256(Array(text.utf8))
    #expect(
      digest.map { byte in String(byte, radix: 16).count == 1 ? "0" + String(byte, radix: 16) : String(byte, radix: 16) }
        .joined() == hex)
  }

  @Test("base64 has one text for one value", arguments: ["A", "AA", "AA=", "AB==", "AAB=", "AA==A", "A===", "A A=", "AA-_"])
  func base64(_ text: String) { #expect(Base64.decode(text.utf8) == nil) }

  @Test("base64 comes back as it went", arguments: 0..<20)
  func base64RoundTrip(_ count: Int) {
    let bytes = (0..<count).map { UInt8($0 * 37 & 0xff) }
    #expect(Base64.decode(Base64.encode(bytes).utf8) == bytes)
  }
}
