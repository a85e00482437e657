import Foundation
import Testing

/// CONNECT to hosts without an entry: opaque, only for allowed targets, and always answered.
@Suite struct ConnectTunnelTests {
  private func configuration(_ allow: String, forbidden: String = "[]") -> String {
    "upstreams: []\nconnect:\n  allow: [\(allow)]\nforbidden_addresses: \(forbidden)\n"
  }

  private func connect(_ proxy: ProxyProcess, _ target: String, early: String = "") throws -> (RawConnection, Answer) {
    let client = try proxy.connect()
    try client.send("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\r\n\(early)")
    return (client, try client.readAnswer(to: "CONNECT"))
  }

  @Test func `bytes pass both ways, also those that came with the CONNECT`() throws {
    let listener = try TestListener()
    try withProxy(configuration("\"localhost:\(listener.port)\"")) { proxy in
      let (client, answer) = try connect(proxy, "localhost:\(listener.port)", early: "early")
      #expect(answer.status == 200)
      #expect(answer["Content-Length"] == nil && answer["Transfer-Encoding"] == nil)
      let server = try listener.accept()
      #expect(try server.read(5) == Array("early".utf8))
      try server.send([0, 1, 2, 255])
      #expect(try client.read(4) == [0, 1, 2, 255])
      // Larger than every buffer on the way.
      let bulk = (0..<(4 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      let done = Monitor(false)
      let descriptor = server.descriptor
      Thread {
        var sent = 0
        while sent < bulk.count {
          let count = bulk.withUnsafeBytes {
            send(descriptor, $0.baseAddress?.advanced(by: sent), bulk.count - sent, Int32(MSG_NOSIGNAL))
          }
          if count <= 0 { break }
          sent += count
        }
        done.change { $0 = true }
      }.start()
      #expect(try client.read(bulk.count) == bulk)
      #expect(done.wait(10) { $0 ? true : nil } == true)
    }
  }

  @Test func `an end of sending on one side is passed on, and the other way stays open`() throws {
    let listener = try TestListener()
    try withProxy(configuration("\"localhost:\(listener.port)\"")) { proxy in
      let (client, _) = try connect(proxy, "localhost:\(listener.port)")
      let server = try listener.accept()
      try client.send("question")
      client.halfClose()
      #expect(try server.readToEnd() == (Array("question".utf8), .closed))
      #expect(client.staysSilent(for: 0.1))
      try server.send("answer")
      server.halfClose()
      #expect(try client.readToEnd() == (Array("answer".utf8), .closed))
    }
  }

  @Test func `what the far end sends with its first segments arrives, and its end`() throws {
    let hole = try BlackHole()
    try withProxy(configuration("\"127.0.0.1:\(hole.port)\"") + "threads: 1\n") { proxy in
      let client = try proxy.connect()
      try client.send("CONNECT 127.0.0.1:\(hole.port) HTTP/1.1\r\nHost: localhost\r\n\r\n")
      // The only loop answers this one itself, after it has begun to connect.
      #expect(try proxy.ask("http://unlisted.test/").status == 403)
      // The loop learns of the connection, of the data and of the end at once.
      try proxy.pause()
      let server = try hole.open()
      try server.send("bye")
      server.close()
      proxy.goOn()
      client.timeout = 2
      #expect(try client.readAnswer(to: "CONNECT").status == 200)
      #expect(try client.readToEnd(seconds: 1) == (Array("bye".utf8), .closed))
    }
  }

  @Test func `a reset of one side reaches the other`() throws {
    let listener = try TestListener()
    try withProxy(configuration("\"localhost:\(listener.port)\"")) { proxy in
      let (client, _) = try connect(proxy, "localhost:\(listener.port)")
      let server = try listener.accept()
      client.reset()
      _ = try server.readToEnd(seconds: 5)
      let (second, _) = try connect(proxy, "localhost:\(listener.port)")
      let other = try listener.accept()
      other.reset()
      _ = try second.readToEnd(seconds: 5)
    }
  }

  @Test func `a side that has ended its sending and is then reset ends the tunnel`() throws {
    let listener = try TestListener()
    try withProxy(configuration("\"localhost:\(listener.port)\"") + "threads: 1\n") { proxy in
      for isClient in [true, false] {
        let (client, _) = try connect(proxy, "localhost:\(listener.port)")
        let server = try listener.accept()
        let (one, other) = isClient ? (client, server) : (server, client)
        one.halfClose()
        #expect(try other.readToEnd() == ([], .closed))
        let during = try Measures(proxy.pid).sockets
        one.reset()
        // The other side is silent, and receives nothing unexpected.
        let isOver = try eventually(seconds: 3) { try Measures(proxy.pid).sockets == during - 2 }
        #expect(isOver, "after a reset of the \(isClient ? "client" : "server")")
      }
    }
  }

  @Test func `curl speaks TLS through a tunnel, and no credential is added in it`() throws {
    let port = try Origin.shared().ports.https
    try withProxy(configuration("\"localhost:\(port)\"")) { proxy in
      let done = try ChildProcess.run(
        "curl",
        [
          "-sSf", "--noproxy", "", "-x", "http://127.0.0.1:\(proxy.port)", "--cacert", try Surroundings.pki() + "/ca.pem",
          "https://localhost:\(port)/echo",
        ])
      #expect(done.status == .exited(0), "\(done.errors)")
      let received = try JSONDecoder().decode(Received.self, from: Data(done.output.utf8))
      #expect(received["Authorization"] == nil)
      #expect(received["Via"] == nil)
    }
  }

  @Test func `what is not allowed is answered 403`() throws {
    let listener = try TestListener()
    try withProxy(configuration("\"*.example.com:443\", \"localhost:1\"")) { proxy in
      each([
        "localhost:\(listener.port)", "example.com:443", "a.example.com:444", "evil-example.com:443",
        "127.0.0.1:\(listener.port)",
      ]) {
        target in
        let (_, answer) = try connect(proxy, target)
        expectOwnAnswer(answer, 403, "http_request_denied")
      }
      #expect(listener.staysAlone(for: 0.05))
    }
  }

  @Test func `addresses that are forbidden stay so in tunnels`() throws {
    let listener = try TestListener()
    try withProxy(configuration("\"localhost:\(listener.port)\"", forbidden: "[default]")) { proxy in
      let (_, answer) = try connect(proxy, "localhost:\(listener.port)")
      expectOwnAnswer(answer, 403, "destination_ip_prohibited")
      #expect(listener.staysAlone(for: 0.05))
    }
  }

  @Test func `a tunnel that cannot be made is answered with the reason`() throws {
    let refusing = try TestListener(backlog: nil)
    let hole = try BlackHole()
    let configuration = configuration("\"localhost:\(refusing.port)\", \"localhost:\(hole.port)\", \"no.invalid:443\"")
    try withProxy(configuration + "timeouts: {connect: 300ms}\n") { proxy in
      each([
        ("localhost:\(refusing.port)", 502, "connection_refused"), ("localhost:\(hole.port)", 504, "connection_timeout"),
        ("no.invalid:443", 502, "dns_error"),
      ]) {
        (target, status, error) in
        expectOwnAnswer(try connect(proxy, target).1, status, error)
      }
    }
  }

  @Test func `a CONNECT target that is none is 400`() throws {
    try withProxy(configuration("\"*.example.com:443\"")) { proxy in
      each([
        "example.com", "example.com:", "example.com:0", "example.com:99999", "http://example.com:443", "user@example.com:443",
        "/", "a b:1", ":443",
      ]) {
        target in
        let (_, answer) = try connect(proxy, target)
        #expect(answer.status == 400, "\(target): \(answer.head)")
      }
    }
  }

  @Test func `an idle tunnel ends after tunnel, and not after stall`() throws {
    let listener = try TestListener()
    try withProxy(configuration("\"localhost:\(listener.port)\"") + "timeouts: {stall: 100ms, tunnel: 800ms}\n") { proxy in
      let (client, _) = try connect(proxy, "localhost:\(listener.port)")
      let server = try listener.accept()
      #expect(client.staysSilent(for: 0.4))
      try client.send("x")
      #expect(try server.read(1) == [120])
      #expect(client.staysSilent(for: 0.4))
      _ = try client.readToEnd(seconds: 5)
      _ = try server.readToEnd(seconds: 5)
    }
  }

  @Test func `Proxy-Authorization on a CONNECT is never passed on`() throws {
    let listener = try TestListener()
    try withProxy(configuration("\"localhost:\(listener.port)\"")) { proxy in
      let client = try proxy.connect()
      try client.send(
        "CONNECT localhost:\(listener.port) HTTP/1.1\r\nHost: localhost\r\nProxy-Authorization: Basic c2VjcmV0\r\n\r\nfirst")
      #expect(try client.readAnswer(to: "CONNECT").status == 200)
      #expect(try listener.accept().read(5) == Array("first".utf8))
    }
  }
}
