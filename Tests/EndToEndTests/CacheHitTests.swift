import Foundation
import Testing

/// A fresh stored answer is sent without asking the origin.
@Suite struct CacheHitTests {
  @Test func `the second request is answered from the store`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.answers(name, "Cache-Control: max-age=600", "ETag: \"v1\"", "X-Of-Origin: yes")
    try withProxy(try Configuration.https("cache: {}")) { proxy throws in
      let url = "http://api.test/things?id=\(name)"
      let miss = try proxy.ask(url)
      #expect(miss.status == 200)
      #expect(miss.text == "first")
      #expect(miss.cacheStatus == "fwd=uri-miss; stored")
      #expect(miss["Age"] == nil)
      for method in ["GET", "HEAD", "GET"] {
        let hit = try proxy.ask(method, url)
        #expect(hit.status == 200)
        #expect(hit.text == (method == "GET" ? "first" : ""))
        #expect(hit["Content-Length"] == "5")
        #expect(hit["ETag"] == "\"v1\"")
        #expect(hit["X-Of-Origin"] == "yes")
        #expect(hit["Date"] == miss["Date"])
        #expect(hit.all("Via") == miss.all("Via"))
        #expect(hit["Age"].flatMap { Int($0) } != nil)
        #expect(hit.cacheStatus?.hasPrefix("hit; ttl=") == true)
      }
      #expect(try origin.exchanges(name).count == 1)
    }
  }

  @Test func `many hits leave on one connection, whatever their size`() throws {
    let origin = try Origin.shared()
    for size in [0, 1, 5000, 70_000, 1 << 20] {
      let name = Origin.newName()
      try origin.script(
        name, [.send("HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: \(size)\r\n\r\n"), .pattern(size)])
      try withProxy(try Configuration.https("cache: {}")) { proxy throws in
        let client = try proxy.connect()
        var first: [UInt8]?
        for _ in 0..<5 {
          try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
          let answer = try client.readAnswer()
          #expect(answer.body.count == size)
          #expect(answer.body == first ?? answer.body)
          first = answer.body
        }
        #expect(try origin.exchanges(name).count == 1)
      }
    }
  }

  @Test func `a query, a path and a host are three targets`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.answers(name, "Cache-Control: max-age=600")
    try withProxy(try Configuration.https("cache: {}")) { proxy throws in
      let urls = ["/a?id=\(name)", "/b?id=\(name)", "/a?id=\(name)&x"].map { "http://api.test" + $0 }
      for url in urls { #expect(try proxy.ask(url).cacheStatus == "fwd=uri-miss; stored") }
      for url in urls { #expect(try proxy.ask(url).cacheStatus?.hasPrefix("hit") == true) }
    }
  }

  @Test func `an app that wants only what is stored gets 504 without a request to the origin`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.answers(name, "Cache-Control: max-age=600")
    try withProxy(try Configuration.https("cache: {}")) { proxy throws in
      let url = "http://api.test/?id=\(name)"
      let none = try proxy.ask(url, ["Cache-Control: only-if-cached"])
      #expect(none.status == 504)
      #expect(none.proxyError == "proxy_internal_response")
      #expect(try origin.exchanges(name).isEmpty)
      _ = try proxy.ask(url)
      #expect(try proxy.ask(url, ["Cache-Control: only-if-cached"]).text == "first")
    }
  }
}
