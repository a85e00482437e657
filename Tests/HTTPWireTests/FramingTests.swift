import HTTPWire
import Testing

@Suite("A request's framing")
struct RequestFramingTests {
  @Test(
    "is decided from all fields",
    arguments: [
      ("A: b", BodyFraming.none), ("Content-Length: 0", .length(0)), ("Content-Length: 42", .length(42)),
      ("content-LENGTH:\t42 ", .length(42)), ("Content-Length: 007", .length(7)),
      ("Content-Length: 9223372036854775807", .length(.max)), ("Content-Length: 5\r\nContent-Length: 5", .length(5)),
      ("Content-Length: 5, 5", .length(5)), ("Transfer-Encoding: chunked", .chunked), ("Transfer-Encoding:chunked", .chunked),
      ("transfer-encoding:   CHUNKED  ", .chunked),
    ])
  func accepted(fields: String, framing: BodyFraming) {
    #expect(ParsedRequest(fields: fields).framing == .success(framing))
  }

  static let refusals: [(String, String, HeadError)] = [
    ("both", "Content-Length: 5\r\nTransfer-Encoding: chunked", .contentLengthWithTransferEncoding),
    ("both, the other way round", "Transfer-Encoding: chunked\r\nContent-Length: 5", .contentLengthWithTransferEncoding),
    ("both, with zero", "Transfer-Encoding: chunked\r\nContent-Length: 0", .contentLengthWithTransferEncoding),
    ("plus sign", "Content-Length: +5", .contentLengthMalformed),
    ("minus sign", "Content-Length: -5", .contentLengthMalformed),
    ("hexadecimal", "Content-Length: 0x5", .contentLengthMalformed),
    ("letters after digits", "Content-Length: 5a", .contentLengthMalformed),
    ("underscore", "Content-Length: 1_0", .contentLengthMalformed),
    ("fraction", "Content-Length: 5.0", .contentLengthMalformed),
    ("two numbers", "Content-Length: 5 6", .contentLengthMalformed),
    ("nothing", "Content-Length:", .contentLengthMalformed),
    ("empty member", "Content-Length: 5,", .contentLengthMalformed),
    ("empty member first", "Content-Length: ,5", .contentLengthMalformed),
    ("semicolon", "Content-Length: 5;5", .contentLengthMalformed),
    ("digits above ASCII", "Content-Length: \u{665}", .contentLengthMalformed),
    ("overflow of 63 bits", "Content-Length: 9223372036854775808", .contentLengthMalformed),
    ("overflow of 64 bits", "Content-Length: 18446744073709551621", .contentLengthMalformed),
    ("one malformed of two", "Content-Length: 5\r\nContent-Length: 5x", .contentLengthMalformed),
    ("different lines", "Content-Length: 5\r\nContent-Length: 6", .contentLengthsDiffer),
    ("different members", "Content-Length: 5, 6", .contentLengthsDiffer),
    ("identity", "Transfer-Encoding: identity", .transferEncodingMalformed),
    ("gzip alone", "Transfer-Encoding: gzip", .transferEncodingMalformed),
    ("chunked not last", "Transfer-Encoding: chunked, gzip", .transferEncodingMalformed),
    ("trailing comma, tinyproxy#616", "Transfer-Encoding: chunked,", .transferEncodingMalformed),
    ("leading comma", "Transfer-Encoding: ,chunked", .transferEncodingMalformed),
    ("xchunked, sozu#726", "Transfer-Encoding: xchunked", .transferEncodingMalformed),
    ("chunkedx", "Transfer-Encoding: chunkedx", .transferEncodingMalformed),
    ("doubled, tinyproxy#616", "Transfer-Encoding: chunked, chunked", .transferEncodingMalformed),
    ("doubled over lines, sozu#726", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", .transferEncodingMalformed),
    ("second line not chunked", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", .transferEncodingMalformed),
    ("trailing tab", "Transfer-Encoding: chunked\t", .transferEncodingMalformed),
    ("leading tab", "Transfer-Encoding:\tchunked", .transferEncodingMalformed),
    ("tab after a coding", "Transfer-Encoding: gzip\t, chunked", .transferEncodingMalformed),
    ("quoted", "Transfer-Encoding: \"chunked\"", .transferEncodingMalformed),
    ("single quotes", "Transfer-Encoding: 'chunked'", .transferEncodingMalformed),
    ("parameter", "Transfer-Encoding: chunked;q=1", .transferEncodingMalformed),
    ("two words", "Transfer-Encoding: x chunked", .transferEncodingMalformed),
    ("empty", "Transfer-Encoding:", .transferEncodingMalformed),
    ("semicolon instead of comma", "Transfer-Encoding: gzip; chunked", .transferEncodingMalformed),
    ("byte above ASCII", "Transfer-Encoding: chun\u{212a}ed", .transferEncodingMalformed),
    ("unknown coding before chunked", "Transfer-Encoding: br, chunked", .transferCodingUnsupported),
    ("gzip before chunked", "Transfer-Encoding: gzip, chunked", .transferCodingUnsupported),
    ("gzip on a line before", "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked", .transferCodingUnsupported),
    ("identity before chunked", "Transfer-Encoding: identity, chunked", .transferCodingUnsupported),
  ]

  @Test("is refused", arguments: refusals)
  func refused(what: String, fields: String, error: HeadError) {
    let request = ParsedRequest(fields: fields)
    #expect(request.outcome == .complete, "\(what)")
    #expect(request.framing == .failure(error), "\(what)")
  }

  @Test("never uses Transfer-Encoding in HTTP/1.0")
  func oldVersion() {
    let request = ParsedRequest(fields: "Transfer-Encoding: chunked", version: "1.0")
    #expect(request.framing == .failure(.transferEncodingInHTTP10))
    #expect(ParsedRequest(fields: "Content-Length: 5", version: "1.0").framing == .success(.length(5)))
  }

  @Test(
    "is the same for every method: DELETE and OPTIONS bodies are framed, node-http-proxy CVE-2026-29057",
    arguments: ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "QUERY"])
  func methods(method: String) {
    #expect(ParsedRequest(fields: "Content-Length: 5", method: method).framing == .success(.length(5)))
    #expect(ParsedRequest(fields: "Transfer-Encoding: chunked", method: method).framing == .success(.chunked))
    #expect(ParsedRequest(fields: "A: b", method: method).framing == .success(.none))
  }

  @Test("of TRACE and CONNECT has no body")
  func bodiless() {
    #expect(ParsedRequest(fields: "Content-Length: 5", method: "TRACE").framing == .failure(.bodyWithTrace))
    #expect(ParsedRequest(fields: "Transfer-Encoding: chunked", method: "TRACE").framing == .failure(.bodyWithTrace))
    #expect(ParsedRequest(fields: "Content-Length: 0", method: "TRACE").framing == .success(.length(0)))
    #expect(ParsedRequest(fields: "Content-Length: 5", method: "CONNECT").framing == .failure(.bodyWithConnect))
    #expect(ParsedRequest(fields: "Transfer-Encoding: chunked", method: "CONNECT").framing == .failure(.bodyWithConnect))
    #expect(ParsedRequest(fields: "A: b", method: "CONNECT").framing == .success(.none))
  }
}

@Suite("A response's framing")
struct ResponseFramingTests {
  @Test(
    "follows RFC 9112 section 6.3",
    arguments: [
      ("200 OK", "Content-Length: 5", HTTPWire.Method.get, BodyFraming.length(5)),
      ("200 OK", "Transfer-Encoding: chunked", .get, .chunked), ("200 OK", "A: b", .get, .untilClose),
      ("200 OK", "Content-Length: 5", .head, .none), ("200 OK", "Transfer-Encoding: chunked", .head, .none),
      ("204 No Content", "Content-Length: 0", .get, .none), ("204 No Content", "Content-Length: 5", .get, .none),
      ("304 Not Modified", "Content-Length: 5", .get, .none), ("100 Continue", "A: b", .post, .none),
      ("103 Early Hints", "Content-Length: 5", .get, .none), ("101 Switching Protocols", "Upgrade: websocket", .get, .none),
      ("200 OK", "Transfer-Encoding: chunked", .connect, .none),
      ("200 OK", "Content-Length: 5\r\nTransfer-Encoding: chunked", .connect, .none),
      ("407 No", "Content-Length: 5", .connect, .length(5)), ("205 Reset", "Content-Length: 0", .get, .length(0)),
    ])
  func accepted(status: String, fields: String, method: HTTPWire.Method, framing: BodyFraming) {
    #expect(ParsedResponse(status: status, fields: fields).framing(to: method) == .success(framing))
  }

  @Test("is refused for what refuses a request's, but for the codes", arguments: RequestFramingTests.refusals)
  func refused(what: String, fields: String, error: HeadError) {
    #expect(ParsedResponse(fields: fields).framing() == .failure(error), "\(what)")
    // The proxy relays the length in a response to HEAD, so an invalid one must fail as well.
    #expect(ParsedResponse(fields: fields).framing(to: .head) == .failure(error), "\(what)")
  }

  @Test("never uses Transfer-Encoding in HTTP/1.0")
  func oldVersion() {
    let response = ParsedResponse(fields: "Transfer-Encoding: chunked", version: "1.0")
    #expect(response.framing() == .failure(.transferEncodingInHTTP10))
  }

  @Test("keeps the length that a HEAD or 304 states")
  func statedLength() {
    func stated(_ fields: String) -> Int64? {
      let response = ParsedResponse(status: "304 Not Modified", fields: fields)
      return response.bytes.withUnsafeBytes { response.head.contentLength(in: $0) }
    }
    #expect(stated("Content-Length: 17") == 17)
    #expect(stated("Content-Length: 17, 18") == nil)
    #expect(stated("A: b") == nil)
  }
}
