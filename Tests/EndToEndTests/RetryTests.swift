import Foundation
import Testing

/// `retry`: only idempotent requests, counted, and never after the app has seen a byte.
@Suite struct RetryTests {
  static let entry = "retry: {attempts: 2, backoff: 10ms, max_wait: 2s}"

  private func status(_ status: Int, _ fields: String = "") -> [Origin.Step] {
    [.readBody, .send("HTTP/1.1 \(status) X\r\n\(fields)Content-Length: 3\r\n\r\n\(status)")]
  }

  @Test func `a failing origin is asked again, up to the limit`() throws {
    let origin = try Origin.shared()
    try withProxy(try Configuration.https(Self.entry)) { proxy in
      let better = Origin.newName()
      try origin.script(better, status(503), status(500), status(200))
      #expect(try proxy.ask("http://api.test/?id=\(better)").status == 200)
      #expect(try origin.exchanges(better).count == 3)

      let worse = Origin.newName()
      try origin.script(worse, status(503))
      let last = try proxy.ask("http://api.test/?id=\(worse)")
      #expect(last.status == 503)
      #expect(last.text == "503")
      #expect(last.proxyError == nil)
      #expect(try origin.exchanges(worse).count == 3)

      let other = Origin.newName()
      try origin.script(other, status(501))
      #expect(try proxy.ask("http://api.test/?id=\(other)").status == 501)
      #expect(try origin.exchanges(other).count == 1)
    }
  }

  @Test func `without retry an answer is relayed as it came`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, status(503))
    try withProxy(try Configuration.https()) { proxy throws in
      #expect(try proxy.ask("http://api.test/?id=\(name)").status == 503)
      #expect(try origin.exchanges(name).count == 1)
    }
  }

  @Test func `POST and PATCH are never repeated`() throws {
    let origin = try Origin.shared()
    try withProxy(try Configuration.https(Self.entry)) { proxy in
      for method in ["POST", "PATCH"] {
        let name = Origin.newName()
        try origin.script(name, status(503))
        #expect(try proxy.ask(method, "http://api.test/?id=\(name)", body: "x").status == 503)
        #expect(try origin.exchanges(name).count == 1)
      }
    }
  }

  @Test func `a PUT is repeated with its body`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, status(503), status(200))
    try withProxy(try Configuration.https(Self.entry)) { proxy throws in
      let body = String(repeating: "0123456789", count: 5000)
      #expect(try proxy.ask("PUT", "http://api.test/?id=\(name)", body: body).status == 200)
      #expect(try origin.exchanges(name).map(\.body) == [body, body])
    }
  }

  @Test func `a body that is larger than replay_body is not repeated`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, status(503), status(200))
    try withProxy(try Configuration.https(Self.entry, top: "limits: {replay_body: 1KiB}")) { proxy throws in
      #expect(try proxy.ask("PUT", "http://api.test/?id=\(name)", body: String(repeating: "x", count: 2000)).status == 503)
      #expect(try origin.exchanges(name).count == 1)
    }
  }

  @Test func `a connection that breaks before the answer counts as an attempt`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, [.readBody, .reset], [.readBody, .close], status(200))
    try withProxy(try Configuration.https(Self.entry)) { proxy throws in
      #expect(try proxy.ask("http://api.test/?id=\(name)").status == 200)
      #expect(try origin.exchanges(name).count == 3)
    }
  }

  @Test func `nothing is repeated after a byte of the answer`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, [.readBody, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), .close], status(200))
    try withProxy(try Configuration.https(Self.entry)) { proxy in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
      #expect(try client.readHead().status == 200)
      #expect(try client.readToEnd().bytes == Array("abc".utf8))
      #expect(try origin.exchanges(name).count == 1)
    }
  }

  @Test func `Retry-After wins over the backoff, and one longer than max_wait is relayed`() throws {
    let origin = try Origin.shared()
    try withProxy(try Configuration.https("retry: {attempts: 1, backoff: 10ms, max_wait: 2s}")) { proxy in
      let soon = Origin.newName()
      try origin.script(soon, status(503, "Retry-After: 1\r\n"), status(200))
      let start = Date()
      #expect(try proxy.ask("http://api.test/?id=\(soon)").status == 200)
      #expect(Date().timeIntervalSince(start) > 0.9)
      let late = Origin.newName()
      try origin.script(late, status(503, "Retry-After: 100\r\n"), status(200))
      let answer = try proxy.ask("http://api.test/?id=\(late)")
      #expect(answer.status == 503)
      #expect(answer["Retry-After"] == "100")
      #expect(try origin.exchanges(late).count == 1)
    }
  }

  @Test func `only the listed methods and statuses are repeated`() throws {
    let origin = try Origin.shared()
    try withProxy(try Configuration.https("retry: {attempts: 1, backoff: 10ms, methods: [HEAD], statuses: [504]}")) { proxy in
      for (method, code, count) in [("GET", 504, 1), ("HEAD", 503, 1)] {
        let name = Origin.newName()
        try origin.script(name, status(code))
        #expect(try proxy.ask(method, "http://api.test/?id=\(name)").status == code)
        #expect(try origin.exchanges(name).count == count, "\(method) \(code)")
      }
    }
  }

  @Test func `a refused connection is tried again`() throws {
    let refusing = try TestListener(backlog: nil)
    try withProxy(try Configuration.http(Self.entry, port: refusing.port)) { proxy in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/"))
      expectOwnAnswer(try client.readAnswer(), 502, "connection_refused")
      #expect(proxy.process.awaitLine { $0.contains(#""attempts":3"#) } != nil, "\(proxy.tail)")
    }
  }

  @Test func `a small answer that is swallowed leaves its connection in the pool`() throws {
    let origin = try Origin()
    let name = Origin.newName()
    try origin.script(name, status(503), status(503), status(200))
    try withProxy(try Configuration.https(Self.entry, origin: origin)) { proxy throws in
      #expect(try proxy.ask("http://api.test/?id=\(name)").status == 200)
      #expect(try origin.exchanges(name).count == 3)
      #expect(try origin.connections("https").accepted == 1)
    }
  }
}
