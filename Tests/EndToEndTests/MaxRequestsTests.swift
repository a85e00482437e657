import Foundation
import Testing

/// `max_requests`: requests of one client in flight at once, on all loops together. One more is 429.
@Suite struct MaxRequestsTests {
  private static func basic(_ name: String) -> String {
    "Proxy-Authorization: Basic \(Data("\(name):\(name)-5ecret".utf8).base64EncodedString())"
  }

  private static func clients(_ most: Int) -> String {
    "clients: [{name: small, password: small-5ecret, max_requests: \(most)}, {name: other, password: other-5ecret}]\n"
  }

  /// An exchange that is not answered before the gate opens.
  private static func gated(_ origin: Origin) throws -> String {
    let name = Origin.newName()
    try origin.script(name, [.gate("on"), .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")])
    return name
  }

  private static func begin(
    _ count: Int, _ proxy: ProxyProcess, _ name: String, _ fields: [String] = [basic("small")], from source: String? = nil
  ) throws -> [RawConnection] {
    try (0..<count).map { _ in
      let client = try proxy.connect(from: source)
      try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)", fields))
      return client
    }
  }

  @Test func `who has read an answer may send the next request, over any connection`() throws {
    let origin = try Origin.shared()
    try withProxy(try Self.clients(1) + Configuration.https(top: "threads: 2", origin: origin)) { proxy in
      var statuses: [Int: Int] = [:]
      // Each request has a connection of its own, so many of them are on another loop than the one before.
      for url in Array(repeating: ["http://api.test/", "http://api.test/chunked/70000", "http://unknown.test/"], count: 100)
        .joined()
      {
        statuses[try proxy.ask(url, [Self.basic("small")]).status, default: 0] += 1
      }
      #expect(statuses[429] == nil && statuses[200] == 200, "\(statuses)")
    }
  }

  @Test func `so may who has read a stored one`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(
      name, [.send("HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 100000\r\n\r\n"), .pattern(100_000)])
    try withProxy(try Self.clients(1) + Configuration.https("cache: {}", top: "threads: 2")) { proxy in
      var statuses: [Int: Int] = [:]
      for _ in 0..<300 {
        statuses[try proxy.ask("http://api.test/?id=\(name)", [Self.basic("small")]).status, default: 0] += 1
      }
      #expect(statuses == [200: 300], "\(statuses)")
      #expect(try origin.exchanges(name).count == 1)
    }
  }

  @Test(arguments: ["Content-Length: 100000", "Connection: close"])
  func `so may who has read one that is stored while it comes`(framing: String) throws {
    let origin = try Origin.shared()
    let names = (0..<100).map { _ in Origin.newName() }
    for name in names {
      try origin.script(
        name, [.send("HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\n\(framing)\r\n\r\n"), .pattern(100_000), .close])
    }
    try withProxy(try Self.clients(1) + Configuration.https("cache: {}", top: "threads: 2")) { proxy in
      var statuses: [Int: Int] = [:]
      for name in names {
        statuses[try proxy.ask("http://api.test/?id=\(name)", [Self.basic("small")]).status, default: 0] += 1
      }
      #expect(statuses == [200: 100], "\(statuses)")
    }
  }

