import Foundation
import Testing

/// A client that does not wait is answered in order.
@Suite struct PipeliningTests {
  @Test func `requests that come in one piece are answered in their order`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let client = try proxy.connect()
      let statuses = (0..<50).map { 201 + $0 % 3 }
      try client.send(statuses.map { ProxyProcess.request("GET", "http://api.test/status/\($0)") }.joined())
      for status in statuses { #expect(try client.readAnswer().status == status) }
    }
  }

  @Test func `a slow first answer is not overtaken`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, [.gate("on"), .send("HTTP/1.1 201 OK\r\nContent-Length: 0\r\n\r\n")])
    try withProxy(try Configuration.https()) { proxy in
      let client = try proxy.connect()
      try client.send(
        ProxyProcess.request("GET", "http://api.test/?id=\(name)") + ProxyProcess.request("GET", "http://api.test/status/202")
          + ProxyProcess.request("GET", "http://other.test/"))
      try origin.await(name, gate: "on")
      #expect(client.staysSilent(for: 0.1))
      try origin.open("on", of: name)
      for status in [201, 202, 403] { #expect(try client.readAnswer().status == status) }
    }
  }

  @Test func `bodies in between are kept apart`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let client = try proxy.connect()
      let chunked =
        "PUT http://api.test/echo HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbb\r\n0\r\n\r\n"
      try client.send(
        ProxyProcess.request("POST", "http://api.test/echo", body: "a") + chunked
          + ProxyProcess.request("GET", "http://api.test/echo")
          + ProxyProcess.request("POST", "http://api.test/echo", body: "ccc"))
      for body in ["a", "bb", "", "ccc"] { #expect(try client.readAnswer().received().body == body) }
    }
  }

  @Test func `a client that sends byte by byte is understood`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let client = try proxy.connect()
      for byte in ProxyProcess.request("POST", "http://api.test/echo", ["X-A: 1"], body: "hello").utf8 {
        try client.send([byte])
      }
      #expect(try client.readAnswer().received().body == "hello")
    }
  }

  @Test func `a half-closed client still gets its answers`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let client = try proxy.connect()
      try client.send(
        ProxyProcess.request("GET", "http://api.test/status/201") + ProxyProcess.request("GET", "http://api.test/status/202"))
      client.halfClose()
      #expect(try client.readAnswer().status == 201)
      #expect(try client.readAnswer().status == 202)
      #expect(try client.readToEnd().end == .closed)
    }
  }

  @Test func `empty lines before a request line are skipped`() throws {
    // RFC 9112 section 2.2: at least one CRLF.
    try withProxy(try Configuration.https()) { proxy in
      let client = try proxy.connect()
      try client.send("\r\n" + ProxyProcess.request("GET", "http://api.test/status/201"))
      #expect(try client.readAnswer().status == 201)
      try client.send("\r\n" + ProxyProcess.request("GET", "http://api.test/status/202"))
      #expect(try client.readAnswer().status == 202)
    }
  }
}
