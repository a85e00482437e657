import HTTPWire
import Testing

@Suite("A request's head")
struct RequestHeadTests {
  @Test("is understood: method, target, version, fields in order and spelling, length")
  func typical() {
    let text = "POST http://a.b/c?d HTTP/1.1\r\nHost: a.b\r\ncOOkie:  x=1; y=2\t \r\nEmpty:\r\nX-Y: \t\r\nCookie: z\r\n\r\nrest"
    let request = ParsedRequest(text)
    #expect(request.outcome == .complete)
    #expect(request.head.method == .post)
    #expect(request.text(request.head.methodText) == "POST")
    #expect(request.text(request.head.target) == "http://a.b/c?d")
    #expect(request.head.minorVersion == 1)
    #expect(request.head.length == text.utf8.count - 4)
    #expect(request.head.fields.map { request.text($0.name) } == ["Host", "cOOkie", "Empty", "X-Y", "Cookie"])
    #expect(request.head.fields.map { request.text($0.value) } == ["a.b", "x=1; y=2", "", "", "z"])
    #expect(request.head.fields.map(\.id) == [.host, .cookie, .other, .other, .cookie])
    #expect(request.head.contains(.host) && !request.head.contains(.te))
  }

  @Test("may follow one empty line (RFC 9112 section 2.2), which counts into its length")
  func emptyLine() {
    let request = ParsedRequest("\r\nGET / HTTP/1.0\r\n\r\n")
    #expect(request.outcome == .complete)
    #expect(request.head.lineStart == 2)
    #expect(request.head.length == 20)
    #expect(request.head.minorVersion == 0)
    #expect(request.text(request.head.target) == "/")
    #expect(ParsedRequest("\r\n\r\nGET / HTTP/1.0\r\n\r\n").outcome == .invalid(.requestLine))
  }

  @Test(
    "has a method that is compared with case",
    arguments: [
      ("GET", HTTPWire.Method.get), ("HEAD", .head), ("POST", .post), ("PUT", .put), ("DELETE", .delete), ("OPTIONS", .options),
      ("PATCH", .patch), ("TRACE", .trace), ("CONNECT", .connect), ("get", .other), ("PROPFIND", .other), ("M-SEARCH", .other),
      ("G", .other), ("GETS", .other),
    ])
  func methods(name: String, method: HTTPWire.Method) {
    let request = ParsedRequest("\(name) / HTTP/1.1\r\n\r\n")
    #expect(request.outcome == .complete)
    #expect(request.head.method == method)
    #expect(request.text(request.head.methodText) == name)
  }

  @Test("knows safe and idempotent methods (RFC 9110 section 9.2)")
  func methodProperties() {
    let all: [HTTPWire.Method] = [.get, .head, .post, .put, .delete, .options, .patch, .trace, .connect, .other]
    #expect(all.filter(\.isSafe) == [.get, .head, .options, .trace])
    #expect(all.filter(\.isIdempotent) == [.get, .head, .put, .delete, .options, .trace])
  }

  @Test("with a higher minor version counts as HTTP/1.1")
  func minorVersion() {
    let request = ParsedRequest("GET / HTTP/1.7\r\n\r\n")
    #expect(request.outcome == .complete)
    #expect(request.head.minorVersion == 1)
  }

  @Test("may have bytes above ASCII and tabs in values")
  func obsText() {
    let request = ParsedRequest("GET / HTTP/1.1\r\nX: caf\u{e9} \u{1F600}\tend\r\n\r\n")
    #expect(request.outcome == .complete)
    #expect(request.text(request.head.fields[0].value) == "caf\u{e9} \u{1F600}\tend")
  }

