import Credentials
import HTTPWire
import Testing

@testable import Signing

@Suite struct AnswerDateTests {
  private func reading(_ fields: String, status: Int = 401, sent: Int64 = 1_700_000_000, received: Int64 = 1_700_000_004)
    -> ClockReading?
  {
    let bytes = Array("HTTP/1.1 \(status) x\r\n\(fields)\r\n".utf8)
    return bytes.withUnsafeBytes { bytes in
      var head = ResponseHead()
      guard head.parse(bytes, limit: 4096) == .complete else { return ClockReading(offset: -1) }
      return AnswerDate.reading(status: head.status, fields: head.fields, in: bytes, sent: sent, received: received)
    }
  }

  private func offset(_ fields: String, status: Int = 401, sent: Int64 = 1_700_000_000, received: Int64 = 1_700_000_004)
    -> Int64?
  { reading(fields, status: status, sent: sent, received: received)?.offset }

  @Test func `the difference is to the middle of the exchange`() {
    #expect(offset("Date: Tue, 14 Nov 2023 22:13:22 GMT\r\n") == 0)
    #expect(offset("Date: Tue, 14 Nov 2023 23:13:22 GMT\r\n") == 3600)
    #expect(offset("Date: Tue, 14 Nov 2023 21:13:22 GMT\r\n", status: 403) == -3600)
    #expect(offset("Date: Tue, 14 Nov 2023 22:13:22 GMT\r\n", status: 400) == 0)
  }

  @Test func `what cannot be believed tells nothing`() {
    for (fields, status) in [
      ("", 401), ("Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n", 401), ("Date: yesterday\r\n", 401),
      ("Date: Tue, 14 Nov 2023 23:13:22 GMT\r\nAge: 3\r\n", 401), ("Date: Wed, 15 Nov 2023 22:13:22 GMT\r\n", 401),
      ("Date: Tue, 14 Nov 2023 23:13:22 GMT\r\nDate: Tue, 14 Nov 2023 23:13:22 GMT\r\n", 401),
      ("Date: Tue, 14 Nov 2023 23:13:22 GMT\r\n", 200), ("Date: Tue, 14 Nov 2023 23:13:22 GMT\r\n", 500),
    ] {
      #expect(offset(fields, status: status) == nil, "\(status) \(fields)")
    }
    #expect(offset("Date: Tue, 31 Dec 2019 23:59:59 GMT\r\n", sent: 1_577_836_800, received: 1_577_836_800) == nil)
  }

  @Test func `an hour's difference is known to half of the exchange, whichever end the clock was read at`() {
    let date = "Date: Tue, 14 Nov 2023 23:13:20 GMT\r\n"
    #expect(reading(date) == ClockReading(offset: 3_598, uncertainty: 2))
    #expect(reading(date, received: 1_700_000_000) == ClockReading(offset: 3_600))
    #expect(reading(date, received: 1_700_000_601) == ClockReading(offset: 3_300, uncertainty: 301))
    // Its request was not sent whole when it came.
    #expect(reading(date, sent: 1_700_000_009) == ClockReading(offset: 3_596))
  }

  @Test func `an answer of ten minutes does not look like a wrong clock, at its start or at its end`() throws {
    for date in ["22:13:20", "22:18:20", "22:23:20"] {
      let told = try #require(reading("Date: Tue, 14 Nov 2023 \(date) GMT\r\n", received: 1_700_000_600))
      #expect(!told.differs(from: 0, by: 30), "\(date)")
    }
    let late = try #require(reading("Date: Tue, 14 Nov 2023 22:24:00 GMT\r\n", received: 1_700_000_600))
    #expect(late.differs(from: 0, by: 30) && !late.differs(from: 0, by: 240))
  }
}
