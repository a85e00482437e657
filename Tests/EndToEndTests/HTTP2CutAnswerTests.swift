import Foundation
import Testing

/// An answer that ends at any byte never looks whole.
@Suite struct HTTP2CutAnswerTests {
  private static let plays: [(String, [HTTP2Origin.Step], String)] = [
    ("length", [.head([[":status", "200"], ["content-length", "8"]]), .data("body"), .last("more")], "bodymore"),
    ("chunked", [.head([[":status", "200"]]), .data("body"), .last("more")], "bodymore"),
    ("trailers", [.head([[":status", "200"]]), .data("bodymore"), .end([["x-sum", "8"]])], "bodymore"),
    ("interim", [.head([[":status", "103"]]), .head([[":status", "200"]]), .last("bodymore")], "bodymore"),
  ]
  /// Frames, heads and all; found by sending ever more.
  private static let most = 140

  @Test(arguments: [0, 1, 2, 3]) func `a connection that ends at any byte is an error or a cut`(number: Int) throws {
    let (name, steps, body) = Self.plays[number]
    let origin = try HTTP2Origin()
    for cut in 0..<Self.most { try origin.script("\(name)\(cut)", [.awaitEnd, .cut(cut)] + steps + [.close]) }
    try withProxy(origin.configuration(version: "2", top: "threads: 1\nlog: {access: false}")) { proxy throws in
      var whole = 0
      for cut in 0..<Self.most {
        // The next request would meet the end of the connection before it.
        try origin.await(.closed, cut)
        let client = try proxy.connect()
        try client.send(ProxyProcess.request("POST", "http://api.test/?id=\(name)\(cut)", body: "x"))
        var head = try client.readHead()
        while head.status < 200 { head = try client.readHead() }
        if head.status == 502 {
          #expect(whole == 0, "\(cut)")
          continue
        }
        #expect(head.status == 200, "\(cut): \(head.head)")
        var answer = head
        if (try? client.readBody(&answer)) != nil {
          whole += 1
          #expect(answer.text == body, "\(cut): \(answer.text)")
        } else {
          #expect(whole == 0, "\(cut) is cut, one before was whole")
        }
      }
      #expect(whole > 0, "none of them was whole")
      #expect(try origin.tell().requests.count == Self.most)
    }
  }

  @Test func `a stream that is reset behind its head is a cut, and the connection stays`() throws {
    let origin = try HTTP2Origin()
    try origin.script("length", [.head([[":status", "200"], ["content-length", "8"]]), .data("body"), .reset(2)])
    try origin.script("chunked", [.head([[":status", "200"]]), .data("body"), .reset(0)])
    try withProxy(origin.configuration()) { proxy throws in
      for name in ["length", "chunked"] {
        let client = try proxy.connect()
        try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
        var answer = try client.readHead()
        #expect(throws: HarnessError.self) { try client.readBody(&answer) }
        let old = try proxy.connect()
        try old.send("GET http://api.test/?id=\(name) HTTP/1.0\r\n\r\n")
        var other = try old.readHead()
        #expect(throws: HarnessError.self) { try old.readBody(&other) }
      }
      #expect(try proxy.ask("http://api.test/").told().connection == 1)
    }
  }
}
