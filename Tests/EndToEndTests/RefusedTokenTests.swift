import Foundation
import Testing

/// A 401 that refuses the token: the app never sees it.
@Suite struct RefusedTokenTests {
  @Test func `the request is sent again with a fresh token, method, target, fields and body alike`() throws {
    let server = try TokenServer()
    let body = String(repeating: "b", count: 60_000)
    try withProxy(try server.configuration()) { proxy in
      #expect(try proxy.ask(server.url()).status == 200)
      for (method, fields, content) in [
        ("GET", ["X-One: 1"], nil), ("POST", ["X-One: 1"], body), ("DELETE", ["X-One: 1"], "d"), ("PATCH", [], ""),
      ] as [(String, [String], String?)] {
        try server.set(#"{"revoke": true, "forget": true}"#)
        let answer = try proxy.ask(method, server.url("a?b=c"), fields, body: content)
        #expect(answer.status == 200, "\(method): \(answer.head)")
        #expect(answer.proxyDetails == nil)
        let received = try answer.received()
        #expect(received.method == method)
        #expect(received.target == "/api/\(server.name)/a?b=c")
        #expect(received.all("X-One").count == fields.count)
        #expect(received.body_length == content?.utf8.count ?? 0)
        let state = try server.state()
        #expect(state.requests.count == 1)
        #expect(state.uses.map(\.status) == [401, 200])
        #expect(state.uses.map(\.body_length) == [content?.utf8.count ?? 0, content?.utf8.count ?? 0])
      }
    }
  }

  @Test func `a chunked body is replayed, trailers and all`() throws {
    let server = try TokenServer()
    try withProxy(try server.configuration()) { proxy in
      #expect(try proxy.ask(server.url()).status == 200)
      try server.set(#"{"revoke": true}"#)
      let client = try proxy.connect()
      try client.send("POST \(server.url()) HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n")
      try client.send("5\r\nhello\r\n")
      try client.send("6\r\n world\r\n0\r\nX-T: 1\r\n\r\n")
      let answer = try client.readAnswer()
      #expect(answer.status == 200)
      let received = try answer.received()
      #expect(received.body == "hello world")
      #expect(received.trailers == [["X-T", "1"]])
      try client.send(ProxyProcess.request("GET", server.url()))
      #expect(try client.readAnswer().status == 200, "the connection stays in step")
    }
  }

  @Test func `the app's body that still comes while a token is fetched is kept`() throws {
    let server = try TokenServer(#"{"early": true}"#)
    try withProxy(try server.configuration()) { proxy in
      #expect(try proxy.ask(server.url()).status == 200)
      try server.set(#"{"revoke": true, "queue": [{"gate": "on"}]}"#)
      let client = try proxy.connect()
      try client.send("PUT \(server.url()) HTTP/1.1\r\nHost: api.test\r\nContent-Length: 10\r\n\r\nhello")
      try server.origin.await(server.name, gate: "on")
      try client.send("world")
      try server.openGate()
      let answer = try client.readAnswer()
      #expect(answer.status == 200)
      #expect(try answer.received().body == "helloworld")
    }
  }

  @Test func `a second refusal is relayed as it came`() throws {
    for size in [3, 16_000, 300_000] {
      let server = try TokenServer("{\"refused\": [\"never\"], \"size\": \(size)}")
      try withProxy(try server.configuration()) { proxy in
        let client = try proxy.connect()
        try client.send(ProxyProcess.request("GET", server.url("never")))
        let answer = try client.readAnswer()
        #expect(answer.status == 401)
        #expect(answer.body.count == size)
        #expect(answer["WWW-Authenticate"] == #"Basic realm="x", Bearer error="invalid_token""#)
        #expect(answer.proxyError == nil)
        #expect(answer.proxyDetails == "refused again with a fresh credential")
        #expect(try server.state().uses.map(\.status) == [401, 401])
        try client.send(ProxyProcess.request("GET", server.url()))
        #expect(try client.readAnswer().status == 200)
      }
    }
  }

  @Test func `many that were refused with one version share one refresh`() throws {
    let server = try TokenServer()
    try withProxy(try server.configuration(top: "threads: 4")) { proxy in
      #expect(try proxy.ask(server.url()).status == 200)
      try server.set(#"{"revoke": true, "forget": true, "queue": [{"gate": "on"}]}"#)
      let clients = try (0..<60).map { _ in try proxy.connect() }
      for (index, client) in clients.enumerated() { try client.send(ProxyProcess.request("GET", server.url("p\(index)"))) }
      #expect(try eventually { try server.state().uses.count == 60 })
      try server.openGate()
      for client in clients { #expect(try client.readAnswer().status == 200) }
      #expect(try server.state().requests.count == 1)
      #expect(try server.state().uses.count == 120)
    }
  }

  @Test func `a refusal of an older version is sent again without a refresh`() throws {
    let server = try TokenServer()
    let name = Origin.newName()
    try server.origin.script(
      name, [.gate("on"), .send("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n")],
      [.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")])
    try withProxy(try server.configuration()) { proxy in
      let slow = try proxy.connect()
      try slow.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
      try server.origin.await(name, gate: "on")
      try server.set(#"{"revoke": true}"#)
      #expect(try proxy.ask(server.url()).status == 200)
      #expect(try server.state().requests.count == 2)
      try server.origin.open("on", of: name)
      #expect(try slow.readAnswer().text == "ok")
      #expect(try server.state().requests.count == 2)
      let tokens = try server.origin.exchanges(name).map { $0["Authorization"] }
      #expect(tokens == ["Bearer \(server.name)-5ecret-token-1", "Bearer \(server.name)-5ecret-token-2"])
    }
  }

  @Test func `the same token again is no reason to send again`() throws {
    let server = try TokenServer(#"{"same": true}"#)
    try withProxy(try server.configuration()) { proxy in
      #expect(try proxy.ask(server.url()).status == 200)
      try server.set(#"{"refused": ["y"], "forget": true}"#)
      let answer = try proxy.ask(server.url("y"))
      #expect(answer.status == 401)
      #expect(answer.proxyDetails == "not retried, the refresh brought the same token")
      #expect(try server.state().uses.count == 1)
    }
  }

  @Test func `an app that brings its own credential gets its own 401`() throws {
    let server = try TokenServer()
    try withProxy(try server.configuration(entry: ["client_authorization: keep"])) { proxy in
      #expect(try proxy.ask(server.url()).status == 200)
      let answer = try proxy.ask(server.url(), ["Authorization: Bearer mine"])
      #expect(answer.status == 401)
      #expect(answer.proxyDetails == nil)
      #expect(try server.state().requests.count == 1)
      #expect(try server.state().uses.map(\.token).last == "mine")
    }
  }
}
