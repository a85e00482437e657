import Foundation
import Testing

/// The proxy writes a new response for the app, too.
@Suite struct RelayedResponseTests {
  private func answer(_ proxy: ProxyProcess, _ head: String, _ body: String = "ok") throws -> Answer {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, [.readBody, .send("HTTP/1.1 200 OK\r\n\(head)Content-Length: \(body.utf8.count)\r\n\r\n\(body)")])
    return try proxy.ask("http://api.test/?id=\(name)")
  }

  @Test func `fields keep their order, number and spelling`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let answer = try answer(
        proxy,
        "Date: Sat, 21 Nov 2026 10:00:00 GMT\r\nX-Z: 1\r\nset-cookie: a=b\r\nSet-Cookie: c=d\r\nX-Empty:\r\nETag: \"v1\"\r\n")
      let own = answer.fields.filter { !["via", "connection", "proxy-status"].contains($0.name.lowercased()) }
      #expect(
        own.map { "\($0.name): \($0.value)" } == [
          "Date: Sat, 21 Nov 2026 10:00:00 GMT", "X-Z: 1", "set-cookie: a=b", "Set-Cookie: c=d", "X-Empty: ", "ETag: \"v1\"",
          "Content-Length: 2",
        ])
      #expect(answer.all("Via") == ["1.1 authproxy"])
    }
  }

  @Test func `a missing Date is added, as RFC 9110 section 6.6.1 wants it`() throws {
    try withProxy(try Configuration.https()) { proxy throws in
      #expect(try answer(proxy, "")["Date"]?.hasSuffix(" GMT") == true)
    }
  }

  @Test func `hop-by-hop fields, those that Connection names, and Alt-Svc stay here`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let answer = try answer(
        proxy,
        "Connection: X-Mine, keep-alive\r\nX-Mine: 1\r\nKeep-Alive: timeout=5\r\nProxy-Connection: close\r\nAlt-Svc: h3=\":443\"\r\n"
          + "Proxy-Authenticate: Basic\r\nUpgrade: h2c\r\nX-Ours: 1\r\n")
      for gone in ["X-Mine", "Keep-Alive", "Proxy-Connection", "Alt-Svc", "Proxy-Authenticate", "Upgrade"] {
        #expect(answer[gone] == nil, "\(gone)")
      }
      #expect(answer["X-Ours"] == "1")
    }
  }

  @Test func `Proxy-Status members that were forged in our name are removed, others stay`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let answer = try answer(
        proxy,
        "Proxy-Status: authproxy; error=dns_error; details=\"forged\"\r\nProxy-Status: cdn; error=connection_refused, authproxy;error=x\r\n"
      )
      #expect(answer.proxyError == nil)
      let all = answer.all("Proxy-Status").joined(separator: ", ")
      #expect(!all.contains("forged"))
      #expect(!all.contains("error=x"))
      #expect(all.contains("cdn; error=connection_refused"))
    }
  }

  @Test func `statuses and their bodies are relayed as they are`() throws {
    try withProxy(try Configuration.https()) { proxy in
      for status in [200, 201, 226, 300, 302, 400, 403, 404, 407, 418, 429, 500, 502, 503, 504, 599] {
        let answer = try proxy.ask("http://api.test/status/\(status)")
        #expect(answer.status == status)
        #expect(answer.text == "status \(status)\n")
        #expect(answer.proxyError == nil)
      }
    }
  }

  @Test func `answers to HEAD, 204 and 304 have no body, and the connection goes on`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let client = try proxy.connect()
      for (method, path, status) in [
        ("HEAD", "/bytes/1000", 200), ("GET", "/status/204", 204), ("GET", "/status/304", 304), ("HEAD", "/chunked/1000", 200),
        ("HEAD", "/status/404", 404), ("GET", "/status/200", 200),
      ] {
        try client.send(ProxyProcess.request(method, "http://api.test\(path)"))
        let answer = try client.readAnswer(to: method)
        #expect(answer.status == status, "\(method) \(path)")
        if path == "/bytes/1000" { #expect(answer["Content-Length"] == "1000") }
        if status == 204 { #expect(answer["Content-Length"] == nil && answer["Transfer-Encoding"] == nil) }
      }
    }
  }

  @Test func `a body where none may be does not become the next answer`() throws {
    let origin = try Origin()
    try withProxy(try Configuration.https(top: "threads: 1", origin: origin)) { proxy in
      let forged = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"
      each([
        ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: \(forged.utf8.count)\r\n\r\n"), ("GET", "HTTP/1.1 204 No Content\r\n\r\n"),
        ("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: \(forged.utf8.count)\r\n\r\n"),
        ("GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        ("GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
      ]) { (method, head) in
        let name = Origin.newName()
        try origin.script(name, [.readBody, .send(head + forged)])
        let client = try proxy.connect()
        try client.send(ProxyProcess.request(method, "http://api.test/?id=\(name)"))
        _ = try client.readAnswer(to: method)
        for target in ["http://api.test/status/202", "http://api.test/status/203"] {
          try client.send(ProxyProcess.request("GET", target))
          let next = try client.readAnswer()
          #expect(next.text != "forged", "\(method) \(head)")
          #expect([202, 203].contains(next.status), "\(method) \(head): \(next.head)")
        }
      }
    }
  }

  @Test func `response trailers arrive`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(
      name,
      [
        .readBody,
        .send(
          "HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 42\r\nContent-Length: 3\r\n\r\n"
        ),
      ])
    try withProxy(try Configuration.https()) { proxy in
      let answer = try proxy.ask("http://api.test/?id=\(name)", ["TE: trailers", "Connection: TE"])
      #expect(answer.text == "ok")
      #expect(answer.trailers.map { "\($0.name): \($0.value)" } == ["X-Sum: 42"])
    }
  }

  @Test func `a body that ends with the connection arrives whole`() throws {
    for configuration in [try Configuration.https(), try Configuration.http()] {
      try withProxy(configuration) { proxy in
        let answer = try proxy.ask("http://api.test/close/300000")
        #expect(answer.body.count == 300_000)
        #expect(try proxy.ask("http://api.test/bytes/300000").body == answer.body)
      }
    }
  }

  @Test func `an HTTP/1.0 origin is understood`() throws {
    let origin = try Origin.shared()
    try withProxy(try Configuration.https()) { proxy in
      for (head, body) in [
        ("", "until the end"), ("Content-Length: 3\r\n", "abc"), ("Content-Length: 3\r\nConnection: keep-alive\r\n", "abc"),
      ] {
        let name = Origin.newName()
        try origin.script(name, [.readBody, .send("HTTP/1.0 200 OK\r\n\(head)\r\n\(body)"), .close])
        let answer = try proxy.ask("http://api.test/?id=\(name)")
        #expect(answer.version == "HTTP/1.1")
        #expect(answer.text == body)
      }
    }
  }
}
