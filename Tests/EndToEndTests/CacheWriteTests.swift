import Foundation
import Testing

/// After a write, nothing from before it is read.
@Suite struct CacheWriteTests {
  private static let fresh = "Cache-Control: max-age=600"

  @Test func `each unsafe method that succeeds drops its target`() throws {
    let origin = try Origin.shared()
    try withProxy(try Configuration.https("cache: {}")) { proxy throws in
      for method in ["POST", "PUT", "PATCH", "DELETE", "MOVE"] {
        let name = Origin.newName()
        try origin.answers(name, Self.fresh)
        let url = "http://api.test/?id=\(name)"
        #expect(try proxy.ask(url).text == "first")
        #expect(try proxy.ask(method, url, body: "x").text == "second")
        #expect(try proxy.ask(url).text == "third", "\(method)")
      }
    }
  }

  @Test func `a write by another entry of the same origin counts, a failed one does not`() throws {
    let origin = try Origin.shared()
    let other = "  - {match: other.test, origin: https://localhost:\(origin.ports.https)}\n"
    let file = try Configuration.https("cache: {}").replacingOccurrences(of: "upstreams:\n", with: "upstreams:\n" + other)
    try withProxy(file) { proxy throws in
      let name = Origin.newName()
      try origin.answers(name, Self.fresh, bodies: ["first", "write", "third"])
      #expect(try proxy.ask("http://api.test/?id=\(name)").text == "first")
      #expect(try proxy.ask("POST", "http://other.test/?id=\(name)", body: "x").text == "write")
      #expect(try proxy.ask("http://api.test/?id=\(name)").text == "third")
      let failed = Origin.newName()
      try origin.script(
        failed, [.send("HTTP/1.1 200 OK\r\n\(Self.fresh)\r\nContent-Length: 2\r\n\r\nok")],
        [.readBody, .send("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")])
      #expect(try proxy.ask("http://api.test/?id=\(failed)").text == "ok")
      #expect(try proxy.ask("POST", "http://other.test/?id=\(failed)", body: "x").status == 500)
      #expect(try proxy.ask("http://api.test/?id=\(failed)").cacheStatus?.hasPrefix("hit") == true)
    }
  }
}
