import Foundation
import Testing

/// Identical requests in flight are one request to the origin.
@Suite struct CacheCollapseTests {
  private static let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 10\r\n\r\n"

  /// So many clients have asked for the same, and the first one's request is at the origin's gate.
  private func crowd(
    _ count: Int, _ proxy: ProxyProcess, _ origin: Origin, _ name: String, _ fields: [String] = []
  ) throws -> [RawConnection] {
    let url = "http://api.test/?id=\(name)"
    var clients: [RawConnection] = []
    for index in 0..<count {
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", url, fields))
      clients.append(client)
      if index == 0 { try origin.await(name, gate: "head") }
    }
    // With one loop, what was sent before this is read before this.
    #expect(try proxy.ask("http://api.test/status/204").status == 204)
    return clients
  }

  @Test func `fifty requests are one`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, [.gate("head"), .send(Self.head + "01234"), .gate("rest"), .send("56789")])
    try withProxy(try Configuration.https("cache: {}", top: "threads: 2")) { proxy throws in
      let clients = try crowd(50, proxy, origin, name)
      try origin.open("head", of: name)
      // Each of them has the beginning before the rest is there.
      for client in clients { _ = try client.read(through: "01234") }
      try origin.open("rest", of: name)
      for client in clients { #expect(try client.read(5) == Array("56789".utf8)) }
      #expect(try origin.exchanges(name).count == 1)
      #expect(try proxy.ask("http://api.test/?id=\(name)").cacheStatus?.hasPrefix("hit") == true)
    }
  }

  @Test func `the first client leaves, and the others get the answer`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, [.gate("head"), .send(Self.head + "0123456789")])
    try withProxy(try Configuration.https("cache: {}", top: "threads: 1")) { proxy throws in
      let clients = try crowd(10, proxy, origin, name)
      clients[0].close()
      try origin.open("head", of: name)
      for client in clients.dropFirst() {
        let answer = try client.readAnswer()
        #expect(answer.text == "0123456789")
        #expect(answer.cacheStatus == "fwd=uri-miss; collapsed")
      }
      #expect(try origin.exchanges(name).count == 1)
    }
  }

  @Test func `what those who wait keep counts as the store's, and who has no room there asks by itself`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    let (count, limit) = (20, 256 << 10)
    try origin.script(name, [.gate("head"), .send(Self.head + "0123456789")])
    let top = "threads: 1\nadmin: 127.0.0.1:0\nlimits: {cache: 256KiB}"
    try withProxy(try Configuration.https("cache: {max_object: 16KiB}", top: top)) { proxy throws in
      let clients = try crowd(count, proxy, origin, name, ["X-Long: " + String(repeating: "x", count: 28 << 10)])
      let waiting = Int(try proxy.metric("authproxy_cache_waiting_requests") ?? 0)
      let bytes = Int(try proxy.metric("authproxy_cache_bytes") ?? 0)
      #expect((4..<9).contains(waiting) && (waiting * (28 << 10)..<limit).contains(bytes), "\(waiting) wait, \(bytes) bytes")
      try origin.await(name, count: count - waiting, gate: "head")
      try origin.open("head", of: name, count: count - waiting)
      for client in clients { #expect(try client.readAnswer().text == "0123456789") }
      #expect(try origin.exchanges(name).count == count - waiting)
    }
  }

  @Test func `a first client that has left does not count as one of its requests`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, [.gate("head"), .send(Self.head + "0123456789")])
    let top = "threads: 1\nadmin: 127.0.0.1:0\nanonymous: {max_requests: 2}"
    try withProxy(try Configuration.https("cache: {}", top: top)) { proxy throws in
      let clients = try (0..<2).map { _ in try proxy.connect() }
      for client in clients {
        try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
        try origin.await(name, gate: "head")
      }
      #expect(try eventually { try proxy.metric("authproxy_cache_waiting_requests") == 1 })
      #expect(try proxy.ask("http://api.test/status/204").status == 429)
      clients[0].close()
      #expect(try eventually { try proxy.ask("http://api.test/status/204").status == 204 })
      try origin.open("head", of: name)
      #expect(try clients[1].readAnswer().text == "0123456789")
      #expect(try origin.exchanges(name).count == 1)
      // Both places are free again, and no more than two.
      let other = Origin.newName()
      try origin.script(other, [.gate("head"), .send(Self.head + "0123456789")])
      let busy = try (0..<2).map { index in
        let client = try proxy.connect()
        try client.send(ProxyProcess.request("GET", "http://api.test/\(index)?id=\(other)"))
        return client
      }
      try origin.await(other, count: 2, gate: "head")
      #expect(try proxy.ask("http://api.test/status/204").status == 429)
      try origin.open("head", of: other, count: 2)
      for client in busy { #expect(try client.readAnswer().status == 200) }
    }
  }

  @Test func `trailers that nobody announced reach each reader, and the answer is not stored`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nTransfer-Encoding: chunked\r\n\r\n"
    try origin.script(name, [.gate("head"), .send(head + "5\r\n01234\r\n"), .gate("rest"), .send("0\r\nX-Sum: 10\r\n\r\n")])
    try withProxy(try Configuration.https("cache: {}", top: "threads: 2\nadmin: 127.0.0.1:0")) { proxy throws in
      let clients = try crowd(4, proxy, origin, name)
      try origin.open("head", of: name)
      for client in clients { _ = try client.read(through: "5\r\n01234") }
      try origin.open("rest", of: name)
      let end = "\r\n0\r\nX-Sum: 10\r\n\r\n"
      for client in clients { #expect(try client.read(through: "10\r\n\r\n") == Array(end.utf8)) }
      #expect(try proxy.metric("authproxy_cache_objects") == 0)
    }
  }

  @Test func `an answer that must not be shared is fetched by each`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    let own = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nSet-Cookie: a=b\r\nContent-Length: 2\r\n\r\nok"
    try origin.script(name, [.gate("head"), .send(own)])
    try withProxy(try Configuration.https("cache: {}", top: "threads: 2")) { proxy throws in
      let clients = try crowd(8, proxy, origin, name)
      try origin.open("head", of: name, count: 8)
      for client in clients {
        let answer = try client.readAnswer()
        #expect(answer.text == "ok")
        #expect(answer.all("Set-Cookie") == ["a=b"])
        #expect(answer.cacheStatus == "fwd=uri-miss; detail=set-cookie")
      }
      #expect(try origin.exchanges(name).count == 8)
    }
  }

  @Test func `a break in the body cuts every reader`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, [.gate("head"), .send(Self.head + "01234"), .gate("rest"), .abort])
    try withProxy(try Configuration.http("cache: {}", top: "threads: 2")) { proxy throws in
      let clients = try crowd(8, proxy, origin, name)
      try origin.open("head", of: name)
      for client in clients { _ = try client.read(through: "01234") }
      try origin.open("rest", of: name)
      for client in clients { #expect(try client.readToEnd().bytes.isEmpty) }
    }
  }

  @Test func `an error goes to all who wait, once`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, [.gate("head"), .send("nonsense\r\n\r\n"), .close])
    try withProxy(try Configuration.https("cache: {}", top: "threads: 1")) { proxy throws in
      let clients = try crowd(8, proxy, origin, name)
      try origin.open("head", of: name)
      for client in clients { #expect(try client.readAnswer().status == 502) }
      #expect(try origin.exchanges(name).count == 1)
    }
  }

  @Test func `Vary parts those who wait`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nVary: Accept-Language\r\nContent-Length: 2\r\n\r\n"
    try origin.script(name, [.gate("head"), .send(head + "de")], [.send(head + "fr")])
    try withProxy(try Configuration.https("cache: {}", top: "threads: 1")) { proxy throws in
      var clients: [(RawConnection, String)] = []
      for (client, language) in zip(
        try crowd(1, proxy, origin, name, ["Accept-Language: de"]) + (0..<6).map { _ in try proxy.connect() },
        ["de", "fr", "de", "fr", "de", "fr", "fr"])
      {
        if !clients.isEmpty {
          try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)", ["Accept-Language: \(language)"]))
        }
        clients.append((client, language))
      }
      try origin.open("head", of: name)
      for (client, language) in clients { #expect(try client.readAnswer().text == language) }
      #expect(try origin.exchanges(name).count == 2)
    }
  }

  @Test func `who has waited long enough asks by itself, and the answer is stored`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, [.gate("head"), .awaitClose], [.send(Self.head + "0123456789")])
    try withProxy(try Configuration.https("cache: {}", "timeouts: {collapse: 200ms}", top: "threads: 2")) { proxy throws in
      let clients = try crowd(2, proxy, origin, name)
      #expect(try clients[1].readAnswer().text == "0123456789")
      #expect(try proxy.ask("http://api.test/?id=\(name)").cacheStatus?.hasPrefix("hit") == true)
      clients[0].close()
    }
  }

  @Test func `with collapse off each request goes by itself`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, [.gate("head"), .send(Self.head + "0123456789")])
    try withProxy(try Configuration.https("cache: {collapse: \"off\"}", top: "threads: 2")) { proxy throws in
      let clients = try crowd(4, proxy, origin, name)
      try origin.await(name, count: 4, gate: "head")
      try origin.open("head", of: name, count: 4)
      for client in clients { #expect(try client.readAnswer().text == "0123456789") }
    }
  }

  @Test(arguments: [0, 1]) func `a slow reader that leaves holds nobody up`(_ slow: Int) throws {
    let origin = try Origin.shared()
    let (name, size) = (Origin.newName(), 14 << 20)
    let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\n\r\n"
    try origin.script(name, [.gate("head"), .send(head), .pattern(size), .close])
    try withProxy(try Configuration.https("cache: {}", top: "threads: 1")) { proxy throws in
      let clients = try crowd(2, proxy, origin, name, ["Connection: close"])
      try origin.open("head", of: name)
      _ = try clients[1 - slow].read(through: "\r\n\r\n")
      _ = try clients[1 - slow].read(1 << 20)
      // Nothing outside shows that the fetch has paused for the slow one; it would be cut after a second.
      usleep(300_000)
      clients[slow].reset()
      #expect(try clients[1 - slow].readToEnd(seconds: 20).bytes.count >= size - (1 << 20))
    }
  }

  @Test func `an app that closes while it reads what others could read, too, is noticed`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\n\r\n01234"
    try origin.script(name, [.send(head), .awaitClose])
    try withProxy(try Configuration.https("cache: {}", top: "threads: 1")) { proxy throws in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
      _ = try client.read(through: "01234")
      client.close()
      _ = try origin.await(name, state: "closed")
    }
  }
}
