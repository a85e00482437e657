import Foundation
import Testing

/// What is malformed (RFC 9113 sections 8.1.1, 8.2, 8.3.2) hurts its own stream only.
@Suite struct HTTP2MalformedAnswerTests {
  private static let ok = [":status", "200"]

  /// Each by its name, with END_STREAM on the head.
  private static let heads: [(String, [[String]])] = [
    ("upper case", [ok, ["X-Upper", "a"]]), ("no token", [ok, ["a b", "c"]]), ("empty name", [ok, ["", "c"]]),
    ("CR", [ok, ["a", "b\rc"]]), ("LF", [ok, ["a", "b\nc: d"]]), ("NUL", [ok, ["a", "b\u{0}c"]]),
    ("CR LF", [ok, ["a", "b\r\nSet-Cookie: c=d"]]), ("LF in a name", [ok, ["a\nb", "c"]]),
    ("colon in a name", [ok, ["a:b", "c"]]),
    ("leading space", [ok, ["a", " b"]]), ("trailing space", [ok, ["a", "b "]]), ("leading tab", [ok, ["a", "\tb"]]),
    ("connection", [ok, ["connection", "close"]]), ("keep-alive", [ok, ["keep-alive", "timeout=5"]]),
    ("transfer-encoding", [ok, ["transfer-encoding", "chunked"]]), ("upgrade", [ok, ["upgrade", "websocket"]]),
    ("proxy-connection", [ok, ["proxy-connection", "close"]]), ("te", [ok, ["te", "trailers"]]),
    ("no status", [["a", "b"]]), ("two statuses", [ok, ok]), ("status behind a field", [["a", "b"], ok]),
    ("a pseudo field of requests", [ok, [":path", "/"]]), ("unknown pseudo field", [ok, [":x", "y"]]),
    ("status 99", [[":status", "099"]]), ("status 600", [[":status", "600"]]), ("status 999", [[":status", "999"]]),
    ("status 20", [[":status", "20"]]), ("status 2000", [[":status", "2000"]]), ("status +20", [[":status", "+20"]]),
    ("status abc", [[":status", "abc"]]), ("status 101", [[":status", "101"]]), ("empty status", [[":status", ""]]),
    ("a length without a body", [ok, ["content-length", "5"]]), ("a signed length", [ok, ["content-length", "+0"]]),
    ("a negative length", [ok, ["content-length", "-1"]]),
    ("two lengths", [ok, ["content-length", "0"], ["content-length", "1"]]),
    ("two lengths in one", [ok, ["content-length", "0, 0"]]), ("an empty length", [ok, ["content-length", ""]]),
    ("an endless length", [ok, ["content-length", "99999999999999999999"]]),
  ]

  /// Those with several frames.
  private static let others: [(String, [HTTP2Origin.Step])] = [
    ("DATA before a head", [.data("x"), .only([ok])]),
    ("interim with END_STREAM", [.only([[":status", "103"]])]),
    ("RST_STREAM", [.reset(2)]),
    ("a 204 with DATA", [.head([[":status", "204"]]), .last("x")]),
    ("a 304 with DATA", [.head([[":status", "304"]]), .last("x")]),
    ("too much DATA", [.head([ok, ["content-length", "2"]]), .last("more")]),
    ("too little DATA", [.head([ok, ["content-length", "9"]]), .last("less")]),
    ("too little DATA and trailers", [.head([ok, ["content-length", "9"]]), .data("less"), .end([["a", "b"]])]),
    ("a second head", [.head([ok]), .data("x"), .head([ok])]),
    ("trailers with a status", [.head([ok]), .data("x"), .end([[":status", "200"]])]),
    ("trailers in upper case", [.head([ok]), .data("x"), .end([["X-Sum", "1"]])]),
    ("trailers with a line end", [.head([ok]), .data("x"), .end([["a", "b\r\nc: d"]])]),
    ("trailers with a connection field", [.head([ok]), .data("x"), .end([["connection", "close"]])]),
  ]

