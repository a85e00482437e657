import Foundation
import Testing

/// The proxy sends bodies that are too large to keep with Expect: 100-continue, so that a refusal comes before the body is
/// lost.
@Suite struct LargeUploadRefusalTests {
  private static let size = 300_000
  private static let body = String(repeating: "u", count: size)

  @Test func `a refusal before the body costs nothing`() throws {
    let server = try TokenServer(#"{"early": true}"#)
    try withProxy(try server.configuration()) { proxy in
      #expect(try proxy.ask(server.url()).status == 200)
      try server.set(#"{"revoke": true, "forget": true}"#)
      let answer = try proxy.ask("POST", server.url(), body: Self.body)
      #expect(answer.status == 200)
      #expect(answer.interim.isEmpty, "the app has not asked for a 100")
      let received = try answer.received()
      #expect(received.body_length == Self.size)
      #expect(received["Expect"] == "100-continue")
      #expect(try server.state().uses.map(\.body_length) == [0, Self.size])
    }
  }

  @Test func `smaller ones go out without`() throws {
    let server = try TokenServer()
    try withProxy(try server.configuration()) { proxy in
      let answer = try proxy.ask("POST", server.url(), body: String(repeating: "s", count: 60_000))
      #expect(try answer.received()["Expect"] == nil)
    }
  }

  @Test func `once the body is spent, the refusal is relayed, and the next request has a new token`() throws {
    let server = try TokenServer()
    try withProxy(try server.configuration()) { proxy in
      #expect(try proxy.ask(server.url()).status == 200)
      try server.set(#"{"revoke": true, "forget": true}"#)
      let answer = try proxy.ask("POST", server.url(), body: Self.body)
      #expect(answer.status == 401)
      #expect(answer.proxyDetails == "not retried, the request body was not kept")
      // The server has answered when the log says so, not when it got the request.
      #expect(proxy.process.awaitLine { $0.contains("token refreshed") && $0.contains(#""version":"2""#) } != nil)
      #expect(try server.state().requests.count == 1)
      #expect(try proxy.ask("POST", server.url(), body: Self.body).status == 200)
    }
  }

  @Test func `an origin that stays silent gets its body after a second, and is not asked again`() throws {
    let server = try TokenServer()
    let name = Origin.newName()
    try server.origin.script(name, [.readBody, .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")])
    try withProxy(try server.configuration()) { proxy in
      let start = Date()
      #expect(try proxy.ask("POST", "http://api.test/?id=\(name)", body: Self.body).text == "ok")
      let first = Date().timeIntervalSince(start)
      #expect(first > 0.8 && first < 4, "\(first) s")
      #expect(try proxy.ask("POST", "http://api.test/?id=\(name)", body: Self.body).text == "ok")
      #expect(Date().timeIntervalSince(start) - first < 0.8)
      let exchanges = try server.origin.exchanges(name)
      #expect(exchanges.map { $0["Expect"] } == ["100-continue", nil])
      #expect(exchanges.map(\.body_length) == [Self.size, Self.size])
    }
  }

  @Test func `a 417 to what the app never asked is answered by asking without`() throws {
    let server = try TokenServer()
    let name = Origin.newName()
    try server.origin.script(
      name, [.send("HTTP/1.1 417 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"), .close],
      [.readBody, .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")])
    try withProxy(try server.configuration()) { proxy in
      let answer = try proxy.ask("POST", "http://api.test/?id=\(name)", body: Self.body)
      #expect(answer.text == "ok")
      let exchanges = try server.origin.exchanges(name)
      #expect(exchanges.map { $0["Expect"] } == ["100-continue", nil])
      #expect(exchanges[1].body_length == Self.size)
    }
  }

  @Test func `an app that asks is told to go on once, by the attempt that is accepted`() throws {
    let server = try TokenServer(#"{"early": true}"#)
    try withProxy(try server.configuration()) { proxy in
      #expect(try proxy.ask(server.url()).status == 200)
      try server.set(#"{"revoke": true, "forget": true}"#)
      let client = try proxy.connect()
      try client.send(
        "POST \(server.url()) HTTP/1.1\r\nHost: api.test\r\nExpect: 100-continue\r\nContent-Length: \(Self.size)\r\n\r\n")
      #expect(try client.readHead().status == 100)
      try client.send(Self.body)
      let answer = try client.readAnswer()
      #expect(answer.status == 200)
      #expect(answer.interim.isEmpty)
      #expect(try server.state().uses.map(\.body_length) == [0, Self.size])
    }
  }

  @Test func `curl uploads a file past a refusal`() throws {
    let server = try TokenServer(#"{"early": true}"#)
    let file = try Surroundings.newFolder() + "/upload"
    try ProxyProcess.write(String(repeating: "0123456789", count: 500_000), to: file)
    try withProxy(try server.configuration()) { proxy in
      #expect(try proxy.ask(server.url()).status == 200)
      try server.set(#"{"revoke": true}"#)
      let done = try ChildProcess.run(
        "curl",
        ["-sS", "-x", "http://127.0.0.1:\(proxy.port)", "-T", file, "-o", "/dev/null", "-w", "%{http_code}", server.url()])
      #expect(done.output == "200", "\(done.errors)")
      #expect(try server.state().uses.last?.body_length == 5_000_000)
    }
  }
}