  static let malformed: [(String, String, HeadError)] = [
    ("bare CR in a value", "GET / HTTP/1.1\r\nA: b\rc\r\n\r\n", .bareCR),
    ("bare CR before the line's end", "GET / HTTP/1.1\r\nA: b\r\r\n\r\n", .bareCR),
    ("bare CR after the request line", "GET / HTTP/1.1\rA: b\r\n\r\n", .bareCR),
    ("bare CR instead of the last line", "GET / HTTP/1.1\r\nA: b\r\n\rX", .bareCR),
    ("bare CR at the very start", "\rGET / HTTP/1.1\r\n\r\n", .bareCR),
    ("bare LF in a value", "GET / HTTP/1.1\r\nA: b\nTransfer-Encoding: chunked\r\n\r\n", .bareLF),
    ("bare LF after the request line", "GET / HTTP/1.1\nHost: h\r\n\r\n", .bareLF),
    ("bare LF as the last line", "GET / HTTP/1.1\r\nA: b\r\n\nGET /b HTTP/1.1\r\n\r\n", .bareLF),
    ("bare LF before the request line", "\nGET / HTTP/1.1\r\n\r\n", .bareLF),
    ("bare LF in the target", "GET /\nA HTTP/1.1\r\n\r\n", .bareLF),
    ("LF in a field name", "GET / HTTP/1.1\r\nA\nB: c\r\n\r\n", .bareLF),
    ("NUL in a value", "GET / HTTP/1.1\r\nA: b\0c\r\n\r\n", .nul),
    ("NUL in a name", "GET / HTTP/1.1\r\nA\0: c\r\n\r\n", .nul),
    ("NUL in the target", "GET /\0 HTTP/1.1\r\n\r\n", .nul),
    ("NUL in the method", "G\0T / HTTP/1.1\r\n\r\n", .nul),
    ("vertical tab before `chunked`", "GET / HTTP/1.1\r\nTransfer-Encoding:\u{b}chunked\r\n\r\n", .control),
    ("form feed in a value", "GET / HTTP/1.1\r\nA: \u{c}b\r\n\r\n", .control),
    ("escape in a value", "GET / HTTP/1.1\r\nA: \u{1b}[31m\r\n\r\n", .control),
    ("DEL in a value", "GET / HTTP/1.1\r\nA: b\u{7f}\r\n\r\n", .control),
    ("control in a name", "GET / HTTP/1.1\r\nA\u{1}B: c\r\n\r\n", .control),
    ("control in the target", "GET /\u{1} HTTP/1.1\r\n\r\n", .control),
    ("obs-fold with a space", "GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", .foldedLine),
    ("obs-fold with a tab", "GET / HTTP/1.1\r\nTransfer-Encoding: a\r\n\tchunked\r\n\r\n", .foldedLine),
    ("space before the first field", "GET / HTTP/1.1\r\n Host: h\r\n\r\n", .foldedLine),
    ("space before the colon", "GET / HTTP/1.1\r\nContent-Length : 5\r\n\r\n", .spaceBeforeColon),
    ("tab before the colon", "GET / HTTP/1.1\r\nContent-Length\t: 5\r\n\r\n", .spaceBeforeColon),
    ("space in a name", "GET / HTTP/1.1\r\nA B: 5\r\n\r\n", .spaceBeforeColon),
    ("empty name", "GET / HTTP/1.1\r\n: 5\r\n\r\n", .fieldName),
    ("bracket in a name", "GET / HTTP/1.1\r\nA[B]: 5\r\n\r\n", .fieldName),
    ("letter above ASCII in a name", "GET / HTTP/1.1\r\n\u{e9}: 5\r\n\r\n", .fieldName),
    ("quote in a name", "GET / HTTP/1.1\r\n\"Host\": h\r\n\r\n", .fieldName),
    ("line without a colon", "GET / HTTP/1.1\r\nHost\r\n\r\n", .missingColon),
    ("method that is no token", "GE@T / HTTP/1.1\r\n\r\n", .method),
    ("method in quotes", "\"GET\" / HTTP/1.1\r\n\r\n", .method),
    ("space before the method", " GET / HTTP/1.1\r\n\r\n", .method),
    ("a TLS hello", "\u{16}\u{3}\u{1}", .method),
    ("tab between method and target", "GET\t/ HTTP/1.1\r\n\r\n", .method),
    ("two spaces after the method", "GET  / HTTP/1.1\r\n\r\n", .requestLine),
    ("two spaces after the target", "GET /  HTTP/1.1\r\n\r\n", .httpVersion),
    ("tab after the target", "GET /\tHTTP/1.1\r\n\r\n", .requestLine),
    ("space after the version", "GET / HTTP/1.1 \r\n\r\n", .requestLine),
    ("digit after the version", "GET / HTTP/1.10\r\n\r\n", .requestLine),
    ("HTTP/0.9's request line", "GET /\r\n", .requestLine),
    ("method alone", "GET\r\n", .requestLine),
    ("lower-case version", "GET / http/1.1\r\n\r\n", .httpVersion),
    ("version without its slash", "GET / HTTP1.1\r\n\r\n", .httpVersion),
    ("version with a comma", "GET / HTTP/1,1\r\n\r\n", .httpVersion),
    ("version with letters", "GET / HTTP/1.x\r\n\r\n", .httpVersion),
    ("version cut short", "GET / HTTP/1\r\n\r\n", .httpVersion),
    ("space in the target", "GET /a b HTTP/1.1\r\n\r\n", .httpVersion),
    ("HTTP/2's preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", .unsupportedVersion),
    ("HTTP/0.9 by name", "GET / HTTP/0.9\r\n\r\n", .unsupportedVersion),
    ("target above ASCII", "GET /caf\u{e9} HTTP/1.1\r\n\r\n", .targetCharacter),
    ("DEL in the target", "GET /\u{7f} HTTP/1.1\r\n\r\n", .control),
  ]

