import Foundation
import Testing

/// Stale answers: validated, or sent because the origin fails, and never in place of another answer.
@Suite struct CacheStaleTests {
  private static let stale = "HTTP/1.1 200 OK\r\nCache-Control: max-age=0\r\nETag: \"v1\"\r\nContent-Length: 5\r\n\r\nfirst"

  private let origin: Origin
  init() throws { origin = try Origin.shared() }

  private func withStored(
    _ cache: String, then steps: [Origin.Step]..., body: (ProxyProcess, _ url: String, _ name: String) throws -> Void
  ) throws {
    let name = Origin.newName()
    let all: [[Origin.Step]] = [[.readBody, .send(Self.stale)]] + steps.map { [.readBody] + $0 }
    let text = String(decoding: try JSONEncoder().encode(all), as: UTF8.self)
    _ = try origin.ask("/script?name=\(name)", text, as: Origin.Nothing.self)
    try withProxy(try Configuration.https("cache: {\(cache)}")) { proxy throws in
      let url = "http://api.test/?id=\(name)"
      #expect(try proxy.ask(url).cacheStatus == "fwd=uri-miss; stored")
      try body(proxy, url, name)
    }
  }

  @Test func `a 304 makes it right again, and the app does not see it`() throws {
    let renewed = "HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=600\r\nETag: \"v1\"\r\nX-New: yes\r\n\r\n"
    try withStored("", then: [.send(renewed)]) { proxy, url, name throws in
      let answer = try proxy.ask(url)
      #expect(answer.status == 200 && answer.text == "first" && answer["X-New"] == "yes")
      #expect(answer.cacheStatus?.hasPrefix("fwd=stale; fwd-status=304") == true)
      #expect(try proxy.ask(url).cacheStatus?.hasPrefix("hit") == true)
      #expect(try origin.exchanges(name).last?["If-None-Match"] == "\"v1\"")
    }
  }

