import Foundation
import Testing

/// HEAD and the stored answer to GET (RFC 9111 section 4.3.5).
@Suite struct CacheHeadTests {
  private let origin: Origin
  init() throws { origin = try Origin.shared() }

  /// A stale stored answer, then a HEAD with these fields, then what a GET gets.
  private func renew(_ fields: String, length: Int = 5, _ check: (ProxyProcess, _ url: String, _ name: String) throws -> Void)
    throws
  {
    let name = Origin.newName()
    let stale = "HTTP/1.1 200 OK\r\nCache-Control: max-age=0\r\nETag: \"v1\"\r\nContent-Length: 5\r\n\r\nfirst"
    let second = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nETag: \"v2\"\r\nContent-Length: 6\r\n\r\nsecond"
    try origin.script(
      name, [.readBody, .send(stale)],
      [.readBody, .send("HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\n\(fields)\r\nContent-Length: \(length)\r\n\r\n")],
      [.readBody, .send(second)])
    try withProxy(try Configuration.https("cache: {}", top: "admin: 127.0.0.1:0")) { proxy throws in
      let url = "http://api.test/?id=\(name)"
      #expect(try proxy.ask(url).cacheStatus == "fwd=uri-miss; stored")
      let head = try proxy.ask("HEAD", url)
      #expect(head.status == 200 && head["Content-Length"] == "\(length)", "\(head.head)")
      try check(proxy, url, name)
    }
  }

  @Test func `one that says the same renews it`() throws {
    try renew("ETag: \"v1\"\r\nX-New: yes") { proxy, url, name throws in
      let hit = try proxy.ask(url)
      #expect(hit.text == "first" && hit["X-New"] == "yes" && hit.cacheStatus?.hasPrefix("hit") == true, "\(hit.head)")
      #expect(try proxy.ask("HEAD", url).cacheStatus?.hasPrefix("hit") == true)
      let methods = try origin.exchanges(name).map(\.method)
      #expect(methods == ["GET", "HEAD"])
    }
  }

  @Test(arguments: [
    ("ETag: \"v2\"", 5), ("ETag: \"v1\"", 6), ("ETag: W/\"v1\"\r\nLast-Modified: Mon, 01 Jan 2024 00:00:00 GMT", 7),
  ])
  func `one that says something else drops it`(_ fields: String, _ length: Int) throws {
    try renew(fields, length: length) { proxy, url, name throws in
      #expect(try proxy.metric("authproxy_cache_objects") == 0)
      #expect(try proxy.ask(url).text == "second")
      #expect(try origin.exchanges(name).last?["If-None-Match"] == nil)
      #expect(try proxy.ask(url).cacheStatus?.hasPrefix("hit") == true)
    }
  }

  @Test func `its answer is never stored as one to GET`() throws {
    let name = Origin.newName()
    try origin.script(
      name, [.readBody, .send("HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 5\r\n\r\n")],
      [.readBody, .send("HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 5\r\n\r\nwhole")])
    try withProxy(try Configuration.https("cache: {}")) { proxy throws in
      let url = "http://api.test/?id=\(name)"
      #expect(try proxy.ask("HEAD", url).status == 200)
      #expect(try proxy.ask(url).text == "whole")
      #expect(try proxy.ask(url).text == "whole")
      #expect(try origin.exchanges(name).count == 2)
    }
  }
}