  @Test("is refused", arguments: malformed)
  func refused(what: String, text: String, error: HeadError) {
    let request = ParsedRequest(text)
    #expect(request.outcome == .invalid(error), "\(what)")
    #expect(request.outcome == trickled(Array(text.utf8)), "\(what), byte by byte")
  }

  @Test("has the status of its error")
  func statuses() {
    for error in HeadError.allCases {
      let expected =
        switch error {
        case .targetTooLong: 414
        case .headTooLarge, .tooManyFields: 431
        case .transferCodingUnsupported: 501
        case .unsupportedVersion: 505
        default: 400
        }
      #expect(error.status == expected)
      #expect(error.reason.utf8CodeUnitCount > 0)
    }
  }

  @Test("that trickles in byte by byte is the same head")
  func trickle() {
    let text =
      "\r\nOPTIONS http://example.com:80/a/b?c=d HTTP/1.1\r\nHost: example.com\r\nA:\tx \r\nTransfer-Encoding: chunked\r\n\r\n"
    let whole = ParsedRequest(text)
    #expect(whole.outcome == .complete)
    var head = RequestHead()
    for count in 0...whole.bytes.count {
      // A fresh copy each time: the buffer may move between calls.
      let outcome = Array(whole.bytes[..<count]).withUnsafeBytes { head.parse($0, limit: 1000) }
      #expect(outcome == (count < whole.bytes.count ? .incomplete : .complete))
    }
    #expect(head.fields == whole.head.fields)
    #expect(head.target == whole.head.target)
    #expect(head.methodText == whole.head.methodText)
    #expect(head.length == whole.head.length)
    #expect(head.present == whole.head.present)
  }

  /// Lines that arrive whole are read eight bytes at a time, others byte by byte.
  @Test("is the same at once and byte by byte, whichever byte of its fields is another")
  func otherBytes() {
    let start = "GET / HTTP/1.1\r\n"
    let bytes = Array((start + "Host: example.com\r\nContent-Length: 12\r\nX-Own:  a b \r\nHTTP2-Settings: c\r\n\r\n").utf8)
    for index in start.utf8.count..<bytes.count {
      for other in [0, 9, 10, 13, 0x12, 0x20, 0x2d, 0x3a, 0x7f, 0x80, 0xff] as [UInt8] {
        var changed = bytes
        changed[index] = other
        let whole = ParsedRequest(changed)
        var head = RequestHead()
        var outcome = HeadOutcome.incomplete
        for count in 1...changed.count where outcome == .incomplete {
          outcome = changed[..<count].withUnsafeBytes { head.parse($0, limit: 1000) }
        }
        #expect(outcome == whole.outcome, "\(index): \(other)")
        if outcome != .complete { continue }
        #expect(head.fields == whole.head.fields, "\(index): \(other)")
        #expect(head.present == whole.head.present, "\(index): \(other)")
      }
    }
  }

