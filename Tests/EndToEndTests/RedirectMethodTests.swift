import Foundation
import Testing

/// Which method and content the request for a redirect's target has (RFC 9110 section 15.4).
@Suite struct RedirectMethodTests {
  private let world: Redirecting
  init() throws { world = try Redirecting() }

  @Test func `303 makes GET of all but HEAD, 301 and 302 of POST, 307 and 308 repeat`() throws {
    try withProxy(world.configuration(world.standard())) { proxy in
      let client = try proxy.connect()
      for (status, method, next) in [
        (301, "GET", "GET"), (302, "HEAD", "HEAD"), (303, "GET", "GET"), (303, "HEAD", "HEAD"), (307, "GET", "GET"),
        (301, "POST", "GET"), (302, "POST", "GET"), (303, "POST", "GET"), (303, "PUT", "GET"), (303, "DELETE", "GET"),
        (303, "OPTIONS", "GET"), (307, "POST", "POST"), (308, "POST", "POST"), (307, "PUT", "PUT"), (308, "PATCH", "PATCH"),
        (308, "DELETE", "DELETE"), (307, "OPTIONS", "OPTIONS"), (307, "HEAD", "HEAD"),
      ] {
        let (name, target) = try world.redirecting(status) { "/echo?id=\($0)" }
        let hasBody = ["POST", "PUT", "PATCH", "DELETE"].contains(method)
        let fields = hasBody ? ["Content-Type: text/x", "Content_Language: en", "Digest: x", "Accept: */*"] : ["Accept: */*"]
        try client.send(ProxyProcess.request(method, "http://api.test/?id=\(name)", fields, body: hasBody ? "content" : nil))
        let answer = try client.readAnswer(to: method)
        #expect(answer.status == 200, "\(status) \(method): \(answer.head)")
        let received = try world.only(target)
        let repeats = next == method && hasBody
        #expect(received.method == next && received.body == (repeats ? "content" : ""), "\(status) \(method)")
        #expect(received["Content-Type"] == (repeats ? "text/x" : nil) && received["Digest"] == (repeats ? "x" : nil))
        #expect(received["Content_Language"] == (repeats ? "en" : nil) && received["Accept"] == "*/*")
        #expect(received["Content-Length"] == (repeats ? "7" : nil) && received["Transfer-Encoding"] == nil)
        #expect(answer.body.isEmpty == (method == "HEAD"))
      }
      // All over one connection of the app, which is in step still.
      try client.send(ProxyProcess.request("GET", "http://api.test/"))
      #expect(try client.readAnswer().text == "ok\n")
    }
  }

  @Test func `content that a redirect took away does not come back, nor a method`() throws {
    try withProxy(world.configuration(world.standard())) { proxy in
      let name = Origin.newName()
      try world.origin.script(
        name, [.readBody, Redirecting.answer(303, "/2?id=\(name)")], [.readBody, Redirecting.answer(307, "/3?id=\(name)")],
        [.readBody, Redirecting.answer(200, nil)])
      let answer = try proxy.ask("POST", "http://api.test/1?id=\(name)", ["Content-Type: text/x"], body: "content")
      #expect(answer.status == 200 && answer.text == "moved")
      let seen = try world.origin.exchanges(name)
      #expect(seen.map(\.method) == ["POST", "GET", "GET"] && seen.map(\.body) == ["content", "", ""])
      #expect(seen.map { $0["Content-Type"] } == ["text/x", nil, nil])
      #expect(seen.dropFirst().allSatisfy { $0["Content-Length"] == nil && $0["Transfer-Encoding"] == nil })
    }
  }

  @Test func `what a change depended on is not asked of what tells about it`() throws {
    try withProxy(world.configuration(world.standard())) { proxy in
      let conditions = ["If-Match: \"1\"", "If_Unmodified_Since: Thu, 01 Jan 1970 00:00:00 GMT"]
      for (status, count) in [(303, 0), (307, 1)] {
        let (name, target) = try world.redirecting(status) { "/echo?id=\($0)" }
        #expect(try proxy.ask("PUT", "http://api.test/?id=\(name)", conditions, body: "x").status == 200)
        let received = try world.only(target)
        #expect(received.all("If-Match").count == count && received.all("If_Unmodified_Since").count == count)
        #expect(try world.only(name)["If-Match"] == "\"1\"")
      }
    }
  }

  @Test func `301 and 302 are relayed for other methods`() throws {
    try withProxy(world.configuration(world.standard())) { proxy in
      for (status, method) in [(301, "PUT"), (302, "PUT"), (301, "DELETE"), (302, "PATCH"), (302, "OPTIONS")] {
        let (name, target) = try world.redirecting(status) { "/echo?id=\($0)" }
        let answer = try proxy.ask(method, "http://api.test/?id=\(name)", body: "x")
        #expect(answer.status == status && answer["Location"] == "/echo?id=\(target)", "\(status) \(method)")
        #expect(answer.details == "redirect relayed: its status is for GET, HEAD and POST")
        #expect(try world.origin.exchanges(target).isEmpty)
      }
    }
  }

  @Test func `other statuses with a Location are no redirects`() throws {
    try withProxy(world.configuration(world.standard())) { proxy in
      for status in [200, 201, 300, 304, 305, 399, 404] {
        let name = Origin.newName()
        let text = "HTTP/1.1 \(status) X\r\nLocation: /next\r\n\(status == 304 ? "" : "Content-Length: 0\r\n")\r\n"
        try world.origin.script(name, [.readBody, .send(text)])
        let answer = try proxy.ask("http://api.test/?id=\(name)")
        #expect(answer.status == status && answer["Location"] == "/next" && answer["Proxy-Status"] == nil, "\(answer.head)")
      }
    }
  }

  @Test func `an app of HTTP/1.0 gets the last answer, too`() throws {
    try withProxy(world.configuration(world.standard())) { proxy in
      let (name, target) = try world.redirecting { "/chunked/100000?id=\($0)" }
      let client = try proxy.connect()
      try client.send("GET http://api.test/?id=\(name) HTTP/1.0\r\n\r\n")
      let answer = try client.readAnswer()
      #expect(answer.status == 200 && answer.body.count == 100_000)
      #expect(try world.only(target)["Via"] == "1.0 authproxy")
    }
  }
}
