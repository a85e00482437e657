import Foundation
import Testing

/// What becomes of an answer that is not fresh any more.
@Suite struct CacheRenewalTests {
  private static let stale = "HTTP/1.1 200 OK\r\nCache-Control: max-age=0\r\nETag: \"v1\"\r\nContent-Length: 5\r\n\r\nfirst"

  @Test func `a 304 renews it, and the app's own condition is answered`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(
      name, [.send(Self.stale)],
      [.send("HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=600\r\nX-New: yes\r\nETag: \"v1\"\r\n\r\n")])
    try withProxy(try Configuration.https("cache: {}")) { proxy throws in
      let url = "http://api.test/?id=\(name)"
      _ = try proxy.ask(url)
      let renewed = try proxy.ask(url, ["If-None-Match: \"other\""])
      #expect(renewed.status == 200)
      #expect(renewed.text == "first")
      #expect(renewed["X-New"] == "yes")
      #expect(renewed.cacheStatus == "fwd=stale; fwd-status=304; stored")
      #expect(try origin.exchanges(name)[1].all("If-None-Match") == ["\"v1\""])
      #expect(try proxy.ask(url, ["If-None-Match: \"v1\""]).status == 304)
      #expect(try origin.exchanges(name).count == 2)
    }
  }

  @Test func `a 200 to HEAD renews what is stored for GET: its head, its time, and what it varies by`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    let renewal =
      "Cache-Control: max-age=600\r\nETag: \"v1\"\r\nX-New: yes\r\nVary: Accept-Language\r\nContent-Length: 5\r\n\r\n"
    try origin.script(name, [.send(Self.stale)], [.send("HTTP/1.1 200 OK\r\n" + renewal)], [.send(Self.stale)])
    try withProxy(try Configuration.https("cache: {}")) { proxy throws in
      let url = "http://api.test/?id=\(name)"
      _ = try proxy.ask(url, ["Accept-Language: de"])
      #expect(try proxy.ask("HEAD", url, ["Accept-Language: de"])["X-New"] == "yes")
      let hit = try proxy.ask(url, ["Accept-Language: de"])
      #expect(hit.text == "first" && hit["X-New"] == "yes" && hit["Vary"] == "Accept-Language", "\(hit.head)")
      #expect(hit.cacheStatus?.hasPrefix("hit") == true)
      #expect(try proxy.ask(url, ["Accept-Language: fr"]).cacheStatus == "fwd=vary-miss; stored")
    }
  }

  @Test func `a cookie that a 304 sets is for who asked alone`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(
      name, [.send(Self.stale)],
      [.send("HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=600\r\nSet-Cookie: a=b\r\nETag: \"v1\"\r\n\r\n")],
      [.send(Self.stale)])
    try withProxy(try Configuration.https("cache: {}")) { proxy throws in
      let url = "http://api.test/?id=\(name)"
      _ = try proxy.ask(url)
      #expect(try proxy.ask(url).all("Set-Cookie") == ["a=b"])
      #expect(try proxy.ask(url).all("Set-Cookie").isEmpty)
      #expect(try origin.exchanges(name).count == 3)
    }
  }

  @Test func `it serves while the origin has a fault, and not for another answer`() throws {
    let origin = try Origin.shared()
    let failing = "HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno"
    for (answer, isServed) in [
      (failing, true), ("nonsense\r\n\r\n", true), (failing.replacingOccurrences(of: "503", with: "404"), false),
    ] {
      let name = Origin.newName()
      try origin.script(name, [.send(Self.stale)], [.send(answer), .close])
      try withProxy(try Configuration.https("cache: {stale_if_error: 1h}")) { proxy throws in
        let url = "http://api.test/?id=\(name)"
        _ = try proxy.ask(url)
        let served = try proxy.ask(url)
        #expect(served.status == (isServed ? 200 : 404))
        #expect(served.cacheStatus?.contains("stale-if-error") == isServed)
      }
    }
  }

  @Test func `it serves at once while one validation runs`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(
      name, [.send(Self.stale)],
      [.gate("validation"), .send("HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=600\r\nETag: \"v1\"\r\n\r\n")])
    try withProxy(try Configuration.https("cache: {stale_while_revalidate: 1h}")) { proxy throws in
      let url = "http://api.test/?id=\(name)"
      _ = try proxy.ask(url)
      for _ in 0..<3 {
        let served = try proxy.ask(url)
        #expect(served.text == "first")
        #expect(served.cacheStatus?.hasPrefix("hit; ttl=-") == true)
      }
      try origin.await(name, gate: "validation")
      try origin.open("validation", of: name)
      #expect(try eventually { try proxy.ask(url).cacheStatus?.contains("ttl=-") == false })
      #expect(try origin.exchanges(name).count == 2)
    }
  }
}
