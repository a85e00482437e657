import Foundation
import Testing

/// A client that does not wait gets its responses in order.
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

  @Test func `a client that closes behind its answers is closed`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let client = try proxy.connect()
      try client.send(
        ProxyProcess.request("GET", "http://api.test/status/201") + ProxyProcess.request("GET", "http://api.test/status/202"))
      #expect(try client.readAnswer().status == 201)
      #expect(try client.readAnswer().status == 202)
      client.halfClose()
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

  @Test func `one that answers come to at once without end does not hold up others`() throws {
    try withProxy(try Configuration.https(top: "threads: 1\nlog: {access: false}")) { proxy throws in
      let flood = try proxy.connect()
      let ours = Array(String(repeating: "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", count: 20_000).utf8)
      let thread = Thread { [descriptor = flood.descriptor] in
        var answers = [UInt8](repeating: 0, count: 1 << 20)
        let end = Date(timeIntervalSinceNow: 2)
        var sent = 0
        while Date() < end {
          let count = ours.withUnsafeBytes {
            send(descriptor, $0.baseAddress! + sent, ours.count - sent, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
          }
          if count > 0 { sent = (sent + count) % ours.count }
          while recv(descriptor, &answers, answers.count, Int32(MSG_DONTWAIT)) > 0 {}
        }
      }
      thread.start()
      Thread.sleep(forTimeInterval: 0.1)
      var slowest = 0.0
      for _ in 0..<10 {
        let start = Date()
        #expect(try proxy.ask("http://api.test/").status == 200)
        slowest = max(slowest, Date().timeIntervalSince(start))
      }
      #expect(slowest < 1, "\(slowest) s")
      while !thread.isFinished { Thread.sleep(forTimeInterval: 0.05) }
    }
  }

  @Test func `what stands behind a body, and behind an error, is answered in its turn`() throws {
    try withProxy(try Configuration.https()) { proxy throws in
      let client = try proxy.connect()
      try client.send(
        ProxyProcess.request("POST", "http://api.test/echo?n=1", body: "hello")
          + ProxyProcess.request("GET", "http://nobody.test/")
          + "POST http://api.test/echo?n=2 HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
          + ProxyProcess.request("GET", "http://api.test/status/202")
          + "GET http://api.test/ HTTP/1.1\r\nHost : x\r\n\r\n" + ProxyProcess.request("GET", "http://api.test/never"))
      #expect(try client.readAnswer().received().body == "hello")
      #expect(try client.readAnswer().status == 403)
      #expect(try client.readAnswer().received().body == "abc")
      #expect(try client.readAnswer().status == 202)
      #expect(try client.readAnswer().status == 400)
      #expect(try client.readToEnd().bytes.isEmpty)
    }
  }
}
