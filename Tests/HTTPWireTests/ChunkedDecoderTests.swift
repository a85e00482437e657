import HTTPWire
import Testing

@Suite("A chunked body")
struct ChunkedDecoderTests {
  static let valid: [(String, String, [String])] = [
    ("0\r\n\r\n", "", []), ("5\r\nhello\r\n0\r\n\r\n", "hello", []),
    ("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", "hello world", []),
    ("A\r\n0123456789\r\na\r\n0123456789\r\n000\r\n\r\n", "01234567890123456789", []),
    ("0000000000000001\r\nx\r\n0\r\n\r\n", "x", []),
    ("1;a\r\nx\r\n1;a=b;c=\"d;\\\"e\"\r\ny\r\n0;last\r\n\r\n", "xy", []),
    ("1 ;a\r\nx\r\n1\t; a = b\r\ny\r\n0\r\n\r\n", "xy", []),
    ("1;a=\"\";b=\"\t\u{e4}\\\\\\\u{e4}\";c\r\nx\r\n0 \t;\t z \t=\t\"q\" ;y\r\n\r\n", "x", []),
    ("1;!#$%&'*+-.^_`|~09azAZ=!#$%&'*+-.^_`|~\r\nx\r\n0\r\n\r\n", "x", []),
    ("2\r\n\r\n\r\n0\r\n\r\n", "\r\n", []),
    ("1\r\nx\r\n0\r\nA: b\r\nchecksum:  c \r\n\r\n", "x", ["A=b", "checksum=c"]),
    ("1\r\nx\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n", "x", []),
    ("1\r\nx\r\n0\r\nA: b\r\n\r\nGET / HTTP/1.1\r\n\r\n", "x", ["A=b"]),
  ]

