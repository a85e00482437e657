import Foundation
import Testing

/// An origin may close an idle connection at any time. The app does not notice.
@Suite struct StalePooledConnectionTests {
  @Test(arguments: [true, false]) func `a pooled connection that the origin closed is not noticed by the app`(tls: Bool) throws
  {
    let origin = try Origin()
    let listener = tls ? "https" : "http"
    let configuration = tls ? try Configuration.https(origin: origin) : try Configuration.http(origin: origin)
    try withProxy(configuration) { proxy in
      let client = try proxy.connect()
      for method in ["GET", "POST", "GET", "POST"] {
        try client.send(ProxyProcess.request(method, "http://api.test/echo", body: method == "POST" ? "abc" : nil))
        #expect(try client.readAnswer().status == 200, "\(method)")
        try origin.dropConnections(listener)
        _ = try origin.connections(listener, count: 0)
      }
      #expect(try origin.connections(listener).accepted == 4)
    }
  }

  /// An origin that restarts closes all its connections. Here it does so while the proxy is stopped, after a request that the
  /// proxy reads first.
  @Test(arguments: Wire.allCases, [true, false]) func `200 stale connections cost a request a handful of attempts`(
    wire: Wire, newestFirst: Bool
  ) throws {
    let origin = try Origin.hostile()
    let text = "threads: 1\nupstreams:\n  - {match: api.test, origin: \"\(try wire.url(origin))\"}\n"
    try withProxy(text) { proxy in
      let names = (0..<200).map { _ in Origin.newName() }
      let answer = Origin.Step.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
      try origin.scripts(
        Dictionary(uniqueKeysWithValues: names.map { ($0, [[.stand("begin-\($0)"), answer, .stand("end-\($0)"), .abort]]) }))
      let clients = try names.map { name in
        let client = try proxy.connect()
        try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
        return client
      }
      for name in names { #expect(try origin.standing("begin-\(name)", count: 1) == 1) }
      // They come to the pool one after the other.
      for (name, client) in zip(names, clients) {
        try origin.release("begin-\(name)")
        #expect(try client.readAnswer().text == "ok")
      }
      #expect(try origin.connections(wire.rawValue).open == 200)

      try proxy.pause()
      try clients[0].send(ProxyProcess.request("GET", "http://api.test/echo?after"))
      for name in newestFirst ? names.reversed() : names {
        try origin.release("end-\(name)")
        try origin.await(name, state: "closed")
      }
      proxy.goOn()
      #expect(try clients[0].readAnswer().received().target == "/echo?after")
      let line = try #require(proxy.process.awaitLine { $0.contains(#""path":"/echo""#) })
      let fields = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      #expect((1...5).contains(fields?["attempts"] as? Int ?? 0), "\(line)")
    }
  }

  @Test func `a connection that breaks as a GET is written is repeated on a new one, unseen`() throws {
    let listener = try TestListener()
    try withProxy(try Configuration.http(top: "threads: 1", port: listener.port)) { proxy in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/first"))
      let first = try listener.accept()
      _ = try first.read(through: "\r\n\r\n")
      try first.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1")
      #expect(try client.readAnswer().text == "1")
      // The request arrives on the pooled connection, which breaks only then.
      try client.send(ProxyProcess.request("GET", "http://api.test/second"))
      _ = try first.read(through: "\r\n\r\n")
      first.reset()
      let second = try listener.accept()
      #expect(String(decoding: try second.read(through: "\r\n"), as: UTF8.self) == "GET /second HTTP/1.1\r\n")
      _ = try second.read(through: "\r\n\r\n")
      try second.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2")
      #expect(try client.readAnswer().text == "2")
    }
  }

  @Test func `a POST whose bytes were written is not repeated`() throws {
    let listener = try TestListener()
    try withProxy(try Configuration.http(top: "threads: 1", port: listener.port)) { proxy in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/first"))
      let first = try listener.accept()
      _ = try first.read(through: "\r\n\r\n")
      try first.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1")
      #expect(try client.readAnswer().text == "1")
      try client.send(ProxyProcess.request("POST", "http://api.test/pay", body: "1 EUR"))
      _ = try first.read(through: "1 EUR")
      first.reset()
      expectOwnAnswer(try client.readAnswer(), 502, "http_protocol_error")
      #expect(listener.staysAlone(for: 0.3))
    }
  }

  @Test func `a new connection that breaks before the answer is 502, and is not repeated for a POST`() throws {
    let listener = try TestListener()
    try withProxy(try Configuration.http(port: listener.port)) { proxy in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("POST", "http://api.test/pay", body: "1 EUR"))
      let server = try listener.accept()
      _ = try server.read(through: "1 EUR")
      server.close()
      expectOwnAnswer(try client.readAnswer(), 502, "http_protocol_error")
      #expect(listener.staysAlone(for: 0.3))
    }
  }
}
