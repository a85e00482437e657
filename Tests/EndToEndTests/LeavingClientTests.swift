import Foundation
import Glibc
import Testing

/// If a client closes while its complete request waits for something, it has left, and the proxy does nothing more for it. A
/// caller that timed out sends a FIN, not a RST.
@Suite struct LeavingClientTests {
  /// The client sends its FIN. The proxy notices it, logs it, answers nothing and closes.
  private func expectLeft(_ client: RawConnection, _ proxy: ProxyProcess, _ path: String) throws {
    client.halfClose()
    guard proxy.process.awaitLine(seconds: 3, where: { $0.contains(path) && $0.contains("the client left") }) != nil else {
      throw HarnessError("no line says that the client left:\n\(proxy.tail)")
    }
    let (bytes, _) = try client.readToEnd(seconds: 3)
    #expect(bytes.isEmpty, "nothing is answered: \(String(decoding: bytes.prefix(200), as: UTF8.self))")
  }

  /// Methods, and sizes of their bodies, which come in one read with the head.
  private static let requests: [(method: String, size: Int)] = [("GET", 0), ("POST", 5)]
  /// Cases in which the proxy reads the body while the request waits.
  private static let largerRequests = requests + [("POST", 50_000)]

  private func body(_ size: Int) -> String? { size == 0 ? nil : String(repeating: "x", count: size) }