  @Test(arguments: [1, 2])
  func `one more than max_requests is 429 with Retry-After, and one is served again when another has ended`(_ threads: Int)
    throws
  {
    let origin = try Origin.shared()
    let name = try Self.gated(origin)
    let top = "threads: \(threads)\nadmin: 127.0.0.1:0"
    try withProxy(try Self.clients(3) + Configuration.https(top: top)) { proxy in
      let busy = try Self.begin(3, proxy, name)
      try origin.await(name, count: 3, gate: "on")
      let clients = try (0..<8).map { _ in try proxy.connect() }
      for client in clients {
        try client.send(ProxyProcess.request("GET", "http://api.test/", [Self.basic("small")]))
        let answer = try client.readAnswer()
        expectOwnAnswer(answer, 429, "http_request_denied")
        #expect((Int(answer["Retry-After"] ?? "") ?? 0) >= 1)
        #expect(answer.proxyDetails == "client small has 3 requests in flight")
      }
      #expect(try proxy.metric(#"authproxy_proxy_errors_total{error="http_request_denied"}"#) == 8)
      let line = proxy.process.awaitLine { $0.contains(#""status":429"#) }
      #expect(line?.contains(#""client":"small""#) == true)
      // Other clients have their own count.
      #expect(try proxy.ask("http://api.test/", [Self.basic("other")]).status == 200)
      try origin.open("on", of: name, count: 1)
      #expect(try eventually { try proxy.ask("http://api.test/", [Self.basic("small")]).status == 200 })
      // The connections of refused requests are still usable.
      #expect(
        try eventually {
          try clients[0].send(ProxyProcess.request("GET", "http://api.test/", [Self.basic("small")]))
          return try clients[0].readAnswer().status == 200
        })
      try origin.open("on", of: name, count: 2)
      for client in busy { #expect(try client.readAnswer().status == 200) }
    }
  }

  @Test func `anonymous has it for each address`() throws {
    let origin = try Origin.shared()
    let name = try Self.gated(origin)
    try withProxy(try "anonymous: {max_requests: 2}\n" + Configuration.https(top: "threads: 2")) { proxy in
      let busy = try Self.begin(2, proxy, name, [], from: "127.0.0.1")
      try origin.await(name, count: 2, gate: "on")
      let refused = try proxy.ask("http://api.test/")
      expectOwnAnswer(refused, 429, "http_request_denied")
      #expect(refused.proxyDetails == "this address has 2 requests in flight")
      let others = try Self.begin(2, proxy, name, [], from: "127.0.0.2")
      try origin.await(name, count: 4, gate: "on")
      #expect(try proxy.ask("GET", "http://api.test/", from: "127.0.0.2").status == 429)
      #expect(try proxy.ask("GET", "http://api.test/", from: "127.0.0.3").status == 200)
      try origin.open("on", of: name, count: 4)
      for client in busy + others { #expect(try client.readAnswer().status == 200) }
      #expect(try eventually { try proxy.ask("http://api.test/").status == 200 })
    }
  }

  @Test func `tunnels and upgraded connections count for as long as they live`() throws {
    let far = try TestListener()
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(
      name, [.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"), .awaitClose])
    let text = "anonymous: {max_requests: 1}\nforbidden_addresses: []\nconnect: {allow: [\"127.0.0.1:\(far.port)\"]}\n"
    try withProxy(try text + Configuration.https()) { proxy in
      func expectOnlyOne(_ client: RawConnection) throws {
        #expect(try proxy.ask("http://api.test/").status == 429)
        #expect(try proxy.ask("CONNECT", "127.0.0.1:\(far.port)").status == 429)
        client.close()
        #expect(try eventually { try proxy.ask("http://api.test/").status == 200 })
      }
      let tunnel = try proxy.connect()
      try tunnel.send(ProxyProcess.request("CONNECT", "127.0.0.1:\(far.port)"))
      #expect(try tunnel.readAnswer(to: "CONNECT").status == 200)
      let end = try far.accept()
      end.halfClose()
      try expectOnlyOne(tunnel)
      let upgraded = try proxy.connect()
      // The request before may still count when its response is here.
      #expect(
        try eventually {
          try upgraded.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)", WebSocketTests.fields))
          return try upgraded.readAnswer().status == 101
        })
      try expectOnlyOne(upgraded)
    }
  }

  @Test func `requests that wait count, and do not when their client has left`() throws {
    let origin = try Origin()
    let name = try Self.gated(origin)
    let top = "threads: 1\nlimits: {upstream_connections: 1}\ntimeouts: {connect: 30s}"
    try withProxy(try Self.clients(3) + Configuration.https(top: top, origin: origin)) { proxy in
      for _ in 0..<3 {
        let busy = try Self.begin(3, proxy, name)
        // The only loop answers this one itself, after it has read those. A fourth sent before that could be one of the three.
        #expect(try proxy.ask("http://unlisted.test/", [Self.basic("other")]).status == 403)
        #expect(try proxy.ask("http://api.test/", [Self.basic("small")]).status == 429)
        for client in busy { client.reset() }
        #expect(try eventually { try proxy.ask("http://api.test/", [Self.basic("small")]).status == 200 })
      }
    }
  }

  @Test func `however a request ends, it counts no longer`() throws {
    let origin = try Origin.shared()
    let cut = Origin.newName()
    try origin.script(cut, [.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), .reset])
    let refused = try TestListener(backlog: nil)
    let more = "  - {match: refused.test, origin: \"http://127.0.0.1:\(refused.port)\"}\n"
    let text = try Configuration.https().replacingOccurrences(of: "upstreams:\n", with: "upstreams:\n" + more)
    try withProxy(Self.clients(1) + text) { proxy throws in
      let small = [Self.basic("small")]
      let ends: [(target: String, status: Int)] = [
        ("http://api.test/status/404", 404), ("http://unlisted.test/", 403), ("http://refused.test/", 502),
        ("http://api.test/a", 200),
      ]
      for _ in 0..<3 {
        for (target, status) in ends {
          // The response of the last one may be here before its end is counted.
          #expect(try eventually { try proxy.ask(target, small).status == status }, "\(target)")
        }
        #expect(try eventually { try proxy.ask("CONNECT", "denied.test:443", small).status == 403 })
        #expect(try eventually { try proxy.ask("CONNECT", "api.test:80", small).status == 200 })
        #expect(try eventually { try proxy.ask("OPTIONS", "http://api.test/", small + ["Max-Forwards: 0"]).status == 200 })
        // Also before this one.
        #expect(
          try eventually {
            let client = try proxy.connect()
            try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(cut)", small + ["Connection: close"]))
            let answer = try client.readToEnd().bytes
            return answer.starts(with: "HTTP/1.1 200 ".utf8)
          })
      }
      #expect(try eventually { try proxy.ask("http://api.test/", small).status == 200 })
    }
  }

  @Test func `a reload changes it for the requests that follow, those in flight counting`() throws {
    let origin = try Origin.shared()
    let name = try Self.gated(origin)
    try withProxy(try Self.clients(3) + Configuration.https()) { proxy in
      let listen = "listen: \(proxy.addresses[0])\n"
      let busy = try Self.begin(2, proxy, name)
      try origin.await(name, count: 2, gate: "on")
      func ask() throws -> Int { try proxy.ask("http://api.test/", [Self.basic("small")]).status }
      #expect(try ask() == 200)
      try proxy.reload(try listen + Self.clients(1) + Configuration.https())
      #expect(try ask() == 429)
      try proxy.reload(try listen + Self.clients(4) + Configuration.https())
      #expect(try ask() == 200)
      let unlimited = Self.clients(4).replacingOccurrences(of: ", max_requests: 4", with: "")
      #expect(try eventually { try ask() == 200 })
      try proxy.reload(try listen + unlimited + Configuration.https())
      let more = try Self.begin(4, proxy, name)
      try origin.await(name, count: 6, gate: "on")
      // Requests that began without a limit count as well.
      try proxy.reload(try listen + Self.clients(6) + Configuration.https())
      #expect(try ask() == 429)
      try origin.open("on", of: name, count: 6)
      for client in busy + more { #expect(try client.readAnswer().status == 200) }
      #expect(try eventually { try ask() == 200 })
    }
  }
}
