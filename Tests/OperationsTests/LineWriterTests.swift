import EventIO
import Testing

@testable import Operations

@Suite struct LineWriterTests {
  private func line(json: Bool, appendingTo bytes: [UInt8] = [], _ add: (inout LineWriter) -> Void) -> String {
    var writer = LineWriter(json: json, appendingTo: bytes)
    add(&writer)
    return String(decoding: writer.finish(), as: UTF8.self)
  }

  @Test(
    arguments: [
      ("127.0.0.1", 0, "127.0.0.1:0"), ("255.254.10.9", 65_535, "255.254.10.9:65535"), ("::1", 80, "[::1]:80"),
      ("::ffff:1.2.3.4", 80, "[::ffff:1.2.3.4]:80"),
    ] as [(String, UInt16, String)])
  func `an address is written as its description`(_ literal: String, _ port: UInt16, _ text: String) throws {
    let address = try #require(Address(literal: literal, port: port))
    #expect(address.description == text)
    #expect(line(json: true) { $0.add("peer", address) } == "{\"peer\":\"\(text)\"}\n")
    #expect(line(json: false) { $0.add("peer", address) } == "peer=\(text)\n")
  }

  @Test func `a unix socket's path is escaped`() {
    let address = Address(unixPath: "/run/a \"b\"")
    #expect(line(json: true) { $0.add("peer", address) } == #"{"peer":"unix:/run/a \"b\""}"# + "\n")
  }

  @Test(arguments: [0, 7, 10, -1, 1_234_567_890, .max, .min])
  func `numbers are decimal`(_ number: Int64) {
    #expect(line(json: true) { $0.add("n", number) } == "{\"n\":\(number)}\n")
  }

  @Test func `times have milliseconds, whichever was written before`() {
    var clock = TimestampClock()
    let times: [(Int64, String)] = [
      (0, "1970-01-01T00:00:00.000Z"), (999_999_999, "1970-01-01T00:00:00.999Z"), (1_000_000_000, "1970-01-01T00:00:01.000Z"),
      (1_796_169_600_045_000_000, "2026-12-02T00:00:00.045Z"), (1_796_169_600_009_999_999, "2026-12-02T00:00:00.009Z"),
    ]
    for (time, text) in times {
      #expect(line(json: true) { $0.add("time", clock.at(nanosecondsSince1970: time)) } == "{\"time\":\"\(text)\"}\n")
    }
    #expect(line(json: false) { $0.add("time", clock.at(nanosecondsSince1970: 0)) } == "time=1970-01-01T00:00:00.000Z\n")
  }

  @Test func `lines follow one another in one buffer`() {
    #expect(line(json: false, appendingTo: Array("a=1\n".utf8)) { $0.add("b", true) } == "a=1\nb=true\n")
  }
}
