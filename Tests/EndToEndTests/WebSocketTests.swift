import Foundation
import Testing

/// Upgrade: websocket through an entry, with its credential. The proxy knows only the handshake; then it forwards bytes.
@Suite struct WebSocketTests {
  static let fields = [
    "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13",
  ]

  @Test func `bytes go both ways after the 101, and the credential was there`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/?authorization=\(Configuration.wanted)", Self.fields))
      let answer = try client.readAnswer()
      #expect(answer.status == 101)
      #expect(answer["Upgrade"] == "websocket")
      #expect(answer["Connection"]?.lowercased() == "upgrade")
      for count in [1, 100, 100_000] {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        try client.send(bytes)
        #expect(try client.read(count) == bytes)
      }
      client.close()
    }
  }

  @Test func `bytes sent right behind the handshake are not lost`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/", Self.fields) + "early")
      #expect(try client.readAnswer().status == 101)
      #expect(try client.read(5) == Array("early".utf8))
    }
  }

  @Test func `an end on one side is passed to the other`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(
      name, [.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nbye"), .close])
    try withProxy(try Configuration.https()) { proxy in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)", Self.fields))
      #expect(try client.readAnswer().status == 101)
      #expect(try client.readToEnd().bytes == Array("bye".utf8))
    }
  }

  @Test func `an origin that does not upgrade answers as usual`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, [.send("HTTP/1.1 426 No\r\nContent-Length: 2\r\n\r\nno")])
    try withProxy(try Configuration.https()) { proxy in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)", Self.fields))
      #expect(try client.readAnswer().status == 426)
      try client.send(ProxyProcess.request("GET", "http://api.test/"))
      #expect(try client.readAnswer().status == 200)
    }
  }

  @Test func `an upgrade before the request's body is whole is 502`() throws {
    let listener = try TestListener()
    let framings = [("Content-Length: 10", "01234"), ("Transfer-Encoding: chunked", "5\r\n01234\r\n")]
    each(framings) { (framing, part) in
      try withProxy(try Configuration.http(port: listener.port)) { proxy in
        let client = try proxy.connect()
        try client.send(ProxyProcess.request("GET", "http://api.test/", Self.fields + [framing]) + part)
        let server = try listener.accept()
        _ = try server.read(through: "01234")
        try server.send("HTTP/1.1 101 Go\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
        expectOwnAnswer(try client.readAnswer(), 502, "http_protocol_error")
        _ = try server.readToEnd(seconds: 3)
      }
    }
  }

  @Test func `a client that has ended its sending and is then reset ends its upgraded connection`() throws {
    let listener = try TestListener()
    try withProxy(try Configuration.http(top: "threads: 1", port: listener.port)) { proxy in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/", Self.fields))
      let server = try listener.accept()
      _ = try server.read(through: "\r\n\r\n")
      try server.send("HTTP/1.1 101 Go\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
      #expect(try client.readAnswer().status == 101)
      client.halfClose()
      #expect(try server.readToEnd() == ([], .closed))
      let during = try Measures(proxy.pid).sockets
      client.reset()
      #expect(try eventually(seconds: 3) { try Measures(proxy.pid).sockets == during - 2 })
    }
  }

  @Test func `an upgraded connection outlives stall, and ends by tunnel`() throws {
    try withProxy(try Configuration.https(top: "timeouts: {stall: 200ms, tunnel: 1500ms}")) { proxy in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/", Self.fields))
      #expect(try client.readAnswer().status == 101)
      #expect(client.staysSilent(for: 0.6))
      try client.send("still here")
      #expect(try client.read(10) == Array("still here".utf8))
      _ = try client.readToEnd(seconds: 6)
    }
  }
}
