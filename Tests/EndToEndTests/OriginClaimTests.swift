import Foundation
import Testing

/// The single try of an origin that is down: whoever has it uses it, or gives it back.
@Suite struct OriginClaimTests {
  /// Longest first pause, with its jitter, in seconds.
  private static let pause = 6.3

  @Test func `a failure of the one that serves does not take the try of the next`() throws {
    let (first, second) = (try ListedOrigin("http"), try ListedOrigin("http"))
    for origin in [first, second] { origin.kill() }
    let text = OriginListTests.configuration([first.url(), second.url()]).replacing("connect: 2s", with: "connect: 20s")
    try withProxy(text) { proxy throws in
      #expect(try proxy.ask("http://api.test/").status == 502)
      for origin in [first, second] { try origin.restart() }
      Thread.sleep(forTimeInterval: Self.pause)
      #expect(try proxy.ask("http://api.test/").listed?.port == first.port)
      // It keeps no connection.
      first.kill()
      try first.restart()
      try first.set(.swallow)
      #expect(try proxy.ask("http://api.test/").status == 502)
      #expect(try proxy.ask("http://api.test/").listed?.port == second.port)
    }
  }

  /// Sends a request, and reads nothing yet.
  private func send(_ text: String, _ proxy: ProxyProcess) throws -> RawConnection {
    let client = try proxy.connect()
    try client.send(text)
    return client
  }

  @Test func `one that hangs has one request as long as that waits for its answer`() throws {
    let (first, second) = (try ListedOrigin("http"), try ListedOrigin("http"))
    first.kill()
    let text = OriginListTests.configuration([first.url(), second.url()])
      .replacing("connect: 2s, response_head: 5s", with: "connect: 1s, response_head: 4s")
    try withProxy(text) { proxy throws in
      #expect(try proxy.ask("http://api.test/").listed?.port == second.port)
      try first.restart()
      try first.set(.mute)
      var waiting: [RawConnection] = []
      #expect(
        try eventually(seconds: 10) {
          waiting.append(try send(ProxyProcess.request("GET", "http://api.test/"), proxy))
          return try first.taken() == 1
        })
      // Six shares of `connect`.
      let end = Date(timeIntervalSinceNow: 3)
      var served = 0
      while Date() < end {
        #expect(try proxy.ask("http://api.test/").listed?.port == second.port)
        served += 1
      }
      #expect(try served > 0 && first.taken() == 1)
      let statuses = try waiting.map { try $0.readAnswer().status }
      #expect(statuses.count { $0 == 504 } == 1 && statuses.count { $0 == 200 } == statuses.count - 1, "\(statuses)")
    }
  }

  @Test func `apps that keep their bodies back do not keep the try`() throws {
    let (first, second) = (try ListedOrigin("http"), try ListedOrigin("http"))
    first.kill()
    let text = OriginListTests.configuration([first.url(), second.url()]).replacing("connect: 2s", with: "connect: 30s")
    try withProxy(text) { proxy throws in
      #expect(try proxy.ask("http://api.test/").listed?.port == second.port)
      try first.restart()
      let head = "POST http://api.test/slow HTTP/1.1\r\nHost: api.test\r\nContent-Length: 100\r\n\r\nx"
      var slow: [RawConnection] = []
      #expect(
        try eventually(seconds: 10) {
          slow.append(try send(head, proxy))
          // Those that the second one has keep its connections.
          if slow.count > 20 { slow.removeFirst().close() }
          return try first.taken() > 0
        })
      #expect(try eventually(seconds: 5) { try proxy.ask("http://api.test/").listed?.port == first.port })
      withExtendedLifetime(slow) {}
    }
  }
}
