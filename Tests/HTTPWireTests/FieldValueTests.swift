import HTTPWire
import Testing

@Suite("Single fields")
struct FieldValueTests {
  @Test(
    "Expect is 100-continue, something unknown, or nothing",
    arguments: [
      ("1.1", "A: b", HTTPWire.Expectation.none), ("1.1", "Expect: 100-Continue", .continue),
      ("1.0", "Expect: 100-continue", .none),
      ("1.1", "Expect: 200-ok", .unknown), ("1.1", "Expect: 100-continue, x", .unknown), ("1.1", "Expect:", .none),
      ("1.1", "Expect: 100-continue\r\nExpect: 100-continue", .continue),
    ])
  func expect(version: String, fields: String, expectation: HTTPWire.Expectation) {
    let request = ParsedRequest(fields: fields, version: version)
    #expect(request.bytes.withUnsafeBytes { request.head.expectation(in: $0) } == expectation)
  }

  @Test(
    "Upgrade counts where Connection names it, in HTTP/1.1",
    arguments: [
      ("1.1", "Upgrade: websocket\r\nConnection: keep-alive, Upgrade", "websocket"), ("1.1", "Upgrade: websocket", nil),
      ("1.0", "Upgrade: websocket\r\nConnection: upgrade", nil), ("1.1", "Connection: upgrade", nil),
      ("1.1", "Connection: upgrade\r\nUpgrade: , a/1, b", "a/1"),
    ] as [(String, String, String?)])
  func upgrade(version: String, fields: String, token: String?) {
    let request = ParsedRequest(fields: fields, version: version)
    #expect(request.bytes.withUnsafeBytes { request.head.upgradeToken(in: $0) }.map { request.text($0) } == token)
  }

  @Test("a 101 names what it switches to")
  func switched() {
    let response = ParsedResponse(status: "101 Switching", fields: "Connection: upgrade\r\nUpgrade: websocket")
    #expect(response.bytes.withUnsafeBytes { response.head.upgradeToken(in: $0) }.map { response.text($0) } == "websocket")
  }

  @Test(
    "Via shows a loop when a member was received by us",
    arguments: [
      ("Via: 1.1 authproxy", true), ("Via: 1.0 fred, 1.1 AuthProxy (x)", true),
      ("Via: 1.0 fred\r\nVia: HTTP/1.1 authproxy", true),
      ("Via: 1.1\tauthproxy(x)", true), ("Via: 1.0 x (, 1.1 authproxy", true), ("Via: 1.0 x \", 1.1 authproxy", true),
      ("Via: 1.1 authproxy2", false), ("Via: 1.1 fred (authproxy)", false), ("Via: authproxy", false),
      ("Via: 1.1 authproxy:80", false),
      ("Via:", false), ("X-Via: 1.1 authproxy", false),
    ])
  func via(fields: String, loop: Bool) {
    let request = ParsedRequest(fields: fields)
    #expect(request.bytes.withUnsafeBytes { request.head.passed(Array("authproxy".utf8), in: $0) } == loop)
  }

  @Test(
    "Content-Type is an event stream with parameters or without",
    arguments: [
      ("Content-Type: text/event-stream", true), ("Content-Type: Text/Event-Stream ; charset=utf-8", true),
      ("Content-Type: text/event-stream;", true), ("Content-Type: text/event-streams", false),
      ("Content-Type: text/event-stream\t ;x", true), ("Content-Type: text/event-stream x", false),
      ("Content-Type: text/event-stream ,", false), ("Content-Type: text/event-strea;", false),
      ("Content-Type: text/html", false),
      ("A: text/event-stream", false), ("Content-Type:", false),
    ])
  func eventStream(fields: String, isEventStream: Bool) {
    let response = ParsedResponse(fields: fields)
    #expect(response.bytes.withUnsafeBytes { response.head.isEventStream(in: $0) } == isEventStream)
  }

  @Test(
    "Retry-After is seconds or a date",
    arguments: [
      ("Retry-After: 120", 120), ("Retry-After: 0", 0), ("Retry-After: Sun, 06 Nov 1994 08:49:47 GMT", 10),
      ("Retry-After: Sun, 06 Nov 1994 08:49:00 GMT", 0), ("Retry-After: -1", nil), ("Retry-After: 1.5", nil),
      ("Retry-After: soon", nil), ("Retry-After:", nil), ("A: b", nil), ("Retry-After: 99999999999999999999", .max),
      ("Retry-After: 99999999999999999999000000", .max),
    ] as [(String, Int64?)])
  func retryAfter(fields: String, seconds: Int64?) {
    let response = ParsedResponse(fields: fields)
    #expect(response.bytes.withUnsafeBytes { response.head.retryAfter(now: 784_111_777, in: $0) } == seconds)
  }

  @Test("Max-Forwards is a number or nothing")
  func maxForwards() {
    func value(_ fields: String) -> Int? {
      let request = ParsedRequest(fields: fields)
      return request.bytes.withUnsafeBytes { request.head.maxForwards(in: $0) }
    }
    #expect(value("Max-Forwards: 3") == 3)
    #expect(value("Max-Forwards: 3x") == nil)
    #expect(value("A: b") == nil)
  }

