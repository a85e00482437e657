import Foundation
import Testing

/// What an app inside of intercepted TLS may not do, and that other apps do not notice.
@Suite struct HTTP2AppFloodTests {
  /// Frames: length, kind, flags, stream, payload.
  private static let floods: [(String, [String])] = [
    ("PING", ["--flood", "000008 06 00 00000000 3031323334353637", "--times", "2000"]),
    ("SETTINGS", ["--flood", "000000 04 00 00000000", "--times", "2000"]),
    ("PRIORITY", ["--flood", "000005 02 00 00000001 0000000005", "--times", "2000"]),
    ("unknown frames", ["--flood", "000001 fa 00 00000000 78", "--times", "2000"]),
    ("frames of an ended stream", ["--flood", "000001 fa 00 00000001 78", "--times", "2000"]),
    ("WINDOW_UPDATE", ["--flood", "000004 08 00 00000000 00000001", "--times", "2000"]),
    // A head that begins with GET, https and never ends.
    ("CONTINUATION", ["--flood", "000002 01 01 00000003 8287" + String(repeating: " 000001 09 00 00000003 84", count: 50)]),
    (
      "empty CONTINUATION",
      ["--flood", "000002 01 01 00000003 8287" + String(repeating: " 000000 09 00 00000003", count: 2000)]
    ),
    ("requests that it gives up", ["--resets", "2000"]), ("requests that it has reset", ["--provoked", "2000"]),
  ]

  @Test func `floods end their connection within a second, memory stays flat, and other apps go on`() throws {
    let origin = try HTTP2Origin()
    try origin.script("slow", [.head([[":status", "200"]]), .data("a"), .gate("on"), .last("b")])
    let configuration = origin.interception(top: "threads: 1\nadmin: {address: \"127.0.0.1:0\"}")
    try withProxy(configuration) { proxy throws in
      let slow = try HTTP2App.start(proxy, [HTTP2App.get("/?id=slow")], ["--until-answered"])
      defer { slow.signal(SIGKILL) }
      try origin.await(.requests, of: "slow")
      let before = try Measures(proxy.pid).resident
      for (name, options) in Self.floods {
        let app = try HTTP2App.start(proxy, [HTTP2App.get("/")], options + ["--patience", "20"])
        let seen = try app.awaitApp()
        #expect(seen.end != "open" && seen.seconds < 1, "\(name): \(seen.end) after \(seen.seconds) s")
        #expect(proxy.process.awaitLine { $0.contains("its app broke a bound") } != nil, "\(name)")
      }
      let grown = try Measures(proxy.pid).resident - before
      #expect(grown < 8 << 10, "\(grown) KiB")
      try origin.open("on")
      let seen = try slow.awaitApp()
      #expect(seen[1].last == .end && seen.length(1) == 2, "\(seen)")
      #expect(try eventually { try proxy.metric("authproxy_client_connections") == 0 })
    }
  }
}
