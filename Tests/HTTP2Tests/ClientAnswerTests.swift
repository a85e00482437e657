import HTTP2
import Testing

@Suite("Answers over HTTP/2")
struct ClientAnswerTests {
  @Test("are HTTP/1.1 text: registered reasons, names as old apps know them", arguments: [1, 2, 7, 1000])
  func typical(step: Int) {
    let probe = ClientProbe()
    _ = probe.get()
    probe.feed(
      .head(
        1,
        [
          (":status", "404"), ("content-type", "text/plain"), ("etag", "\"a\""), ("www-authenticate", "Basic"),
          ("x-custom-thing", "1"), ("set-cookie", "a=b"), ("set-cookie", "c=d"), ("content-length", "5"), ("x-empty", ""),
          ("dpop-nonce", "n"),
        ]), .data(1, "he"), .data(1, "llo", ends: true), step: step)
    let seen = probe.seen()
    #expect(
      seen.first
        == .head(
          1,
          "HTTP/1.1 404 Not Found|Content-Type: text/plain|ETag: \"a\"|WWW-Authenticate: Basic|X-Custom-Thing: 1|Set-Cookie: a=b|"
            + "Set-Cookie: c=d|Content-Length: 5|X-Empty: |DPoP-Nonce: n||", ends: false))
    #expect(seen.dropFirst() == [.data(1, "hello"), .end(1)])
    #expect(probe.frames() == [])
  }

  @Test("say what ends their body: a length, the end of the stream, or nothing")
  func framing() {
    let cases: [(String, String, [(String, String)], Bool, String)] = [
      ("a body of unknown length", "GET", [], false, "Transfer-Encoding: chunked|"),
      ("no body", "GET", [], true, "Content-Length: 0|"),
      ("HEAD", "HEAD", [("content-length", "7")], true, "Content-Length: 7|"),
      ("HEAD, the stream's end later", "HEAD", [], false, ""),
    ]
    for (what, method, fields, ends, line) in cases {
      let probe = ClientProbe()
      _ = probe.get(method: method)
      probe.feed(.head(1, [(":status", "200")] + fields, ends: ends))
      #expect(probe.seen() == [.head(1, "HTTP/1.1 200 OK|\(line)|", ends: ends)] + (ends ? [.end(1)] : []), "\(what)")
    }
    for status in ["204", "304"] {
      let probe = ClientProbe()
      _ = probe.get()
      probe.feed(.head(1, [(":status", status)]), .data(1, "", ends: true))
      let seen = probe.seen()
      #expect(seen.count == 2 && seen.last == .end(1), "\(status)")
    }
  }

  @Test("may have interim heads before, and trailers behind")
  func interimAndTrailers() {
    let probe = ClientProbe()
    _ = probe.get()
    probe.feed(
      .head(1, [(":status", "100")]), .head(1, [(":status", "103"), ("link", "</a>")]), .head(1, [(":status", "299")]),
      .data(1, "x"), .head(1, [("grpc-status", "0"), ("x-sum", "9")], ends: true))
    #expect(
      probe.seen() == [
        .interim(1, "HTTP/1.1 100 Continue||"), .interim(1, "HTTP/1.1 103 Early Hints|Link: </a>||"),
        .head(1, "HTTP/1.1 299 |Transfer-Encoding: chunked||", ends: false), .data(1, "x"),
        .trailers(1, "Grpc-Status: 0|X-Sum: 9||"), .end(1),
      ])
  }

  static let faults: [(String, [Frame])] = [
    ("a name in upper case", [.head(1, [(":status", "200"), ("X-A", "1")])]),
    ("a name that is no token", [.head(1, [(":status", "200"), ("x a", "1")])]),
    ("an empty name", [.head(1, [(":status", "200"), ("", "1")])]),
    ("CR in a value", [.head(1, [(":status", "200"), ("x-a", "1\rb")])]),
    ("LF in a value", [.head(1, [(":status", "200"), ("x-a", "1\nx-b: 2")])]),
    ("NUL in a value", [.head(1, [(":status", "200"), ("x-a", "\0")])]),
    ("a control in a value", [.head(1, [(":status", "200"), ("x-a", "\u{8}")])]),
    ("a space before a value", [.head(1, [(":status", "200"), ("x-a", " 1")])]),
    ("a tab behind a value", [.head(1, [(":status", "200"), ("x-a", "1\t")])]),
    ("Connection", [.head(1, [(":status", "200"), ("connection", "close")])]),
    ("Keep-Alive", [.head(1, [(":status", "200"), ("keep-alive", "1")])]),
    ("Proxy-Connection", [.head(1, [(":status", "200"), ("proxy-connection", "x")])]),
    ("Transfer-Encoding", [.head(1, [(":status", "200"), ("transfer-encoding", "chunked")])]),
    ("Upgrade", [.head(1, [(":status", "200"), ("upgrade", "x")])]),
    ("TE", [.head(1, [(":status", "200"), ("te", "trailers")])]),
    ("no status", [.head(1, [("x-a", "1")])]), ("two", [.head(1, [(":status", "200"), (":status", "200")])]),
    ("a status behind a field", [.head(1, [("x-a", "1"), (":status", "200")])]),
    ("another pseudo field", [.head(1, [(":status", "200"), (":path", "/")])]),
    ("an unknown pseudo field", [.head(1, [(":status", "200"), (":x", "/")])]),
    ("status 099", [.head(1, [(":status", "099")])]), ("status 101", [.head(1, [(":status", "101")])]),
    ("status 600", [.head(1, [(":status", "600")])]), ("status 999", [.head(1, [(":status", "999")])]),
    ("status 20", [.head(1, [(":status", "20")])]), ("status 2000", [.head(1, [(":status", "2000")])]),
    ("status +20", [.head(1, [(":status", "+20")])]),
    ("two lengths", [.head(1, [(":status", "200"), ("content-length", "1"), ("content-length", "1")])]),
    ("a signed length", [.head(1, [(":status", "200"), ("content-length", "+1")])]),
    ("a length that is a list", [.head(1, [(":status", "200"), ("content-length", "1, 1")])]),
    ("too few bytes", [.head(1, [(":status", "200"), ("content-length", "2")]), .data(1, "a", ends: true)]),
    ("too many bytes", [.head(1, [(":status", "200"), ("content-length", "2")]), .data(1, "abc")]),
    ("a length without a body", [.head(1, [(":status", "200"), ("content-length", "2")], ends: true)]),
    ("a body of 204", [.head(1, [(":status", "204")]), .data(1, "a")]),
    ("a body of 304", [.head(1, [(":status", "304")]), .data(1, "a")]),
    ("a second head", [.head(1, [(":status", "200")]), .head(1, [(":status", "200")], ends: true)]),
    ("a second section without the stream's end", [.head(1, [(":status", "200")]), .head(1, [("x-a", "1")])]),
    ("a pseudo field in trailers", [.head(1, [(":status", "200")]), .head(1, [(":x", "1")], ends: true)]),
    ("Connection in trailers", [.head(1, [(":status", "200")]), .head(1, [("connection", "x")], ends: true)]),
    ("a body before the head", [.data(1, "a"), .head(1, [(":status", "200")], ends: true)]),
    ("an empty body before the head", [.data(1, "", ends: true)]),
    ("a body behind an interim head", [.head(1, [(":status", "103")]), .data(1, "a")]),
    ("an interim head that ends the stream", [.head(1, [(":status", "103")], ends: true)]),
    ("a length in an interim head", [.head(1, [(":status", "103"), ("content-length", "1")])]),
  ]

  @Test("that are malformed end their own stream only", arguments: faults)
  func malformed(what: String, frames: [Frame]) {
    let probe = ClientProbe()
    _ = probe.get("/one")
    _ = probe.get("/three")
    probe.feed(frames.flatMap(\.bytes))
    let resets = probe.frames().filter { $0.kind != .windowUpdate }
    #expect(resets == [.reset(1, ErrorCode.protocolError.rawValue)])
    let seen = probe.seen()
    #expect(seen.last == .ended(1, .malformed(.protocolError)))
    #expect(!seen.contains(.end(1)))
    // The other stream, with what HPACK knows.
    probe.feed(.head(3, [(":status", "200")], ends: true))
    #expect(probe.seen() == [.head(3, "HTTP/1.1 200 OK|Content-Length: 0||", ends: true), .end(3)])
    #expect(probe.session.failure == nil)
  }

  @Test("to HEAD have no body")
  func bodyOfHead() {
    let probe = ClientProbe()
    _ = probe.get(method: "HEAD")
    probe.feed(.head(1, [(":status", "200"), ("content-length", "1")]), .data(1, "a"))
    #expect(probe.frames() == [.reset(1, ErrorCode.protocolError.rawValue)])
    #expect(probe.seen().last == .ended(1, .malformed(.protocolError)))
  }

  @Test("may come before the request is whole: the upload ends, the answer does not")
  func early() {
    for resets in [true, false] {
      let probe = ClientProbe()
      let ticket = probe.begin("POST / HTTP/1.1|Host: a|Content-Length: 200000||")
      #expect(probe.append([UInt8](repeating: 1, count: 200_000), to: ticket) == 65_536)
      _ = probe.sentBytes()
      probe.feed(.head(1, [(":status", "413")]), .data(1, "no", ends: true))
      if resets { probe.feed(.reset(1, 0)) }
      #expect(probe.seen().suffix(2) == [.data(1, "no"), .end(1)])
      #expect(probe.frames() == (resets ? [] : [.reset(1, 0)]))
      #expect(probe.client.openStreams == 0)
      probe.client.release(ticket)
      #expect(probe.client.cancelled == 0)
    }
  }
}
