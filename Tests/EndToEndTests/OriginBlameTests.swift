import Foundation
import Testing

/// What makes an origin of a list down: its own failures, and no app's.
@Suite struct OriginBlameTests {
  private static func up(_ origin: String) -> String { #"authproxy_origin_up{upstream="api.test",origin="\#(origin)"}"# }

  /// Sends a head and one byte of a body.
  private func sendSlowly(to host: String, _ proxy: ProxyProcess) throws -> RawConnection {
    let client = try proxy.connect()
    try client.send("POST http://\(host)/ HTTP/1.1\r\nHost: \(host)\r\nContent-Length: 100\r\n\r\nx")
    return client
  }

  @Test func `an origin that has waited long enough for an app's body is not down`() throws {
    let (first, second) = (try ListedOrigin("http", .swallow), try ListedOrigin("http"))
    let urls = [first.url(), second.url()]
    try withProxy(OriginListTests.configuration(urls)) { proxy throws in
      let client = try sendSlowly(to: "api.test", proxy)
      #expect(try client.readAnswer().status == 502)
      try first.set(.serve)
      #expect(try proxy.ask("http://api.test/").listed?.port == first.port)
      #expect(try proxy.metric(Self.up(urls[0])) == 1)
      #expect(!proxy.process.lines.contains { $0.contains("an origin is down") }, "\(proxy.tail)")
    }
  }

  @Test func `nor is a parent`() throws {
    let parent = try TestListener(backlog: 8)
    let text = """
      admin: 127.0.0.1:0
      via: corporate
      parents: {corporate: {url: "http://127.0.0.1:\(parent.port)"}}
      upstreams: [{match: plain.test, origin: "http://far.test"}]

      """
    try withProxy(text) { proxy throws in
      let client = try sendSlowly(to: "plain.test", proxy)
      let server = try parent.accept()
      _ = try server.readText(through: "\r\n\r\n")
      server.close()
      #expect(try client.readAnswer().status == 502)
      #expect(try proxy.metric(#"authproxy_parent_up{parent="corporate"}"#) == 1)
    }
  }

  /// The parent closes without an answer, as one that crashes does.
  @Test func `an origin behind a parent that gives no answer is not down`() throws {
    let parent = try TestListener(backlog: 8)
    let text = """
      admin: 127.0.0.1:0
      via: corporate
      parents: {corporate: {url: "http://127.0.0.1:\(parent.port)"}}
      upstreams: [{match: api.test, origin: ["http://a.far.test", "http://b.far.test"]}]

      """
    try withProxy(text) { proxy throws in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("POST", "http://api.test/", [], body: "x"))
      let server = try parent.accept()
      #expect(try server.readText(through: "\r\n\r\n").hasPrefix("POST http://a.far.test/"))
      server.close()
      #expect(try client.readAnswer().status == 502)
      #expect(try proxy.metric(#"authproxy_parent_up{parent="corporate"}"#) == 0)
      for origin in ["a", "b"] { #expect(try proxy.metric(Self.up("http://\(origin).far.test")) == 1) }
    }
  }

  @Test(arguments: [ListedOrigin.Mode.garbage, .half, .early])
  func `requests go to the next after one that sends no whole head`(_ mode: ListedOrigin.Mode) throws {
    let (first, second) = (try ListedOrigin("http", mode), try ListedOrigin("http"))
    try withProxy(OriginListTests.configuration([first.url(), second.url()])) { proxy throws in
      #expect(try proxy.ask("http://api.test/").status == 502)
      for _ in 0..<3 { #expect(try proxy.ask("http://api.test/").listed?.port == second.port) }
    }
  }

  @Test(arguments: [ListedOrigin.Mode.mute, .swallow, .garbage, .half, .early, .hint])
  func `one that is down, and takes connections again without a usable answer, is asked once`(
    _ mode: ListedOrigin.Mode
  ) throws {
    let (first, second) = (try ListedOrigin("http"), try ListedOrigin("http"))
    first.kill()
    let text = OriginListTests.configuration([first.url(), second.url()])
      .replacing("response_head: 5s", with: "response_head: 1s")
    try withProxy(text) { proxy throws in
      func ask() throws -> Int? { try proxy.ask("http://api.test/").listed?.port }
      #expect(try ask() == second.port)
      try first.restart()
      try first.set(mode)
      // Its pause is 5 s, and a quarter at most.
      #expect(try eventually(seconds: 10) { try ask() == nil })
      for _ in 0..<5 { #expect(try ask() == second.port) }
      #expect(try first.taken() == 1)
      #expect(try proxy.metric(Self.up(first.url())) == 0)
    }
  }
}
