import Foundation
import Testing

/// Hop-by-hop fields are written anew for the next hop, or dropped.
@Suite struct HopFieldsTests {
  @Test func `TE travels with the Connection that names it, and trailers is all that it says`() throws {
    try withProxy(try Configuration.https()) { proxy throws in
      for value in ["trailers", "trailers, gzip;q=0.5"] {
        let received = try proxy.ask("http://api.test/echo", ["TE: \(value)", "Connection: TE"]).received()
        #expect(received.all("TE") == ["trailers"])
        #expect(received.all("Connection").map { $0.lowercased() } == ["te"])
      }
      let other = try proxy.ask("http://api.test/echo", ["TE: gzip", "Connection: TE"]).received()
      #expect(other["TE"] == nil)
      #expect(other["Connection"] == nil)
    }
  }

  @Test func `only websocket is upgraded to, as other protocols would pass the rules by`() throws {
    try withProxy(try Configuration.https()) { proxy throws in
      for token in ["h2c", "h2c, websocket", "TLS/1.0", "foo"] {
        let received = try proxy.ask(
          "http://api.test/echo", ["Upgrade: \(token)", "Connection: Upgrade, HTTP2-Settings", "HTTP2-Settings: AAMAAABk"]
        ).received()
        #expect(received["Upgrade"] == nil)
        #expect(received["HTTP2-Settings"] == nil)
        #expect(received["Connection"] == nil)
      }
    }
  }

  @Test func `a 101 to a protocol that was not asked for is 502`() throws {
    let origin = try Origin.shared()
    try withProxy(try Configuration.https()) { proxy throws in
      for upgrade in ["Upgrade: h2c\r\n", ""] {
        let name = Origin.newName()
        try origin.script(
          name, [.send("HTTP/1.1 101 Switching Protocols\r\n\(upgrade)Connection: Upgrade\r\n\r\n"), .awaitClose])
        expectOwnAnswer(try proxy.ask("http://api.test/?id=\(name)", WebSocketTests.fields), 502, "http_protocol_error")
        let unasked = Origin.newName()
        try origin.script(
          unasked, [.send("HTTP/1.1 101 Switching Protocols\r\n\(upgrade)Connection: Upgrade\r\n\r\n"), .awaitClose])
        expectOwnAnswer(try proxy.ask("http://api.test/?id=\(unasked)"), 502, "http_protocol_error")
      }
    }
  }

  @Test func `Via tells the version in which a message was received`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, [.readBody, .send("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"), .close])
    try withProxy(try Configuration.https()) { proxy throws in
      let client = try proxy.connect()
      try client.send("GET http://api.test/echo HTTP/1.0\r\n\r\n")
      let answer = try client.readAnswer()
      #expect(try answer.received()["Via"] == "1.0 authproxy")
      #expect(answer["Via"] == "1.1 authproxy")
      #expect(try proxy.ask("http://api.test/?id=\(name)")["Via"] == "1.0 authproxy")
    }
  }

  @Test func `a 204 has no Content-Length, whatever the origin says`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, [.readBody, .send("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n")])
    try withProxy(try Configuration.https()) { proxy throws in
      #expect(try proxy.ask("http://api.test/?id=\(name)")["Content-Length"] == nil)
    }
  }

  @Test func `an interim response cannot say who answered in our name`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(
      name,
      [
        .send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nProxy-Status: authproxy; error=dns_error\r\n\r\n"),
        InterimResponseTests.ok,
      ])
    try withProxy(try Configuration.https()) { proxy throws in
      let answer = try proxy.ask("http://api.test/?id=\(name)")
      #expect(answer.interim.count == 1)
      #expect(answer.interim.first?["Proxy-Status"] == nil)
      #expect(answer.interim.first?["Link"] == "</a>")
    }
  }

  @Test func `too many 1xx responses are 502`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    let flood = String(repeating: "HTTP/1.1 102 Processing\r\n\r\n", count: 1_000)
    try origin.script(name, [.send(flood), .awaitClose])
    try withProxy(try Configuration.https()) { proxy throws in
      let answer = try proxy.ask("http://api.test/?id=\(name)")
      expectOwnAnswer(answer, 502, "http_protocol_error")
      #expect(answer.interim.count < 200)
    }
  }
}
