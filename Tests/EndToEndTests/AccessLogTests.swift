import Foundation
import Testing

/// One line per request, with what an operator needs to know and no secret.
@Suite struct AccessLogTests {
  private func line(_ proxy: ProxyProcess, _ mark: String) throws -> String {
    guard let line = proxy.process.awaitLine(where: { $0.contains(mark) }) else {
      throw HarnessError("no line with \(mark):\n\(proxy.tail)")
    }
    return line
  }

  @Test func `a relayed request is one JSON line, without its query`() throws {
    try withProxy(try Configuration.https()) { proxy in
      #expect(try proxy.ask("POST", "http://api.test/status/201?key=my-5ecret", body: "hello").status == 201)
      let text = try line(proxy, "/status/201")
      let fields = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
      #expect(fields["method"] as? String == "POST")
      #expect(fields["authority"] as? String == "api.test")
      #expect(fields["path"] as? String == "/status/201")
      #expect(fields["status"] as? Int == 201)
      #expect(!text.contains("my-"))
      #expect(proxy.process.lines.filter { $0.contains("/status/201") }.count == 1)
    }
  }

  @Test func `bytes_in is the body's, also of what comes with the head, without framing and the next request`() throws {
    try withProxy(try Configuration.https()) { proxy in
      func logged(_ path: String) throws -> Int? {
        let fields = try JSONSerialization.jsonObject(with: Data(try line(proxy, path).utf8)) as? [String: Any]
        return fields?["bytes_in"] as? Int
      }
      #expect(try proxy.ask("POST", "http://api.test/with-head", body: "hello").status == 200)
      #expect(try logged("/with-head") == 5)
      let client = try proxy.connect()
      let next = ProxyProcess.request("GET", "http://api.test/next")
      try client.send(ProxyProcess.request("POST", "http://api.test/chunks", ["Transfer-Encoding: chunked"]) + "3\r\nhel")
      try client.send("\r\n2\r\nlo\r\n0\r\n\r\n" + next)
      #expect(try client.readAnswer().status == 200 && client.readAnswer().status == 200)
      #expect(try logged("/chunks") == 5 && logged("/next") == 0)
    }
  }

  @Test func `a refused request is a line that says who refused it and why`() throws {
    try withProxy(try Configuration.https()) { proxy in
      #expect(try proxy.ask("http://other.test/not-here").status == 403)
      let text = try line(proxy, "/not-here")
      #expect(text.contains("http_request_denied"), "\(text)")
      #expect(text.contains("403"))
    }
  }

  @Test func `bytes that are no whole head count as the origin's first`() throws {
    let origin = try Origin.shared()
    try withProxy(try Configuration.https()) { proxy throws in
      let name = Origin.newName()
      try origin.script(name, [.send("HTTP/1.1 200 OK\r\nConte"), .close])
      #expect(try proxy.ask("http://api.test/half-head?id=\(name)").status == 502)
      let text = try line(proxy, "/half-head")
      #expect(text.contains("first_byte_ms"), "\(text)")
    }
  }

  @Test func `the text format has a line, too`() throws {
    try withProxy(try Configuration.https(top: "log: {format: text}")) { proxy throws in
      #expect(try proxy.ask("http://api.test/once").status == 200)
      #expect(try line(proxy, "/once").contains("200"))
    }
  }

  @Test func `a path with quotes, controls and high bytes stays one line of valid JSON`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let client = try proxy.connect()
      try client.send("GET http://api.test/odd%22%0a%00\\end HTTP/1.1\r\nHost: api.test\r\n\r\n")
      _ = try client.readAnswer()
      let text = try line(proxy, "/odd")
      #expect(try JSONSerialization.jsonObject(with: Data(text.utf8)) is [String: Any], "\(text)")
    }
  }

  @Test func `access: false is silent`() throws {
    try withProxy(try Configuration.https(top: "log: {access: false}")) { proxy throws in
      #expect(try proxy.ask("http://api.test/silent").status == 200)
      proxy.stop()
      #expect(!proxy.process.output.contains("/silent"))
    }
  }
}
