import Foundation
import Testing

/// HTTP/1.0 clients get responses that they understand.
@Suite struct OldClientTests {
  @Test func `a chunked answer becomes close-delimited, never chunked`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let client = try proxy.connect()
      try client.send("GET http://api.test/chunked/300000 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
      let head = try client.readHead()
      #expect(head["Transfer-Encoding"] == nil)
      // No Connection field means close in HTTP/1.0.
      #expect(head["Connection"]?.lowercased() != "keep-alive")
      let (bytes, end) = try client.readToEnd()
      #expect(bytes.count == 300_000)
      #expect(end == .closed)
    }
  }

  @Test func `an answer with a length keeps it, and the connection closes after it`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let client = try proxy.connect()
      try client.send("GET http://api.test/bytes/1000 HTTP/1.0\r\n\r\n")
      #expect(try client.readAnswer().body.count == 1000)
      #expect(try client.readToEnd().bytes.isEmpty)
    }
  }

  @Test func `keep-alive is honoured where it was asked for and can be`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let client = try proxy.connect()
      try client.send("GET http://api.test/bytes/10 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
      let answer = try client.readAnswer()
      // Closing is right as well, but the proxy must do what it says.
      if answer["Connection"]?.lowercased() == "keep-alive" {
        try client.send("GET http://api.test/bytes/10 HTTP/1.0\r\n\r\n")
        #expect(try client.readAnswer().body.count == 10)
      }
      #expect(try client.readToEnd().bytes.isEmpty)
    }
  }

  @Test func `the origin is asked in HTTP/1.1, with a Host`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let client = try proxy.connect()
      try client.send("POST http://api.test/echo HTTP/1.0\r\nContent-Length: 2\r\n\r\nhi")
      let received = try client.readAnswer().received()
      #expect(received.version == "1.1")
      #expect(received.all("Host").count == 1)
      #expect(received.body == "hi")
      #expect(received["Via"] == "1.0 authproxy" || received["Via"] == "1.1 authproxy")
    }
  }

  @Test func `Connection: close from an HTTP/1.1 client is obeyed`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/bytes/10", ["Connection: close"]))
      let answer = try client.readAnswer()
      #expect(answer["Connection"]?.lowercased() == "close")
      #expect(try client.readToEnd().end == .closed)
    }
  }
}
