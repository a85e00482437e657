import Foundation
import Testing

/// The checks of connections cost a well-behaved origin no connection.
@Suite struct ConnectionReuseTests {
  private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

  private static let answers = [
    ("GET", ok), ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"), ("GET", "HTTP/1.1 204 No\r\n\r\n"),
    ("GET", "HTTP/1.1 304 No\r\nContent-Length: 2\r\n\r\n"), ("POST", ok),
    ("GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    ("GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"),
    ("GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-T: 1\r\n\r\n"),
    ("GET", "HTTP/1.1 103 Early\r\n\r\n" + ok), ("GET", "HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\nno"),
    ("GET", "HTTP/1.1 200 OK\r\nContent-Length: 32720\r\n\r\n" + String(repeating: "x", count: 32_720)),
    ("GET", "HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n" + String(repeating: "x", count: 300_000)),
  ]

  @Test(arguments: Wire.allCases) func `one connection serves whatever ends in step, in one record or many`(wire: Wire) throws {
    try reusing(wire) { origin, proxy, client in
      var count = 0
      for (method, answer) in Self.answers {
        for isSplit in [false, true] {
          let id = Origin.newName()
          let head = answer.components(separatedBy: "\r\n\r\n").dropLast().joined(separator: "\r\n\r\n") + "\r\n\r\n"
          let pieces = isSplit ? [head, String(answer.dropFirst(head.count))] : [answer]
          try origin.scripts([id: [[.readBody] + pieces.map { .record($0) } + [.flush]]])
          try client.send(ProxyProcess.request(method, "http://api.test/?id=\(id)", body: method == "POST" ? "body" : nil))
          _ = try client.readAnswer(to: method)
          count += 1
        }
      }
      return count
    }
  }

  @Test func `session tickets do not end the connection that they come on, whenever they come`() throws {
    try reusing(.tls13) { origin, proxy, client in
      let arrivals: [[Origin.Step]] = [
        [.ticket, .record(Self.ok), .flush], [.record(Self.ok), .ticket, .flush],
        [.record(Self.ok), .flush, .ticket, .flush],
        // Inside the response, and inside the ticket.
        [.record("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"), .ticket, .cut(1, 12), .pause(0.02), .flush, .send("ok")],
      ]
      for steps in arrivals + arrivals {
        let id = Origin.newName()
        try origin.scripts([id: [steps]])
        try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(id)"))
        #expect(try client.readAnswer().text == "ok")
      }
      // It comes while the connection is idle.
      for _ in 0..<4 {
        let id = Origin.newName()
        try origin.scripts([id: [[.record(Self.ok), .flush, .stand(id), .ticket, .flush]]])
        try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(id)"))
        #expect(try client.readAnswer().text == "ok")
        #expect(try origin.standing(id, count: 1) == 1)
        try origin.release(id)
      }
      return 2 * arrivals.count + 4
    }
  }

  @Test func `half a session ticket behind an answer costs at most its connection`() throws {
    let origin = try Origin.hostile()
    try withProxy(try configuration(.tls13, origin)) { proxy in
      for _ in 0..<4 {
        let id = Origin.newName()
        try origin.scripts([id: [[.record(Self.ok), .ticket, .cut(1, 12), .stand(id), .flush]]])
        #expect(try proxy.ask("http://api.test/?id=\(id)").text == "ok")
        for round in 0..<2 {
          let start = Date()
          #expect(try proxy.ask("http://api.test/echo?mark=\(round)-\(id)").received().target == "/echo?mark=\(round)-\(id)")
          #expect(Date().timeIntervalSince(start) < 3, "it waits for the rest of a record")
          try origin.release(id)
        }
      }
    }
  }

  private func configuration(_ wire: Wire, _ origin: Origin) throws -> String {
    """
    threads: 1
    admin: 127.0.0.1:0
    limits: {upstream_connections: 1}
    upstreams: [{match: api.test, origin: "\(try wire.url(origin))"}]
    """
  }

  /// - Parameter body: sends requests over one connection; returns their number.
  private func reusing(_ wire: Wire, _ body: (Origin, ProxyProcess, RawConnection) throws -> Int) throws {
    let origin = try Origin.hostile()
    try withProxy(try configuration(wire, origin)) { proxy in
      let count = try body(origin, proxy, try proxy.connect())
      #expect(try origin.connections(wire.rawValue).accepted == 1)
      #expect(try proxy.metric(#"authproxy_upstream_connection_reuses_total{upstream="api.test"}"#) == Double(count - 1))
      #expect(try proxy.metric(#"authproxy_upstream_connection_discards_total{upstream="api.test"}"#) == 0)
    }
  }
}
