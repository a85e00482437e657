import Foundation
import Testing

/// What an origin may not do, and that others do not notice.
@Suite struct HTTP2BoundsTests {
  private static let calm = 0xb

  @Test func `floods end their connection with ENHANCE_YOUR_CALM within a second, and memory stays flat`() throws {
    let origin = try HTTP2Origin()
    let other = try HTTP2Origin()
    let plays: [(String, [HTTP2Origin.Step])] = [
      ("PING", [.frames(2000, 6, 0, 0, "01234567")]), ("SETTINGS", [.frames(2000, 4, 0, 0, "")]),
      ("PRIORITY", [.frames(2000, 2, 0, 1, "\u{0}\u{0}\u{0}\u{0}\u{5}")]),
      ("empty DATA", [.head([[":status", "200"]]), .frames(2000, 0, 0, -1, "")]),
      ("unknown frames", [.frames(2000, 0xfa, 0, 0, "x")]),
      ("frames of an ended stream", [.reset(2), .frames(2000, 0xfa, 0, -1, "")]),
      ("WINDOW_UPDATE", [.frames(2000, 8, 0, 0, "\u{0}\u{0}\u{0}\u{1}")]),
      ("CONTINUATION", [.continued(50)]), ("empty CONTINUATION", [.frame(1, 0, -1, ""), .frames(2000, 9, 0, -1, "")]),
    ]
    for (number, play) in plays.enumerated() { try origin.script("f\(number)", [.awaitEnd] + play.1 + [.gate("never")]) }
    try other.script("slow", [.head([[":status", "200"]]), .data("a"), .gate("on"), .last("b")])
    let configuration = """
      threads: 1
      upstreams:
        - {match: api.test, origin: "\(origin.url)", http_version: 2}
        - {match: other.test, origin: "\(other.url)", http_version: 2}
      """
    try withProxy(configuration) { proxy throws in
      let slow = try proxy.connect()
      try slow.send(ProxyProcess.request("GET", "http://other.test/?id=slow"))
      try other.await(.requests)
      let before = try Measures(proxy.pid).resident
      for (number, play) in plays.enumerated() {
        let client = try proxy.connect()
        let begun = Date()
        try client.send(ProxyProcess.request("POST", "http://api.test/?id=f\(number)", body: "x"))
        let head = try client.readHead()
        if head.status == 200 {
          #expect(!String(decoding: try client.readToEnd().bytes, as: UTF8.self).hasSuffix("0\r\n\r\n"), "\(play.0)")
        } else {
          #expect(head.status == 502 || head.status == 503, "\(play.0): \(head.head)")
        }
        try origin.await(.closed, number + 1)
        #expect(-begun.timeIntervalSinceNow < 1, "\(play.0)")
        let last = try origin.tell().connections[number]
        // What it sends on meets a closed connection, and the reset of that may overtake the GOAWAY.
        #expect(last.goaways.last ?? Self.calm == Self.calm, "\(play.0): \(last)")
        let line = proxy.process.awaitLine(where: { $0.contains("broke a bound") })
        #expect(line?.contains("failure)") == false)
      }
      let grown = try Measures(proxy.pid).resident - before
      #expect(grown < 8 << 10, "\(grown) KiB")
      try other.open("on")
      #expect(try slow.readAnswer().text == "ab")
      #expect(proxy.process.lines.count { $0.contains("broke a bound") } == plays.count, "\(proxy.tail)")
    }
  }

  @Test func `a head over the limit is 502 for its stream only`() throws {
    let origin = try HTTP2Origin()
    let long = [
      [":status", "200"], ["x-long", String(repeating: "x", count: 40_000)], ["x-more", String(repeating: "x", count: 40_000)],
    ]
    let many = [[":status", "200"]] + (0..<2000).map { ["x-\($0)", "v"] }
    try origin.script("long", [.awaitEnd, .only(long)])
    try origin.script("many", [.awaitEnd, .only(many)])
    try origin.script("other", [.head([[":status", "200"]]), .data("a"), .gate("on"), .last("b")])
    try withProxy(origin.configuration()) { proxy throws in
      let other = try proxy.connect()
      try other.send(ProxyProcess.request("GET", "http://api.test/?id=other"))
      try origin.await(.requests)
      for name in ["long", "many"] {
        expectOwnAnswer(
          try proxy.ask("POST", "http://api.test/?id=\(name)", body: "x"), 502, "http_response_header_section_size")
      }
      try origin.open("on")
      #expect(try other.readAnswer().text == "ab")
      #expect(try origin.tell().connections.count == 1)
    }
  }

  @Test func `thirty-two interim answers pass, more are a broken origin`() throws {
    let origin = try HTTP2Origin()
    let hint = HTTP2Origin.Step.head([[":status", "103"]])
    try origin.script("some", Array(repeating: hint, count: 20) + HTTP2Origin.Step.answer("ok"))
    try origin.script("many", [.awaitEnd] + Array(repeating: hint, count: 40) + HTTP2Origin.Step.answer("ok"))
    try withProxy(origin.configuration()) { proxy throws in
      #expect(try proxy.ask("http://api.test/?id=some").text == "ok")
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("POST", "http://api.test/?id=many", body: "x"))
      expectOwnAnswer(try client.readAnswer(), 502, "http_protocol_error")
      #expect(try proxy.ask("http://api.test/").status == 200)
      #expect(try origin.tell().connections.count == 1)
    }
  }

  @Test func `interim answers do not prolong response_head`() throws {
    let origin = try HTTP2Origin()
    try origin.script("hint", [.awaitEnd, .head([[":status", "103"]]), .gate("never")])
    try withProxy(origin.configuration(top: "threads: 1\ntimeouts: {response_head: 1s}")) { proxy throws in
      let answer = try proxy.ask("http://api.test/?id=hint")
      expectOwnAnswer(answer, 504, "connection_read_timeout")
      try origin.await(.resets)
      #expect(try proxy.ask("http://api.test/").told().connection == 1)
    }
  }
}
