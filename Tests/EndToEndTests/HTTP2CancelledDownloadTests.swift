import Foundation
import Testing

/// What apps leave unread costs those that follow nothing.
@Suite struct HTTP2CancelledDownloadTests {
  private static let size = 4 << 20

  /// - Returns: seconds.
  private static func download(_ proxy: ProxyProcess) throws -> Double {
    let begun = Date()
    #expect(try proxy.ask("http://api.test/?id=large").body.count == size)
    return -begun.timeIntervalSinceNow
  }

  @Test func `after thirty cancelled downloads the next one is as fast`() throws {
    let origin = try HTTP2Origin()
    try origin.script("large", [.head([[":status", "200"]]), .zeros(Self.size), .end([])])
    try withProxy(origin.configuration()) { proxy throws in
      let first = try Self.download(proxy)
      for count in 1...30 {
        let client = try proxy.connect(receiveBuffer: 4096)
        try client.send(ProxyProcess.request("GET", "http://api.test/?id=large"))
        #expect(try client.readHead().status == 200)
        client.close()
        try origin.await(.resets, count, of: "large")
      }
      let last = try Self.download(proxy)
      #expect(last < first * 3 + 0.5, "\(first) s, then \(last) s")
      #expect(try origin.tell().connections.count == 1)
    }
  }

  @Test func `many small messages that were on their way end nobody else's request`() throws {
    let origin = try HTTP2Origin()
    // Within the window of the second stream, which the proxy has reset meanwhile.
    let rest = HTTP2Origin.Step.frames(3000, 0, 0, 3, "a short message")
    try origin.script("long", [.head([[":status", "200"]]), .gate("reset"), rest, .last("whole")])
    try origin.script("short", [.head([[":status", "200"]]), .data("first"), .gate("never")])
    try withProxy(origin.configuration()) { proxy throws in
      let long = try proxy.connect()
      try long.send(ProxyProcess.request("GET", "http://api.test/?id=long"))
      try origin.await(.standing, of: "reset")
      let short = try proxy.connect()
      try short.send(ProxyProcess.request("GET", "http://api.test/?id=short"))
      #expect(try short.readHead().status == 200)
      short.close()
      try origin.await(.resets, of: "short")
      try origin.open("reset")
      #expect(try long.readAnswer().text == "whole")
      #expect(try proxy.ask("http://api.test/").told().connection == 1)
    }
  }
}
