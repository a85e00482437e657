import Foundation
import Testing

/// After a write has returned, nobody reads an answer from before it.
@Suite struct CacheInvalidationTests {
  private let origin: Origin
  init() throws { origin = try Origin.shared() }

  private func isHit(_ proxy: ProxyProcess, _ url: String) throws -> Bool {
    try proxy.ask(url).cacheStatus?.hasPrefix("hit") == true
  }

  @Test(arguments: [
    ("POST", 200, true), ("PUT", 204, true), ("DELETE", 302, true), ("M-SEARCH", 200, true), ("POST", 400, false),
    ("PATCH", 500, false), ("OPTIONS", 200, false),
  ])
  func `a 2xx or 3xx to a method that may change something drops the URL`(
    _ method: String, _ status: Int, _ drops: Bool
  ) throws {
    let (name, write) = (Origin.newName(), Origin.newName())
    try origin.answers(name, "Cache-Control: max-age=600")
    let length = status == 204 ? "" : "Content-Length: 0\r\n"
    try origin.script(write, [.readBody, .send("HTTP/1.1 \(status) Said\r\n\(length)\r\n")])
    try withProxy(try Configuration.https("cache: {}")) { proxy throws in
      // The origin takes the last of several names.
      let url = "http://api.test/things?id=\(name)"
      #expect(try !isHit(proxy, url) && isHit(proxy, url))
      try origin.script(name, [.readBody, .send("HTTP/1.1 \(status) Said\r\n\(length)\r\n")])
      #expect(try proxy.ask(method, url, body: method == "OPTIONS" ? nil : "x").status == status)
      try origin.answers(name, "Cache-Control: max-age=600")
      #expect(try isHit(proxy, url) == !drops)
    }
  }

  @Test func `Location and Content-Location of the same origin are dropped, too`() throws {
    let names = (0..<3).map { _ in Origin.newName() }
    for name in names { try origin.answers(name, "Cache-Control: max-age=600") }
    let port = origin.ports.https
    let write = Origin.newName()
    try origin.script(
      write,
      [
        .readBody,
        .send(
          "HTTP/1.1 201 Created\r\nLocation: https://localhost:\(port)/a?id=\(names[0])\r\nContent-Location: /b?id=\(names[1])\r\n"
            + "Content-Length: 0\r\n\r\n"),
      ])
    try withProxy(try Configuration.https("cache: {}")) { proxy throws in
      let urls = zip(["a", "b", "c"], names).map { "http://api.test/\($0)?id=\($1)" }
      for url in urls { #expect(try !isHit(proxy, url) && isHit(proxy, url)) }
      #expect(try proxy.ask("POST", "http://api.test/?id=\(write)", body: "x").status == 201)
      #expect(try !isHit(proxy, urls[0]) && !isHit(proxy, urls[1]) && isHit(proxy, urls[2]))
    }
  }

  @Test func `Location counts as apps write it, too, where the entry changes paths`() throws {
    let names = (0..<4).map { _ in Origin.newName() }
    for name in names { try origin.answers(name, "Cache-Control: max-age=600") }
    let write = Origin.newName()
    let entries = """
      upstreams:
        - {match: api.test/v1, origin: "https://localhost:\(origin.ports.https)/api/v2", cache: {}}
      """
    let places = ["http://api.test/v1/a?id=\(names[0])", "/v1/b?id=\(names[1])", "/api/v2/c?id=\(names[2])"]
    try origin.script(
      write,
      [
        .readBody,
        .send(
          "HTTP/1.1 201 Created\r\n" + places.map { "Content-Location: \($0)\r\n" }.joined() + "Content-Length: 0\r\n\r\n"),
      ])
    try withProxy(entries) { proxy throws in
      let urls = zip(["a", "b", "c", "d"], names).map { "http://api.test/v1/\($0)?id=\($1)" }
      for url in urls { #expect(try !isHit(proxy, url) && isHit(proxy, url)) }
      #expect(try proxy.ask("POST", "http://api.test/v1/?id=\(write)", body: "x").status == 201)
      for (index, url) in urls.enumerated() { #expect(try isHit(proxy, url) == (index == 3), "\(url)") }
    }
  }

  @Test func `a write under another Host of the same origin counts, below a wildcard, too`() throws {
    let name = Origin.newName()
    try origin.answers(name, "Cache-Control: max-age=600", bodies: ["first", "second", "written", "fourth", "fifth"])
    let entries = """
      upstreams:
        - {match: "*.wild.test", origin: "https://localhost:\(origin.ports.https)", host_header: app, cache: {}}
        - {match: admin.test, origin: "https://localhost:\(origin.ports.https)"}
      """
    try withProxy(entries) { proxy throws in
      let urls = ["a", "b"].map { "http://\($0).wild.test/things?id=\(name)" }
      for (url, body) in zip(urls, ["first", "second"]) {
        #expect(try proxy.ask(url).text == body && isHit(proxy, url))
      }
      #expect(try proxy.ask("PUT", "http://admin.test/things?id=\(name)", body: "x").text == "written")
      for (url, body) in zip(urls, ["fourth", "fifth"]) { #expect(try proxy.ask(url).text == body) }
    }
  }

  @Test func `a write through another entry of the same origin counts`() throws {
    let name = Origin.newName()
    try origin.answers(name, "Cache-Control: max-age=600", bodies: ["first", "written", "third"])
    let entries = """
      upstreams:
        - {match: api.test, origin: "https://localhost:\(origin.ports.https)", cache: {}}
        - {match: admin.test, origin: "https://localhost:\(origin.ports.https)"}
      """
    try withProxy(entries) { proxy throws in
      let path = "/things?id=\(name)"
      #expect(try proxy.ask("http://api.test" + path).text == "first")
      #expect(try proxy.ask("PUT", "http://admin.test" + path, body: "x").text == "written")
      #expect(try proxy.ask("http://api.test" + path).text == "third")
    }
  }
}