  @Test("is parsed with one look at each byte, even one line of 200 KB in single bytes")
  func trickleIsLinear() {
    var bytes = Array("GET / HTTP/1.1\r\nA: ".utf8)
    bytes += [UInt8](repeating: UInt8(ascii: "x"), count: 200_000)
    bytes += Array("\r\n\r\n".utf8)
    var head = RequestHead()
    let clock = ContinuousClock()
    let time = clock.measure {
      bytes.withUnsafeBytes { bytes in
        for count in 1..<bytes.count {
          #expect(head.parse(UnsafeRawBufferPointer(rebasing: bytes[..<count]), limit: 1 << 20) == .incomplete)
        }
        #expect(head.parse(bytes, limit: 1 << 20) == .complete)
      }
    }
    // Quadratic work would read 2 * 10^10 bytes: minutes in a debug build.
    #expect(time < .seconds(30))
  }

  @Test("that is too large is 431, with a target too long 414, whole or trickled")
  func limits() {
    let text = "GET /abcdef HTTP/1.1\r\nHost: h\r\n\r\n"
    #expect(ParsedRequest(text, limit: text.utf8.count).outcome == .complete)
    #expect(ParsedRequest(text, limit: text.utf8.count - 1).outcome == .invalid(.headTooLarge))
    #expect(ParsedRequest(text, limit: 12).outcome == .invalid(.headTooLarge))
    #expect(ParsedRequest(text, limit: 11).outcome == .invalid(.targetTooLong))
    #expect(ParsedRequest(text, limit: 5).outcome == .invalid(.targetTooLong))
    #expect(ParsedRequest(text, limit: 2).outcome == .invalid(.headTooLarge))
    for limit in 1...text.utf8.count {
      #expect(ParsedRequest(text, limit: limit).outcome == trickled(Array(text.utf8), limit: limit))
    }
  }

  @Test("may have 256 fields and no more")
  func fieldCount() {
    func head(_ count: Int) -> ParsedRequest {
      ParsedRequest("GET / HTTP/1.1\r\n" + String(repeating: "a:b\r\n", count: count) + "\r\n")
    }
    #expect(head(fieldCountLimit).outcome == .complete)
    #expect(head(fieldCountLimit + 1).outcome == .invalid(.tooManyFields))
  }

  @Test("keeps nothing of the head before")
  func reuse() {
    var head = RequestHead()
    let first = Array("\r\nPOST /x HTTP/1.0\r\nTE: a\r\nHost: h\r\n\r\n".utf8)
    #expect(first.withUnsafeBytes { head.parse($0, limit: 100) } == .complete)
    head.reset()
    let second = ParsedRequest("GET / HTTP/1.1\r\nHost: i\r\n\r\n")
    #expect(second.bytes.withUnsafeBytes { head.parse($0, limit: 100) } == .complete)
    #expect(head.fields == second.head.fields)
    #expect(head.present == second.head.present)
    #expect(head.length == second.head.length)
    #expect(head.lineStart == 0 && head.minorVersion == 1 && head.method == .get)
  }

  @Test("never looks past its bytes, whatever it is cut to")
  func everyPrefix() {
    let text = Array("GET http://h:1/ HTTP/1.1\r\nHost: h\r\nVia: 1.1 x\r\nX-Forwarded-Proto: http\r\n\r\n".utf8)
    for count in 0..<text.count {
      // Exactly as much memory as bytes, so that the sanitizer and the allocator's guard notice reads beyond the end.
      let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(count, 1), alignment: 1)
      defer { copy.deallocate() }
      copy.copyBytes(from: text[..<count])
      var head = RequestHead()
      #expect(head.parse(UnsafeRawBufferPointer(rebasing: copy[..<count]), limit: 1000) == .incomplete)
    }
  }
}

/// Feeds one byte more each time; returns the first outcome that is not `incomplete`.
func trickled(_ bytes: [UInt8], limit: Int = 1 << 16) -> HeadOutcome {
  var head = RequestHead()
  return bytes.withUnsafeBytes { bytes in
    for count in 1...bytes.count {
      let outcome = head.parse(UnsafeRawBufferPointer(rebasing: bytes[..<count]), limit: limit)
      if outcome != .incomplete { return outcome }
    }
    return .incomplete
  }
}