  @Test(arguments: [500, 502, 503, 504]) func `it stands in for a failing origin as long as that is granted`(_ status: Int)
    throws
  {
    let failure = "HTTP/1.1 \(status) Failed\r\nContent-Length: 0\r\n\r\n"
    try withStored("stale_if_error: 10m", then: [.send(failure)]) { proxy, url, _ throws in
      let answer = try proxy.ask(url)
      #expect(answer.text == "first")
      #expect(answer.cacheStatus == "fwd=stale; fwd-status=\(status); detail=stale-if-error")
    }
    try withStored("", then: [.send(failure)]) { proxy, url, _ throws in #expect(try proxy.ask(url).status == status) }
  }

  @Test func `and for one that closes the connection without an answer`() throws {
    try withStored("stale_if_error: 10m", then: [.reset]) { proxy, url, _ throws in
      #expect(try proxy.ask(url).text == "first")
    }
  }

  @Test func `and for one that breaks its answer off before a byte of it has gone, however often`() throws {
    let broken = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
    try withStored("stale_if_error: 10m", then: [.send(broken), .close]) { proxy, url, name throws in
      for _ in 0..<3 {
        let answer = try proxy.ask(url)
        #expect(answer.text == "first" && answer.cacheStatus == "fwd=stale; detail=stale-if-error", "\(answer.head)")
      }
      #expect(try origin.exchanges(name).count == 4)
    }
    try withStored("", then: [.send(broken), .close]) { proxy, url, _ throws in
      let app = try proxy.connect()
      for _ in 0..<2 {
        try app.send(ProxyProcess.request("GET", url))
        expectOwnAnswer(try app.readAnswer(), 502, "http_protocol_error")
      }
    }
  }

  @Test func `interim responses before such an answer reach the app`() throws {
    let hints = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n"
    let broken = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
    try withStored("stale_if_error: 10m", then: [.send(hints + broken), .close]) { proxy, url, _ throws in
      let app = try proxy.connect()
      for _ in 0..<2 {
        try app.send(ProxyProcess.request("GET", url))
        let interim = String(decoding: try app.read(through: "\r\n\r\n"), as: UTF8.self)
        #expect(interim.hasPrefix("HTTP/1.1 103 ") && interim.contains("style.css"))
        #expect(try app.readAnswer().text == "first")
      }
    }
  }

  @Test(arguments: [403, 404, 410]) func `it never stands in for another answer, and is gone after one`(_ status: Int) throws {
    let refusal = "HTTP/1.1 \(status) Said\r\nContent-Length: 0\r\n\r\n"
    let failure = "HTTP/1.1 503 Failed\r\nContent-Length: 0\r\n\r\n"
    try withStored("stale_if_error: 10m", then: [.send(refusal)], [.send(failure)]) { proxy, url, _ throws in
      #expect(try proxy.ask(url).status == status)
      #expect(try proxy.ask(url).text != "first")
    }
  }

  @Test func `with redirects, too, and one that the validation meets is followed by the next request`() throws {
    let world = try Redirecting()
    let (name, next) = (Origin.newName(), Origin.newName())
    try origin.script(name, [.readBody, .send(Self.stale)], [.readBody, Redirecting.answer(302, "/2?id=\(next)")])
    try origin.answers(next, "Cache-Control: max-age=600", bodies: ["second", "third"])
    let text = world.configuration(world.standard(), entry: ", cache: {stale_while_revalidate: 1h}")
    try withProxy(text) { proxy throws in
      let url = "http://api.test/1?id=\(name)"
      #expect(try proxy.ask(url).text == "first")
      let stale = try proxy.ask(url)
      #expect(stale.text == "first" && stale.cacheStatus?.hasPrefix("hit; ttl=-") == true, "\(stale.head)")
      #expect(try eventually { try proxy.ask(url).text == "second" })
      #expect(try proxy.ask(url).cacheStatus?.hasPrefix("hit") == true)
      #expect(try origin.exchanges(next).count == 1)
    }
  }

  @Test func `a validation in the background goes to the next origin, whatever becomes of the request that began it`() throws {
    let (first, second) = (try ListedOrigin(), try ListedOrigin())
    let entry = "cache: {stale_while_revalidate: 1h, max_object: 8MiB}"
    let fields = ["X-Pad: \(6 << 20)", "X-Cache-Control: max-age=0"]
    try withProxy(OriginListTests.configuration([first.url(), second.url()], entry: entry)) { proxy throws in
      #expect(try proxy.ask("http://api.test/", fields).listed?.port == first.port)
      first.kill()
      try first.restart()
      try first.set(.hang)
      let slow = try proxy.connect(receiveBuffer: 4096)
      try slow.send(ProxyProcess.request("GET", "http://api.test/", fields))
      #expect(String(decoding: try slow.read(through: "\r\n\r\n"), as: UTF8.self).contains("; hit; ttl=-"))
      try first.awaitTaken(1)
      slow.reset()
      try second.awaitTaken(1)
      #expect(try eventually { try proxy.ask("http://api.test/", fields).listed?.port == second.port })
    }
  }

  @Test func `while it is validated in the background, it is sent at once`() throws {
    let next = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 6\r\n\r\nsecond"
    try withStored("stale_while_revalidate: 10m", then: [.gate("go"), .send(next)]) { proxy, url, name throws in
      let answer = try proxy.ask(url)
      #expect(answer.text == "first")
      #expect(answer.cacheStatus?.hasPrefix("hit; ttl=") == true)
      try origin.await(name, gate: "go")
      #expect(try proxy.ask(url).text == "first")
      try origin.open("go", of: name)
      try origin.await(name, count: 2, state: "complete")
      var text = ""
      for _ in 0..<500 where text != "second" {
        text = try proxy.ask(url).text
        usleep(10_000)
      }
      #expect(text == "second")
      #expect(try origin.exchanges(name).count == 2)
    }
  }
}