  @Test("Proxy-Status loses the members that an upstream forged under our name")
  func proxyStatus() {
    func rewritten(_ value: String) -> String {
      let response = ParsedResponse(fields: "proxy-status: \(value)")
      return response.bytes.withUnsafeBytes { bytes in
        written { $0.append(listField: response.head.fields[0], without: Array("authproxy".utf8), in: bytes) }
      }
    }
    #expect(rewritten("other; error=x") == "proxy-status: other; error=x\r\n")
    #expect(rewritten("authproxy; error=http_request_denied") == "")
    #expect(
      rewritten("cdn;details=\"a, authproxy\" , \"AuthProxy\";error=x,last")
        == "proxy-status: cdn;details=\"a, authproxy\", last\r\n")
    #expect(rewritten("authproxy2, authprox") == "proxy-status: authproxy2, authprox\r\n")
    #expect(rewritten("a, \"auth\\proxy\"") == "proxy-status: a\r\n")
    // If a string is not closed, the members are ambiguous.
    #expect(rewritten("a; details=\"x, authproxy; error=y") == "")
  }

  @Test("list members come without white space and empty ones")
  func members() {
    func all(_ text: String, quotedStrings: Bool = false) -> [String] {
      Array(text.utf8).withUnsafeBytes { bytes in
        var members = ListMembers(ByteSlice(start: 0, count: bytes.count), in: bytes, quotedStrings: quotedStrings)
        var found: [String] = []
        while let member = members.next() { found.append(String(decoding: member.bytes(in: bytes), as: UTF8.self)) }
        return found
      }
    }
    #expect(all("") == [])
    #expect(all(" , ,,\t") == [])
    #expect(all("a") == ["a"])
    #expect(all(" a ,b c\t,,d, ") == ["a", "b c", "d"])
    #expect(all("a \"b, c\" d, e") == ["a \"b", "c\" d", "e"])
    #expect(all("a \"b, \\\", c\" d, e", quotedStrings: true) == ["a \"b, \\\", c\" d", "e"])
    #expect(all("\"a\\", quotedStrings: true) == ["\"a\\"])
  }
}

@Suite("An HTTP date")
struct HTTPDateTests {
  private func parsed(_ text: String, now: Int64 = 1_700_000_000) -> Int64? {
    Array(text.utf8).withUnsafeBytes { parseHTTPDate($0, now: now) }
  }

  @Test(
    "is read in its three forms (RFC 9110 section 5.6.7)",
    arguments: [
      ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
      ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
      ("Wed, 31 Dec 1969 23:59:59 GMT", -1), ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000),
      ("Fri, 01 Mar 2024 00:00:00 GMT", 1_709_251_200), ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
      ("Friday, 01-Jan-38 00:00:00 GMT", 2_145_916_800), ("Mon Dec 25 00:00:00 2023", 1_703_462_400),
      ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
    ])
  func read(text: String, seconds: Int64) { #expect(parsed(text) == seconds) }

  @Test(
    "is nothing else",
    arguments: [
      "", "Sun", "Sun,", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 6 Nov 1994 08:49:37 GMT",
      "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 31 Jun 1994 08:49:37 GMT", "Sun, 00 Jun 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
      "Sun, 06 Nov 1994 08:49:37 GMTx", "Sunday, 06-Nov-1994 08:49:37 GMT", "Sun Nov 6 08:49:37 1994", "1994-11-06T08:49:37Z",
      "Sun Nov  6 08:49:37 1994 ", "784111777", ",,,,", "Sun, +6 Nov 1994 08:49:37 GMT", "Wed, 29 Feb 2023 00:00:00 GMT",
      "Thu, 29 Feb 1900 00:00:00 GMT",
    ])
  func refused(text: String) { #expect(parsed(text) == nil) }

  @Test("is written as IMF-fixdate, and read back the same for 300 years")
  func roundTrip() {
    #expect(written { $0.append(httpDate: 784_111_777) } == "Sun, 06 Nov 1994 08:49:37 GMT")
    #expect(written { $0.append(httpDate: 1_709_208_000) } == "Thu, 29 Feb 2024 12:00:00 GMT")
    #expect(written { $0.append(httpDate: -1) } == "Wed, 31 Dec 1969 23:59:59 GMT")
    for day in stride(from: Int64(-20_000), to: 90_000, by: 17) {
      let time = day * 86_400 + (day * 7919 % 86_400 + 86_400) % 86_400
      let text = written { $0.append(httpDate: time) }
      #expect(text.utf8.count == 29)
      #expect(parsed(text) == time)
      #expect(isWritten(text, time))
    }
  }

  private func isWritten(_ text: String, _ time: Int64) -> Bool {
    Array(text.utf8).withUnsafeBytes { isFixdate($0, of: time) }
  }

  @Test("is IMF-fixdate byte for byte, except for the day's name, which nobody needs")
  func eachByte() {
    let text = Array("Sun, 06 Nov 1994 08:49:37 GMT".utf8)
    for index in text.indices {
      for byte in [UInt8(ascii: "x"), 0x2f, 0x3a, 0xff, text[index] ^ 0x20] where byte != text[index] {
        var changed = text
        changed[index] = byte
        let (read, isSame) = changed.withUnsafeBytes { (parseHTTPDate($0, now: 0), isFixdate($0, of: 784_111_777)) }
        #expect((read == 784_111_777) == (index < 3), "\(index): \(byte)")
        if index < 3 { #expect(!isSame) }
      }
    }
    #expect(parsed("Sat, 01 Jan 0000 00:00:00 GMT") == -62_167_219_200)
    #expect(parsed("Tue, 29 Feb 0000 00:00:00 GMT") == -62_167_219_200 + 59 * 86_400)
  }

  @Test(
    "that is not as the proxy would write it is known",
    arguments: [
      "Mon, 06 Nov 1994 08:49:37 GMT", "sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
      "Sun Nov  6 08:49:37 1994", "Sat, 31 Dec 2016 23:59:60 GMT",
    ])
  func otherForms(text: String) throws { #expect(!isWritten(text, try #require(parsed(text)))) }
}