  @Test func `it is 502, or a cut, and the other streams finish`() throws {
    let origin = try HTTP2Origin()
    let plays = Self.heads.map { ($0.0, [HTTP2Origin.Step.awaitEnd, .only($0.1)]) } + Self.others
    for (number, play) in plays.enumerated() { try origin.script("m\(number)", play.1) }
    try origin.script("other", [.head([[":status", "200"]]), .data("begun"), .gate("last"), .end([["x-sum", "1"]])])
    try withProxy(origin.configuration(version: "2")) { proxy throws in
      let other = try proxy.connect()
      try other.send(ProxyProcess.request("GET", "http://api.test/?id=other"))
      try origin.await(.requests, of: "other")
      let head204 = [204, 304]
      for (number, play) in plays.enumerated() {
        let client = try proxy.connect()
        try client.send(ProxyProcess.request("POST", "http://api.test/?id=m\(number)", body: "x"))
        let answer = try client.readHead()
        if answer.status == 502 {
          #expect(answer.proxyError == "http_protocol_error", "\(play.0): \(answer.head)")
          #expect(answer["Proxy-Status"]?.contains("; next-protocol=h2") == true, "\(play.0): \(answer.head)")
        } else if head204.contains(answer.status) {
          // It is whole without a body.
          continue
        } else {
          let (bytes, _) = try client.readToEnd()
          let text = String(decoding: bytes, as: UTF8.self)
          let isCut = answer.isChunked ? !text.hasSuffix("0\r\n\r\n") && !text.contains("0\r\nX") : bytes.count < 9
          #expect(number >= Self.heads.count && isCut, "\(play.0): \(answer.head)\(text)")
          #expect(answer["Set-Cookie"] == nil)
        }
        #expect(try origin.tell().of("m\(number)").count == 1, "\(play.0) was repeated")
      }
      try origin.open("last")
      #expect(try other.readAnswer().trailers.count == 1)
      #expect(try origin.tell().connections.count == 1)
    }
  }

  @Test func `DATA for HEAD is no answer`() throws {
    let origin = try HTTP2Origin()
    try origin.script("head", [.head([Self.ok]), .last("x")])
    try withProxy(origin.configuration()) { proxy throws in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("HEAD", "http://api.test/?id=head"))
      let answer = try client.readAnswer(to: "HEAD")
      #expect(answer.status == 502 || answer.status == 200, "\(answer.head)")
      // Nothing of it is taken for the next answer.
      #expect(try proxy.ask("http://api.test/").status == 200)
      #expect(try origin.tell().connections.count == 1)
    }
  }

  @Test func `what is malformed for the connection is 502 for its streams, and the next request has another`() throws {
    let origin = try HTTP2Origin()
    let plays: [(String, [HTTP2Origin.Step])] = [
      ("a push", [.frame(5, 4, -1, "\u{0}\u{0}\u{0}\u{2}")]), ("HEADERS on stream 0", [.frame(1, 5, 0, "\u{88}")]),
      ("a table index that is not there", [.frame(1, 5, -1, "\u{ff}\u{ff}\u{7f}")]),
      ("SETTINGS of 5 bytes", [.frame(4, 0, 0, "abcde")]), ("a window update of 0", [.frame(8, 0, 0, "\u{0}\u{0}\u{0}\u{0}")]),
      ("a head inside a head", [.frame(1, 0, -1, "\u{88}"), .frame(6, 0, 0, "01234567")]),
    ]
    for (number, play) in plays.enumerated() { try origin.script("c\(number)", [.awaitEnd] + play.1) }
    try withProxy(origin.configuration(version: "2")) { proxy throws in
      for (number, play) in plays.enumerated() {
        let answer = try proxy.ask("POST", "http://api.test/?id=c\(number)", body: "x")
        #expect(answer.status == 502 && answer.proxyError == "http_protocol_error", "\(play.0): \(answer.head)")
        try origin.await(.closed, number + 1)
        let connection = try origin.tell().connections[number]
        #expect(connection.goaways.last ?? 0 != 0, "\(play.0): \(connection)")
      }
      #expect(try proxy.ask("http://api.test/").status == 200)
    }
  }
}
