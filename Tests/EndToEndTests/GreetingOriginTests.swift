import Foundation
import Testing

/// Bytes that an origin sends before any request answer no request, whether one waits for the connection or none does any more.
@Suite struct GreetingOriginTests {
  private static let foreign = "HTTP/1.1 200 OK\r\nX-Whose: foreign\r\nContent-Length: 7\r\n\r\nforeign"
  private static let discards = #"authproxy_upstream_connection_discards_total{upstream="api.test"}"#

  private func configuration(_ url: String) -> String {
    """
    threads: 1
    admin: 127.0.0.1:0
    limits: {upstream_connections: 1}
    timeouts: {connect: 30s}
    upstreams: [{match: api.test, origin: "\(url)"}]
    """
  }

  /// Sends the request that the first connection is opened for.
  private func begin(_ proxy: ProxyProcess, _ id: String) throws -> RawConnection {
    let client = try proxy.connect()
    client.timeout = 4
    try client.send(ProxyProcess.request("GET", "http://api.test/\(id)?id=\(id)"))
    // The only loop answers this one itself, after it has begun to connect.
    #expect(try proxy.ask("http://unlisted.test/").status == 403)
    return client
  }

  private func leave(_ client: RawConnection, _ proxy: ProxyProcess, _ id: String) throws {
    client.halfClose()
    #expect(proxy.process.awaitLine(seconds: 3) { $0.contains(id) && $0.contains("the client left") } != nil)
  }

  private func expectRefused(_ client: RawConnection) throws {
    let answer = try client.readAnswer()
    expectOwnAnswer(answer, 502, "http_protocol_error")
    #expect(answer["X-Whose"] == nil && answer.text != "own")
  }

  @Test(arguments: [true, false]) func `in clear text, with the connection itself`(waits: Bool) throws {
    let hole = try BlackHole()
    try withProxy(configuration("http://127.0.0.1:\(hole.port)")) { proxy in
      let client = try begin(proxy, "first")
      if !waits { try leave(client, proxy, "first") }
      // The loop learns of the connection and of the data at once.
      try proxy.pause()
      let server = try hole.open()
      try server.send(Self.foreign)
      proxy.goOn()
      if waits { try expectRefused(client) }
      #expect(try server.readToEnd(seconds: 3).bytes == [], "nothing is sent to an origin that has spoken")
      let next = try proxy.connect()
      try next.send(ProxyProcess.request("GET", "http://api.test/next"))
      let other = try hole.accept(seconds: 3)
      #expect(String(decoding: try other.read(through: "\r\n\r\n"), as: UTF8.self).hasPrefix("GET /next "))
      try other.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext")
      #expect(try next.readAnswer().text == "next")
      #expect(try proxy.metric(Self.discards) == 1)
    }
  }

  @Test(arguments: [Wire.tls12, .tls13], [true, false]) func `over TLS, with the end of the handshake`(
    wire: Wire, waits: Bool
  ) throws {
    let origin = try Origin.hostile()
    let id = Origin.newName()
    // The answer to the first request is held until the next one is there.
    try origin.scripts([id: [[.stand(id), .send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nown")]]])
    try origin.greet(wire, with: Self.foreign, at: "hello")
    try withProxy(configuration(try wire.url(origin))) { proxy in
      let client = try begin(proxy, id)
      #expect(try origin.standing("hello", count: 1) == 1)
      if !waits { try leave(client, proxy, id) }
      try origin.release("hello")
      if waits { try expectRefused(client) }
      let next = try proxy.connect()
      try next.send(ProxyProcess.request("GET", "http://api.test/echo?mark=next"))
      #expect(try proxy.ask("http://unlisted.test/").status == 403)
      try origin.release(id)
      let answer = try next.readAnswer()
      #expect(answer["X-Whose"] == nil)
      #expect(try answer.received().target == "/echo?mark=next")
      #expect(try origin.connections(wire.rawValue).accepted == 2)
      #expect(try proxy.metric(Self.discards) == 1)
    }
  }

  @Test func `over TLS, half a record: nothing is sent over its connection, which ends after two seconds`() throws {
    let origin = try Origin.hostile()
    let id = Origin.newName()
    try origin.greet(.tls12, with: Self.foreign, less: 10, at: "hello")
    try withProxy(configuration(try Wire.tls12.url(origin))) { proxy in
      let client = try begin(proxy, id)
      #expect(try origin.standing("hello", count: 1) == 1)
      try origin.release("hello")
      try expectRefused(client)
      #expect(try origin.exchanges(id).isEmpty)
      #expect(try proxy.ask("http://api.test/echo?mark=next").received().target == "/echo?mark=next")
      #expect(try origin.connections("tls12").accepted == 2)
      #expect(try proxy.metric(Self.discards) == 1)
    }
  }
}
