import Foundation
import Testing

/// A frame that unpacks to far more than it weighs.
@Suite struct HTTP2HeaderBombTests {
  /// 16 KiB: a status, a field of 4,000 bytes that goes into HPACK's table, and references to it. Unpacked, 48 MB.
  private static let frame =
    "\u{88}\u{40}\u{1}x\u{7f}\u{a1}\u{1e}" + String(repeating: "a", count: 4000) + String(repeating: "\u{be}", count: 12_300)

  @Test func `it is 502 within a second, memory stays flat, and others go on`() throws {
    let origin = try HTTP2Origin()
    try origin.script("bomb", [.awaitEnd, .frame(1, 5, -1, Self.frame)])
    try origin.script("other", [.head([[":status", "200"]]), .data("a"), .gate("on"), .last("b")])
    try withProxy(origin.configuration()) { proxy throws in
      let other = try proxy.connect()
      try other.send(ProxyProcess.request("GET", "http://api.test/?id=other"))
      var unharmed = try other.readHead()
      let before = try Measures(proxy.pid).resident
      let begun = Date()
      for _ in 0..<10 {
        let answer = try proxy.ask("POST", "http://api.test/?id=bomb", body: "x")
        expectOwnAnswer(answer, 502, "http_response_header_section_size")
      }
      #expect(-begun.timeIntervalSinceNow < 10)
      let grown = try Measures(proxy.pid).resident - before
      #expect(grown < 4 << 10, "\(grown) KiB")
      try origin.open("on")
      try other.readBody(&unharmed)
      #expect(unharmed.text == "ab")
      #expect(try origin.tell().connections.count == 1)
    }
  }
}