  @Test("is decoded the same whole, at every pair of split points, and byte by byte", arguments: valid)
  func splits(text: String, payload: String, trailers: [String]) {
    let input = Array(text.utf8)
    let whole = Decoded(input)
    #expect(whole.error == nil)
    #expect(whole.isDone)
    #expect(whole.text == payload)
    #expect(whole.trailers == trailers)
    let next = text.firstRange(of: "GET")
    #expect(whole.consumed == next.map { text.utf8.distance(from: text.startIndex, to: $0.lowerBound) } ?? input.count)
    for first in 0...input.count {
      for second in first...input.count { #expect(Decoded(input, splitAt: [first, second]) == whole) }
    }
    #expect(Decoded(input, splitAt: Array(0..<input.count)) == whole)
  }

  @Test("without its end is not done")
  func incomplete() {
    let input = Array("5\r\nhello\r\n0\r\nA: b\r\n\r\n".utf8)
    for count in 0..<input.count {
      let cut = Decoded(Array(input[..<count]))
      #expect(!cut.isDone && cut.error == nil)
    }
  }

  static let malformed: [(String, String, ChunkedError)] = [
    ("plus sign", "+5\r\nhello\r\n0\r\n\r\n", .size), ("minus sign", "-5\r\nhello\r\n", .size),
    ("0x", "0x5\r\nhello\r\n0\r\n\r\n", .size), ("underscore", "1_0\r\n", .size), ("no digits", "\r\n", .size),
    ("space first", " 5\r\nhello\r\n", .size), ("space last", "5 \r\nhello\r\n", .size), ("letters", "5g\r\n", .size),
    ("comma", "5,5\r\n", .size), ("extension without size", ";a\r\n", .size), ("full-width digit", "\u{ff15}\r\n", .size),
    ("NUL after the size", "5\0\r\n", .size), ("space and letters", "5 a\r\n", .size),
    ("size ended by bare LF", "5\nhello\r\n0\r\n\r\n", .size),
    ("size ended by bare CR", "5\rhello\r\n0\r\n\r\n", .extensionMalformed),
    ("size ended by CR CR LF", "5\r\r\nhello\r\n0\r\n\r\n", .extensionMalformed),
    ("bare LF in an extension, CVE-2025-55315", "5;a\nhello\r\n0\r\n\r\n", .extensionMalformed),
    ("bare CR in an extension, CVE-2025-55315", "5;a\rb\r\nhello\r\n0\r\n\r\n", .extensionMalformed),
    ("LF CR in an extension, CVE-2025-55315", "5;\n\r\nhello\r\n0\r\n\r\n", .extensionMalformed),
    ("NUL in an extension", "5;\0\r\nhello\r\n0\r\n\r\n", .extensionMalformed),
    ("bare LF in the last chunk's extension", "0;a\n\r\n", .extensionMalformed),
    ("no extension behind the semicolon", "5;\r\nhello\r\n", .extensionMalformed),
    ("nothing but space behind the semicolon", "5; \t\r\nhello\r\n", .extensionMalformed),
    ("an empty extension between two", "5;a;;b\r\nhello\r\n", .extensionMalformed),
    ("a semicolon last", "5;a=b;\r\nhello\r\n", .extensionMalformed),
    ("space last, behind a name", "5;a \r\nhello\r\n", .extensionMalformed),
    ("space last, behind a value", "5;a=b \r\nhello\r\n", .extensionMalformed),
    ("space last, behind a quoted value", "5;a=\"b\"\t\r\nhello\r\n", .extensionMalformed),
    ("no value behind the equals sign", "5;a=\r\nhello\r\n", .extensionMalformed),
    ("space for a value", "5;a= \r\nhello\r\n", .extensionMalformed),
    ("no name before the equals sign", "5;=b\r\nhello\r\n", .extensionMalformed),
    ("two values", "5;a=b=c\r\nhello\r\n", .extensionMalformed),
    ("two names", "5;a b\r\nhello\r\n", .extensionMalformed),
    ("two words for a value", "5;a=b c\r\nhello\r\n", .extensionMalformed),
    ("a name that is no token", "5;a/b\r\nhello\r\n", .extensionMalformed),
    ("a quoted name", "5;\"a\"\r\nhello\r\n", .extensionMalformed),
    ("a name beyond ASCII", "5;\u{e4}\r\nhello\r\n", .extensionMalformed),
    ("a value that is no token", "5;a=b@c\r\nhello\r\n", .extensionMalformed),
    ("a quotation mark in a token", "5;a=b\"c\"\r\nhello\r\n", .extensionMalformed),
    ("a token behind a quoted value", "5;a=\"b\"c\r\nhello\r\n", .extensionMalformed),
    ("an open quotation", "5;a=\"b\r\nhello\r\n", .extensionMalformed),
    ("an open quotation that another line closes", "5;a=\"b\r\n\"\r\nhello\r\n", .extensionMalformed),
    ("a quotation left open by a backslash", "5;a=\"b\\\"\r\nhello\r\n", .extensionMalformed),
    ("a quoted control character", "5;a=\"\u{1}\"\r\nhello\r\n", .extensionMalformed),
    ("an escaped line end", "5;a=\"\\\r\n\"\r\nhello\r\n", .extensionMalformed),
    ("DEL in a quotation", "5;a=\"\u{7f}\"\r\nhello\r\n", .extensionMalformed),
    ("no extension behind the last chunk's semicolon", "0;\r\n\r\n", .extensionMalformed),
    ("overflow of 63 bits", "8000000000000000\r\n", .sizeTooLarge),
    ("overflow of 64 bits", "10000000000000005\r\n", .sizeTooLarge),
    ("leading zeros without end", "00000000000000005\r\nhello\r\n", .sizeTooLarge),
    ("data closed by anything, h11 CVE-2025-43859", "5\r\nhelloXX0\r\n\r\n", .chunkEnd),
    ("data closed by LF, h11 CVE-2025-43859", "5\r\nhello\n0\r\n\r\n", .chunkEnd),
    ("data closed by CR and a byte, h11 CVE-2025-43859", "5\r\nhello\rX0\r\n\r\n", .chunkEnd),
    ("data longer than its size", "5\r\nhello!\r\n0\r\n\r\n", .chunkEnd),
    ("data closed by nothing", "5\r\nhello0\r\n\r\n", .chunkEnd),
    ("bare LF in the trailers", "0\r\nA: b\nC: d\r\n\r\n", .trailersMalformed),
    ("bare LF as the end", "0\r\n\n", .trailersMalformed),
    ("bare CR as the end", "0\r\n\rX", .trailersMalformed),
    ("folded trailer", "0\r\nA: b\r\n c\r\n\r\n", .trailersMalformed),
    ("trailer with a space before its colon", "0\r\nA : b\r\n\r\n", .trailersMalformed),
    ("request instead of trailers", "0\r\nGET / HTTP/1.1\r\n\r\n", .trailersMalformed),
  ]

  @Test("is refused, whole and byte by byte", arguments: malformed)
  func refused(what: String, text: String, error: ChunkedError) {
    #expect(Decoded(text).error == error, "\(what)")
    #expect(Decoded(text, splitAt: Array(0..<text.utf8.count)).error == error, "\(what), byte by byte")
  }

  @Test("may be as large as a signed 64-bit number says")
  func largest() {
    let decoded = Decoded("7fffffffffffffff\r\nabc")
    #expect(decoded.error == nil && decoded.text == "abc")
  }

  @Test("has bounded extensions: in one line, and over many chunks")
  func extensions() {
    for piece in ["a", ";a", ";a=\"b\"", ";a = b", " ;a"] {
      let line = "1" + (piece.contains(";") ? "" : ";") + String(repeating: piece, count: 20_000)
      #expect(Decoded(line).error == .extensionTooLarge, "\(piece)")
    }
    for open in ["1;a=\"", "1;a=\"\\\\"] {
      #expect(Decoded(open + String(repeating: "b", count: 20_000)).error == .extensionTooLarge, "\(open)")
    }
    for open in ["1 ", "1; ", "1;a ", "1;a= ", "1;a=b "] {
      #expect(Decoded(open + String(repeating: " ", count: 20_000)).error == .extensionTooLarge, "\(open)")
    }
    let wasteful = "1;" + String(repeating: "a", count: 100) + "\r\nx\r\n"
    #expect(Decoded(String(repeating: wasteful, count: 1000)).error == .extensionTooLarge)
    // Legitimate extensions are signatures of a hundred bytes per 8 KiB.
    let honest = "2000;" + String(repeating: "s", count: 100) + "\r\n" + String(repeating: "x", count: 8192) + "\r\n"
    #expect(Decoded(String(repeating: honest, count: 300)).error == nil)
  }

  @Test("has bounded trailers, whole and byte by byte")
  func trailerLimit() {
    let section = "A: 1\r\nB: 2\r\n\r\n"
    let body = "0\r\n" + section
    let cuts = Array(0..<body.utf8.count)
    #expect(Decoded(body, trailerLimit: section.utf8.count).isDone)
    #expect(Decoded(body, splitAt: cuts, trailerLimit: section.utf8.count).isDone)
    #expect(Decoded(body, trailerLimit: section.utf8.count - 1).error == .trailersTooLarge)
    #expect(Decoded(body, splitAt: cuts, trailerLimit: section.utf8.count - 1).error == .trailersTooLarge)
    let many = "0\r\n" + String(repeating: "a:\r\n", count: 300) + "\r\n"
    #expect(Decoded(many).error == .trailersTooLarge)
  }

  @Test("loses trailers that would change framing, routing or authentication (RFC 9110 section 6.5.1)")
  func forbiddenTrailers() {
    let decoded = Decoded("0\r\nContent-Length: 5\r\nX-Sum: 1\r\nAuthorization: x\r\nHost: y\r\ntransfer-encoding: z\r\n\r\n")
    #expect(decoded.trailers == ["-Content-Length=5", "X-Sum=1", "-Authorization=x", "-Host=y", "-transfer-encoding=z"])
  }

  @Test(
    "loses conditions and what steers a cache (RFC 9110 section 6.5.1)",
    arguments: [
      "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range", "Range", "Cache-Control", "Pragma",
    ])
  func conditions(name: String) { #expect(Decoded("0\r\n\(name): x\r\n\r\n").trailers == ["-\(name)=x"]) }

  @Test("is written on with its trailers, but for the forbidden and the credential's")
  func rewritten() throws {
    var decoder = ChunkedDecoder()
    var input = Array("0\r\nA: 1\r\nHost: h\r\nx_api_key: 2\r\nB:3\r\n\r\n".utf8)
    let output = try input.withUnsafeMutableBytes { try decoder.decode($0) }
    #expect(output.state == .done && decoder.isDone)
    decoder.dropTrailers(named: Array("X-Api-Key".utf8))
    #expect(written { $0.appendLastChunk(trailersOf: decoder) } == "0\r\nA: 1\r\nB: 3\r\n\r\n")
    #expect(written { $0.appendLastChunk() } == "0\r\n\r\n")
  }

  @Test("leaves its first run where it stands and moves later ones to follow it")
  func inPlace() throws {
    var decoder = ChunkedDecoder()
    var input = Array("3\r\nabc\r\n2\r\nde\r\n".utf8)
    let output = try input.withUnsafeMutableBytes { try decoder.decode($0) }
    #expect(output.payload == ByteSlice(start: 3, count: 5))
    #expect(Array(input[3..<8]) == Array("abcde".utf8))
    #expect(output.consumed == input.count && output.state == .more)
  }

  @Test("errors tell what is wrong")
  func reasons() { for error in ChunkedError.allCases { #expect(error.reason.utf8CodeUnitCount > 0) } }
}