  @Test func `while it waits for a token: it is not sent, and the gauge falls at once`() throws {
    each(Self.requests) { (method, size) in
      let server = try TokenServer()
      try server.holdNext()
      try withProxy(try server.configuration(top: "timeouts: {credential: 60s}\nthreads: 2\nadmin: 127.0.0.1:0")) { proxy in
        func waitingRequests(are count: Double) throws -> Bool {
          try eventually(seconds: 3) { try proxy.metric(#"authproxy_credential_waiting_requests{credential="api"}"#) == count }
        }
        let clients = try (0..<3).map { _ in try proxy.connect() }
        for (number, client) in clients.enumerated() {
          try client.send(ProxyProcess.request(method, server.url("leaving-\(number)"), body: body(size)))
        }
        #expect(try waitingRequests(are: 3))
        try expectLeft(clients[0], proxy, "leaving-0")
        #expect(try waitingRequests(are: 2))
        try expectLeft(clients[1], proxy, "leaving-1")
        #expect(try waitingRequests(are: 1))
        try server.openGate()
        #expect(try clients[2].readAnswer().status == 200)
        #expect(try server.state().uses.map(\.path) == ["leaving-2"])
      }
    }
  }

  @Test func `while its refusal is held: it is not sent again`() throws {
    each(Self.largerRequests) { (method, size) in
      let server = try TokenServer()
      try withProxy(try server.configuration(top: "timeouts: {credential: 60s}\nadmin: 127.0.0.1:0")) { proxy in
        #expect(try proxy.ask(server.url("first")).status == 200)
        try server.set(#"{"revoke": true, "forget": true, "queue": [{"gate": "on"}]}"#)
        let client = try proxy.connect()
        try client.send(ProxyProcess.request(method, server.url("leaving"), body: body(size)))
        let gauge = #"authproxy_credential_waiting_requests{credential="api"}"#
        #expect(try eventually { try proxy.metric(gauge) == 1 })
        try expectLeft(client, proxy, "leaving")
        #expect(try eventually(seconds: 3) { try proxy.metric(gauge) == 0 })
        try server.openGate()
        #expect(try eventually { try proxy.ask(server.url("last")).status == 200 })
        #expect(try server.state().uses.filter { $0.path == "leaving" }.map(\.status) == [401])
      }
    }
  }

  @Test func `while it waits for a connection: it is not sent`() throws {
    let origin = try Origin.shared()
    each(Self.requests) { (method, size) in
      let (busy, leaving) = (Origin.newName(), Origin.newName())
      try origin.script(busy, [.gate("on"), .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")])
      let limit = "threads: 1\nlimits: {upstream_connections: 1}\ntimeouts: {connect: 30s}"
      try withProxy(try Configuration.https(top: limit)) { proxy in
        let clients = try (0..<3).map { _ in try proxy.connect() }
        try clients[0].send(ProxyProcess.request("GET", "http://api.test/?id=\(busy)"))
        try origin.await(busy, gate: "on")
        try clients[1].send(ProxyProcess.request(method, "http://api.test/\(leaving)?id=\(leaving)", body: body(size)))
        try clients[2].send(ProxyProcess.request("GET", "http://api.test/status/202"))
        // The only loop answers this one itself, after it has read those.
        #expect(try proxy.ask("http://unlisted.test/").status == 403)
        try expectLeft(clients[1], proxy, leaving)
        try origin.open("on", of: busy)
        #expect(try clients[0].readAnswer().text == "ok")
        #expect(try clients[2].readAnswer().status == 202)
        #expect(try origin.exchanges(leaving).isEmpty)
      }
    }
  }

  @Test func `while it waits for its answer: the origin hears of it`() throws {
    let origin = try Origin.shared()
    for interim in ["", "HTTP/1.1 103 Early\r\n\r\n"] {
      each(Self.largerRequests) { (method, size) in
        for configuration in [try Configuration.https(), try Configuration.http()] {
          let name = Origin.newName()
          try origin.script(name, [.readBody, .send(interim), .awaitClose])
          try withProxy(configuration) { proxy in
            let client = try proxy.connect()
            try client.send(ProxyProcess.request(method, "http://api.test/\(name)?id=\(name)", body: body(size)))
            try origin.await(name, state: "complete")
            if interim != "" { #expect(try client.readHead().status == 103) }
            try expectLeft(client, proxy, name)
            try origin.await(name, state: "closed", seconds: 3)
          }
        }
      }
    }
  }

  @Test func `while it waits to be repeated: it is not`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, [.readBody, .send("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n")])
    try withProxy(try Configuration.https("retry: {attempts: 2, backoff: 600ms}")) { proxy in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("PUT", "http://api.test/\(name)?id=\(name)", body: "x"))
      try origin.await(name, state: "complete")
      try expectLeft(client, proxy, name)
      // Longer than the pause would have been.
      usleep(800_000)
      #expect(try origin.exchanges(name).count == 1)
    }
  }

  @Test func `a FIN right behind the request is noticed, too`() throws {
    let origin = try Origin.shared()
    for method in ["GET", "POST"] {
      let name = Origin.newName()
      try origin.script(name, [.readBody, .awaitClose])
      try withProxy(try Configuration.https()) { proxy in
        let client = try proxy.connect()
        try client.send(
          ProxyProcess.request(method, "http://api.test/\(name)?id=\(name)", body: method == "POST" ? "body" : nil))
        try expectLeft(client, proxy, name)
      }
    }
  }

  @Test(arguments: [false, true]) func `a FIN in one segment with all of the request, and a connection at hand: it is not sent`(
    tls: Bool
  ) throws {
    let origin = try Origin.shared()
    let text = tls ? try Configuration.https(top: "threads: 1") : try Configuration.http(top: "threads: 1")
    try withProxy(text) { proxy in
      for (method, size) in Self.largerRequests {
        // There is a connection.
        #expect(try proxy.ask("http://api.test/").status == 200)
        let name = Origin.newName()
        let client = try proxy.connect()
        // The loop has read it.
        #expect(try proxy.ask("http://unlisted.test/").status == 403)
        try proxy.pause()
        try client.send(ProxyProcess.request(method, "http://api.test/\(name)?id=\(name)", body: body(size)))
        client.halfClose()
        proxy.goOn()
        try expectLeft(client, proxy, name)
        #expect(try proxy.ask("http://api.test/").status == 200)
        #expect(try origin.exchanges(name).isEmpty, "\(method), \(size)")
      }
    }
  }

  @Test(arguments: [false, true]) func `a FIN in one segment with the end of the body: it is not sent again`(tls: Bool) throws {
    let origin = try Origin.shared()
    let entry = "retry: {attempts: 2, backoff: 600ms}"
    let text = tls ? try Configuration.https(entry, top: "threads: 1") : try Configuration.http(entry, top: "threads: 1")
    try withProxy(text) { proxy in
      let name = Origin.newName()
      try origin.script(name, [.readBody, .send("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n")])
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("PUT", "http://api.test/\(name)?id=\(name)", ["Content-Length: 10"]) + "01234")
      try origin.await(name, body: 5)
      try proxy.pause()
      try client.send("56789")
      client.halfClose()
      proxy.goOn()
      try expectLeft(client, proxy, name)
      // Longer than the pause would have been.
      usleep(800_000)
      #expect(try origin.exchanges(name).count == 1)
    }
  }

  @Test(arguments: [false, true]) func `while its tunnel is opened: the proxy stops connecting`(isAtOnce: Bool) throws {
    let hole = try BlackHole()
    let target = "127.0.0.1:\(hole.port)"
    let text = "threads: 1\nupstreams: []\nconnect: {allow: [\"\(target)\"]}\nforbidden_addresses: []\ntimeouts: {connect: 30s}"
    try withProxy(text) { proxy in
      let own = try Measures(proxy.pid).sockets
      let client = try proxy.connect()
      #expect(try eventually { try Measures(proxy.pid).sockets == own + 1 })
      if isAtOnce { try proxy.pause() }
      try client.send("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\r\n")
      if isAtOnce {
        client.halfClose()
        proxy.goOn()
      } else {
        #expect(try eventually { try Measures(proxy.pid).sockets == own + 2 })
      }
      try expectLeft(client, proxy, target)
      let isOver = try eventually(seconds: 3) { try Measures(proxy.pid).sockets == own }
      #expect(isOver, "the client's socket, or the one that connects, is left")
    }
  }

  @Test func `while a tunnel is opened after the 200: a FIN behind what it has sent is passed on`() throws {
    let hole = try BlackHole()
    let target = "127.0.0.1:\(hole.port)"
    let text = """
      threads: 1
      upstreams: [{match: "\(target)", origin: "http://\(target)"}]
      connect: {allow: ["\(target)"]}
      forbidden_addresses: []
      timeouts: {connect: 30s}
      """
    try withProxy(text) { proxy in
      let client = try proxy.connect()
      try client.send("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\r\n")
      #expect(try client.readAnswer(to: "CONNECT").status == 200)
      let hello: [UInt8] = [22, 3, 1, 0, 2, 1, 0]
      try client.send(hello)
      client.halfClose()
      #expect(try proxy.ask("http://unlisted.test/").status == 403)
      let server = try hole.open()
      #expect(try server.readToEnd() == (hello, .closed))
      try server.send("no")
      server.close()
      #expect(try client.readToEnd() == (Array("no".utf8), .closed))
    }
  }

  // MARK: Half-close

  @Test func `an upgraded connection stays open the other way`() throws {
    let listener = try TestListener()
    try withProxy(try Configuration.http(port: listener.port)) { proxy in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/", WebSocketTests.fields))
      let server = try listener.accept()
      _ = try server.read(through: "\r\n\r\n")
      try server.send("HTTP/1.1 101 Go\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
      #expect(try client.readAnswer().status == 101)
      try client.send("question")
      client.halfClose()
      #expect(try server.readToEnd() == (Array("question".utf8), .closed))
      #expect(client.staysSilent(for: 0.1))
      try server.send("answer")
      server.halfClose()
      #expect(try client.readToEnd() == (Array("answer".utf8), .closed))
    }
  }

  @Test func `a body that still comes is sent on, with the FIN behind it`() throws {
    let listener = try TestListener()
    let count = 12 << 20
    try withProxy(try Configuration.http(port: listener.port)) { proxy in
      let client = try proxy.connect()
      let head = "POST http://api.test/up HTTP/1.1\r\nHost: api.test\r\nContent-Length: \(count)\r\n\r\n"
      let bytes = Array(head.utf8) + [UInt8](repeating: 1, count: count)
      let isSent = Monitor(false)
      let descriptor = client.descriptor
      Thread {
        var sent = 0
        while sent < bytes.count {
          let taken = bytes.withUnsafeBytes {
            send(descriptor, $0.baseAddress?.advanced(by: sent), bytes.count - sent, Int32(MSG_NOSIGNAL))
          }
          if taken <= 0 { break }
          sent += taken
        }
        shutdown(descriptor, Int32(SHUT_WR))
        isSent.change { $0 = true }
      }.start()
      let server = try listener.accept()
      _ = try server.read(through: "\r\n\r\n")
      var received = 0
      // Slowly enough that the FIN arrives while the kernel is full of the body.
      while isSent.wait(0.05, until: { $0 ? true : nil }) == nil, received < count {
        received += try server.read(1 << 18).count
      }
      #expect(server.staysOpen(for: 0.1))
      while received < count, try server.receive(before: Date(timeIntervalSinceNow: 5)) {
        received += server.consume(server.pending.count).count
      }
      // After everything was read, the proxy may drop its own part together with the client.
      #expect(received > count - (512 << 10))
    }
  }
}

extension RawConnection {
  /// True if the peer does not end the stream for this long, whatever it sends.
  fileprivate func staysOpen(for seconds: Double) -> Bool {
    usleep(UInt32(seconds * 1_000_000))
    return end == nil
  }
}
