import Foundation
import Testing

/// Answers that are not stored, and that Cache-Status says why.
@Suite struct CacheRefusalTests {
  private let origin: Origin
  init() throws { origin = try Origin.shared() }

  @Test(arguments: [
    ("200 OK", "Cache-Control: no-store", "", "no-store"), ("200 OK", "Cache-Control: max-age=600, no-store", "", "no-store"),
    ("200 OK", "Cache-Control: max-age=600\r\nSet-Cookie: a=b", "", "set-cookie"),
    ("200 OK", "Cache-Control: max-age=600\r\nContent-Type: text/event-stream", "", "event-stream"),
    ("200 OK", "Cache-Control: max-age=600\r\nVary: *", "", "vary"), ("200 OK", "X-Nothing: said", "", "no-freshness"),
    ("200 OK", "Cache-Control: private, max-age=600", "share: all", "private"),
    ("200 OK", "Cache-Control: max-age=600", "share: public", "authorization"),
    ("200 OK", "Cache-Control: max-age=600", "max_object: 4B", "too-large"),
    ("401 Unauthorized", "Cache-Control: max-age=600", "", "status"),
    ("403 Forbidden", "Cache-Control: max-age=600", "", "status"),
    ("429 Too Many Requests", "Cache-Control: max-age=600", "", "status"),
  ])
  func `what must not be stored is not`(_ status: String, _ fields: String, _ cache: String, _ detail: String) throws {
    let name = Origin.newName()
    try origin.script(name, [.readBody, .send("HTTP/1.1 \(status)\r\n\(fields)\r\nContent-Length: 5\r\n\r\nhello")])
    try withProxy(try Configuration.https("cache: {\(cache)}")) { proxy throws in
      let url = "http://api.test/?id=\(name)"
      for _ in 0..<2 {
        let answer = try proxy.ask(url)
        #expect(answer.text == "hello")
        #expect(answer.cacheStatus?.hasSuffix("; detail=\(detail)") == true, "\(answer.cacheStatus ?? "none")")
      }
      #expect(try origin.exchanges(name).count == 2)
    }
  }

  @Test func `a cut answer is not stored`() throws {
    let name = Origin.newName()
    try origin.script(
      name, [.readBody, .send("HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 10\r\n\r\nhello"), .reset],
      [.readBody, .send("HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 5\r\n\r\nwhole")])
    try withProxy(try Configuration.https("cache: {}")) { proxy throws in
      let url = "http://api.test/?id=\(name)"
      let cut = try proxy.connect()
      try cut.send(ProxyProcess.request("GET", url))
      #expect(!String(decoding: try cut.readToEnd().bytes, as: UTF8.self).hasSuffix("whole"))
      #expect(try proxy.ask(url).text == "whole")
      #expect(try proxy.ask(url).cacheStatus?.hasPrefix("hit") == true)
    }
  }

  @Test func `a request that forbids it leaves nothing`() throws {
    let name = Origin.newName()
    try origin.answers(name, "Cache-Control: max-age=600")
    try withProxy(try Configuration.https("cache: {}")) { proxy throws in
      let url = "http://api.test/?id=\(name)"
      #expect(try proxy.ask(url, ["Cache-Control: no-store"]).text == "first")
      #expect(try proxy.ask(url).text == "second")
    }
  }
}
