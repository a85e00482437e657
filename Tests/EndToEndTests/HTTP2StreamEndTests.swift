import Foundation
import Testing

/// An answer is whole, as its head says, before its stream ends: many servers send END_STREAM in a frame of its own.
@Suite struct HTTP2StreamEndTests {
  private typealias Step = HTTP2Origin.Step

  private static let head: [[String]] = [[":status", "200"], ["content-length", "2"]]
  /// Each way to answer before the end, and the request's method.
  private static let answers: [(name: String, method: String, steps: [Step])] = [
    ("length", "GET", [.head(head), .data("ok")]), ("head", "HEAD", [.head(head)]),
    ("none", "GET", [.head([[":status", "204"]])]), ("same", "GET", [.head([[":status", "304"]])]),
  ]

  @Test func `an end in a frame of its own is awaited, and the connection stays`() throws {
    let origin = try HTTP2Origin()
    try withProxy(origin.configuration()) { proxy throws in
      for answer in Self.answers {
        try origin.script(answer.name, [.awaitEnd] + answer.steps + [.end([])])
        for _ in 0..<40 { #expect(try proxy.ask(answer.method, "http://api.test/?id=\(answer.name)").status < 400) }
      }
      try origin.script("trailers", [.awaitEnd, .head(Self.head), .data("ok"), .end([["x-sum", "1"]])])
      for _ in 0..<40 { #expect(try proxy.ask("http://api.test/?id=trailers").text == "ok") }
      let connections = try origin.tell().connections
      #expect(connections.count == 1 && connections[0].resets.isEmpty, "\(connections)")
    }
  }

  @Test func `an end that does not come costs a second, and no other request`() throws {
    let origin = try HTTP2Origin()
    try origin.set(settings: ["3": 1])
    try origin.script("half", [.awaitEnd, .head(Self.head), .data("ok"), .gate("never")])
    try origin.script("whole", HTTP2Origin.Step.answer("yes"))
    try withProxy(origin.configuration(top: "threads: 1\nlimits: {upstream_connections: 1}")) { proxy throws in
      #expect(try proxy.ask("http://api.test/?id=half").text == "ok")
      // The origin takes one request at a time: this one waits for the other's end.
      #expect(try proxy.ask("http://api.test/?id=whole").text == "yes")
      let log = try origin.tell()
      #expect(log.of("half").map(\.reset) == [0], "\(log.of("half"))")
      #expect(log.connections.count == 1)
    }
  }
}
