import HTTPWire
import Testing

@Suite("A response's head")
struct ResponseHeadTests {
  @Test("is understood: status, reason, version, fields, length")
  func typical() {
    let text = "HTTP/1.1 404 Not  Found\r\nServer: x\r\nSet-Cookie: a\r\nset-cookie: b\r\n\r\nbody"
    let response = ParsedResponse(text)
    #expect(response.outcome == .complete)
    #expect(response.head.status == 404)
    #expect(response.text(response.head.reason) == "Not  Found")
    #expect(response.head.minorVersion == 1)
    #expect(response.head.fields.map(\.id) == [.server, .setCookie, .setCookie])
    #expect(response.head.length == text.utf8.count - 4)
  }

  @Test(
    "may lack a reason, and its space too",
    arguments: [
      ("HTTP/1.1 200 \r\n\r\n", ""), ("HTTP/1.1 200\r\n\r\n", ""), ("HTTP/1.0 200 caf\u{e9}\tx\r\n\r\n", "caf\u{e9}\tx"),
      ("HTTP/1.9 200 OK\r\n\r\n", "OK"),
    ])
  func reasons(text: String, reason: String) {
    let response = ParsedResponse(text)
    #expect(response.outcome == .complete)
    #expect(response.head.status == 200)
    #expect(response.text(response.head.reason) == reason)
  }

  @Test("tells interim answers from 101")
  func interim() {
    let interim = ["100", "101", "102", "103", "200", "404"].map { ParsedResponse("HTTP/1.1 \($0) x\r\n\r\n").head.isInterim }
    #expect(interim == [true, false, true, true, false, false])
  }

  static let malformed: [(String, String, HeadError)] = [
    ("no version", "200 OK\r\n\r\n", .httpVersion), ("another protocol", "ICY 200 OK\r\n\r\n", .httpVersion),
    ("HTTP/2", "HTTP/2 200\r\n\r\n", .unsupportedVersion), ("HTTP/0.9", "HTTP/0.9 200 OK\r\n\r\n", .unsupportedVersion),
    ("empty line first", "\r\nHTTP/1.1 200 OK\r\n\r\n", .httpVersion),
    ("two spaces", "HTTP/1.1  200 OK\r\n\r\n", .statusLine), ("two digits", "HTTP/1.1 20 OK\r\n\r\n", .statusLine),
    ("four digits", "HTTP/1.1 2000 OK\r\n\r\n", .statusLine), ("status below 100", "HTTP/1.1 099 OK\r\n\r\n", .statusLine),
    ("letters", "HTTP/1.1 2xx OK\r\n\r\n", .statusLine), ("sign", "HTTP/1.1 +20 OK\r\n\r\n", .statusLine),
    ("tab", "HTTP/1.1\t200 OK\r\n\r\n", .statusLine), ("tab before the reason", "HTTP/1.1 200\tOK\r\n\r\n", .statusLine),
    ("bare LF after the reason", "HTTP/1.1 200 OK\nA: b\r\n\r\n", .bareLF),
    ("bare LF after the status", "HTTP/1.1 200\nA: b\r\n\r\n", .bareLF),
    ("bare CR in the reason", "HTTP/1.1 200 O\rK\r\n\r\n", .bareCR),
    ("NUL in the reason", "HTTP/1.1 200 O\0K\r\n\r\n", .nul),
    ("control in the reason", "HTTP/1.1 200 O\u{8}K\r\n\r\n", .control),
    ("bare LF between fields", "HTTP/1.1 200 OK\r\nA: b\nB: c\r\n\r\n", .bareLF),
    ("bare LF as the end", "HTTP/1.1 200 OK\r\nA: b\r\n\n", .bareLF),
    ("folded", "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", .foldedLine),
    ("space before the colon", "HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\n", .spaceBeforeColon),
    ("name that is no token", "HTTP/1.1 200 OK\r\n<a>: 5\r\n\r\n", .fieldName),
    ("line without a colon", "HTTP/1.1 200 OK\r\nhello\r\n\r\n", .missingColon),
    ("NUL in a value", "HTTP/1.1 200 OK\r\nA: \0\r\n\r\n", .nul),
  ]

  @Test("is refused", arguments: malformed)
  func refused(what: String, text: String, error: HeadError) {
    #expect(ParsedResponse(text).outcome == .invalid(error), "\(what)")
    let bytes = Array(text.utf8)
    var head = ResponseHead()
    var outcome = HeadOutcome.incomplete
    for count in 1...bytes.count where outcome == .incomplete {
      outcome = bytes[..<count].withUnsafeBytes { head.parse($0, limit: 1000) }
    }
    #expect(outcome == .invalid(error), "\(what), byte by byte")
  }

  @Test("that trickles in byte by byte is the same head")
  func trickle() {
    let whole = ParsedResponse("HTTP/1.1 200 All  right\r\nA: b\r\nContent-Length: 5\r\n\r\n")
    var head = ResponseHead()
    for count in 0...whole.bytes.count {
      let outcome = Array(whole.bytes[..<count]).withUnsafeBytes { head.parse($0, limit: 1000) }
      #expect(outcome == (count < whole.bytes.count ? .incomplete : .complete))
    }
    #expect(head.status == 200)
    #expect(head.reason == whole.head.reason)
    #expect(head.fields == whole.head.fields)
    #expect(head.length == whole.head.length)
  }

  @Test("has a limit")
  func limit() {
    let text = "HTTP/1.1 200 OK\r\nA: b\r\n\r\n"
    #expect(ParsedResponse(text, limit: text.utf8.count).outcome == .complete)
    for limit in 1..<text.utf8.count { #expect(ParsedResponse(text, limit: limit).outcome == .invalid(.headTooLarge)) }
  }

  @Test("keeps nothing of the head before, interim heads included")
  func reuse() {
    var head = ResponseHead()
    let interim = Array("HTTP/1.0 103 Early\r\nLink: </a>\r\n\r\n".utf8)
    #expect(interim.withUnsafeBytes { head.parse($0, limit: 100) } == .complete)
    head.reset()
    let final = ParsedResponse("HTTP/1.1 200\r\nDate: x\r\n\r\n")
    #expect(final.bytes.withUnsafeBytes { head.parse($0, limit: 100) } == .complete)
    #expect(head.status == 200 && head.minorVersion == 1 && head.reason.isEmpty)
    #expect(head.fields == final.head.fields && head.present == final.head.present)
  }
}
