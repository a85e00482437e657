import Foundation
import Testing

/// CONNECT to a host and port that an entry matches opens no tunnel: for http:// URLs Node's fetch sends it, and then
/// clear-text HTTP.
@Suite struct ConnectToEntryTests {
  private func open(_ proxy: ProxyProcess, _ target: String = "api.test:80") throws -> RawConnection {
    let client = try proxy.connect()
    try client.send("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\r\n")
    #expect(try client.readAnswer(to: "CONNECT").status == 200)
    return client
  }

  @Test func `the requests that follow are served by the entry, credential and all`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let client = try open(proxy)
      for turn in 0..<3 {
        try client.send(ProxyProcess.request("POST", "/echo?turn=\(turn)", ["Host: api.test"], body: "hello"))
        let received = try client.readAnswer().received()
        #expect(received.target == "/echo?turn=\(turn)")
        #expect(received["Authorization"] == "Bearer \(Configuration.token)")
        #expect(received.body == "hello")
      }
    }
  }

  @Test func `the authority is the CONNECT's, whatever Host says afterwards`() throws {
    let other = "  - match: other.test\n    origin: http://127.0.0.1:1\n"
    let configuration = try Configuration.https().replacingOccurrences(of: "upstreams:\n", with: "upstreams:\n" + other)
    try withProxy(configuration) { proxy in
      let client = try open(proxy)
      try client.send(ProxyProcess.request("GET", "/echo", ["Host: other.test"]))
      #expect(try client.readAnswer().received()["Authorization"] == "Bearer \(Configuration.token)")
      try client.send(ProxyProcess.request("GET", "http://other.test/"))
      let absolute = try client.readAnswer()
      #expect(absolute.status == 400 || absolute.proxyError == nil, "\(absolute.head)")
    }
  }

  @Test func `WebSocket works inside`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let client = try open(proxy)
      try client.send(ProxyProcess.request("GET", "/", ["Host: api.test"] + WebSocketTests.fields))
      #expect(try client.readAnswer().status == 101)
      try client.send("ping")
      #expect(try client.read(4) == Array("ping".utf8))
    }
  }

  @Test func `what is malformed inside is 400 as anywhere`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let client = try open(proxy)
      try client.send("GET /echo HTTP/1.1\r\nHost: api.test\r\nContent-Length: x\r\n\r\n")
      #expect(try client.readAnswer().status == 400)
    }
  }

  @Test func `a tunnel for TLS that cannot be opened is closed without clear text`() throws {
    // Port 1 of this machine refuses.
    let entry = "upstreams:\n  - {match: \"127.0.0.1:1\", origin: \"http://127.0.0.1:2\"}\n"
    try withProxy(entry + "connect:\n  allow: [\"127.0.0.1:1\"]\nforbidden_addresses: []\n") { proxy in
      let client = try open(proxy, "127.0.0.1:1")
      try client.send([0x16, 3, 1, 0, 0])
      let (bytes, _) = try client.readToEnd()
      #expect(bytes.isEmpty, "\(String(decoding: bytes, as: UTF8.self))")
      let line = try #require(proxy.process.awaitLine { $0.contains("\"tunnel\"") && $0.contains("connection_refused") })
      #expect(line.contains("127.0.0.1:1"))
    }
  }

  @Test func `a TLS ClientHello instead is closed, and a log line says what to do`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let client = try open(proxy)
      let before = proxy.process.lines.count
      try client.send([0x16, 0x03, 0x01, 0x00, 0x05, 0x01, 0x00, 0x00, 0x01, 0x00])
      #expect(try client.readToEnd().bytes.isEmpty)
      #expect(
        proxy.process.awaitLine(from: max(0, before - 1), seconds: 5) { $0.contains("connect.allow") || $0.contains("TLS") }
          != nil)
    }
  }

  @Test func `a ClientHello is tunnelled where connect allows it`() throws {
    let port = try Origin.shared().ports.https
    let configuration = """
      upstreams:
        - match: localhost:\(port)
          origin: https://localhost:\(port)
          credential: api
      credentials:
        api: {bearer: {token: \(Configuration.token)}}
      connect: {allow: ["localhost:\(port)"]}
      forbidden_addresses: []
      """
    try withProxy(configuration) { proxy in
      let url = "localhost:\(port)/echo"
      let common = [
        "-sSf", "--noproxy", "", "--cacert", try Surroundings.pki() + "/ca.pem", "-x", "http://127.0.0.1:\(proxy.port)",
      ]
      let tunnelled = try ChildProcess.run("curl", common + ["https://" + url])
      #expect(tunnelled.status == .exited(0), "\(tunnelled.errors)")
      #expect(!tunnelled.output.contains(Configuration.secretMark))
      let served = try ChildProcess.run("curl", common + ["--proxytunnel", "http://" + url])
      #expect(served.status == .exited(0), "\(served.errors)")
      #expect(served.output.contains("Bearer \(Configuration.token)"))
    }
  }

  @Test func `the 200 has neither length nor body`() throws {
    try withProxy(try Configuration.https()) { proxy throws in
      let client = try proxy.connect()
      try client.send(
        "CONNECT api.test:80 HTTP/1.1\r\nHost: api.test:80\r\n\r\n" + ProxyProcess.request("GET", "/echo", ["Host: api.test"]))
      let answer = try client.readAnswer(to: "CONNECT")
      #expect(answer["Content-Length"] == nil && answer["Transfer-Encoding"] == nil, "\(answer.head)")
      #expect(try client.readAnswer().received().target == "/echo")
    }
  }

  @Test func `permission is decided with the CONNECT`() throws {
    let clients = """
      clients:
        - {name: app, password: secret, allow: [api.test]}
        - {name: other, password: secret, allow: []}
      """
    try withProxy(try Configuration.https(top: clients)) { proxy throws in
      let connect = "CONNECT api.test:80 HTTP/1.1\r\nHost: api.test:80\r\n"
      let client = try proxy.connect()
      try client.send(connect + "Proxy-Authorization: Basic \(Data("app:secret".utf8).base64EncodedString())\r\n\r\n")
      #expect(try client.readAnswer(to: "CONNECT").status == 200)
      for _ in 0..<2 {
        try client.send(ProxyProcess.request("GET", "/echo", ["Host: api.test"]))
        let received = try client.readAnswer().received()
        #expect(received["Authorization"] == "Bearer \(Configuration.token)")
        #expect(received["Proxy-Authorization"] == nil)
      }
      let nobody = try proxy.connect()
      try nobody.send(connect + "\r\n")
      #expect(try nobody.readAnswer().status == 407)
      let other = try proxy.connect()
      try other.send(connect + "Proxy-Authorization: Basic \(Data("other:secret".utf8).base64EncodedString())\r\n\r\n")
      #expect(try other.readAnswer().status == 403)
    }
  }

  @Test func `a reload holds for what follows on the connection`() throws {
    let port = try Origin.shared().ports.https
    func configuration(_ before: String, token: String) -> String {
      """
      upstreams:
      \(before)
        - match: api.test
          origin: https://localhost:\(port)
          credential: api
      credentials:
        api: {bearer: {token: \(token)}}
        zzz: {bearer: {token: other-5ecret}}
      """
    }
    try withProxy(configuration("", token: "first-5ecret")) { proxy throws in
      let client = try open(proxy)
      try client.send(ProxyProcess.request("GET", "/echo", ["Host: api.test"]))
      #expect(try client.readAnswer().received()["Authorization"] == "Bearer first-5ecret")
      // The entry has another index now, and another entry has its old one.
      let other = "  - match: other.test\n    origin: http://127.0.0.1:1"
      try proxy.reload(configuration(other, token: "second-5ecret"))
      try client.send(ProxyProcess.request("GET", "/echo", ["Host: api.test"]))
      #expect(try client.readAnswer().received()["Authorization"] == "Bearer second-5ecret")
      try proxy.reload("upstreams:\n" + other)
      try client.send(ProxyProcess.request("GET", "/echo", ["Host: api.test"]))
      #expect(try client.readAnswer().status == 403)
    }
  }

  @Test func `a tunnel that begins after a reload is judged by the new clients`() throws {
    let port = try Origin.shared().ports.https
    let target = "localhost:\(port)"
    func configuration(_ client: String) -> String {
      """
      upstreams:
        - {name: api, match: "\(target)", origin: "https://\(target)"}
      clients:
        - {name: somebody, password: other-5ecret}
        \(client)
      connect: {allow: ["\(target)"]}
      forbidden_addresses: []
      """
    }
    let mayTunnel = "- {name: app, password: app-5ecret, allow: [api, \"\(target)\"]}"
    let mayNot = "- {name: app, password: app-5ecret, allow: [api]}"
    let password = Data("app:app-5ecret".utf8).base64EncodedString()
    // An invalid TLS record: the origin would answer with an alert, the proxy with nothing.
    let hello: [UInt8] = [0x16, 0x03, 0x01, 0x00, 0x05, 0x01, 0x00, 0x00, 0x01, 0x00]
    let cases: [(before: String, after: String, tunnels: Bool)] = [
      (mayTunnel, mayTunnel, true), (mayTunnel, mayNot, false), (mayNot, mayTunnel, true), (mayTunnel, "", false),
      (mayTunnel, mayTunnel.replacingOccurrences(of: "app-5ecret", with: "new-5ecret"), false),
    ]
    for (before, after, tunnels) in cases {
      try withProxy(configuration(before)) { proxy throws in
        let client = try proxy.connect()
        try client.send("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\nProxy-Authorization: Basic \(password)\r\n\r\n")
        #expect(try client.readAnswer(to: "CONNECT").status == 200)
        // The owner of this head must not affect the one before.
        let other = Data("somebody:other-5ecret".utf8).base64EncodedString()
        #expect(
          try proxy.ask("http://\(target)/", ["Proxy-Authorization: Basic \(other)"]).status == 200)
        try proxy.reload(configuration(after))
        try client.send(hello)
        #expect(try client.readToEnd().bytes.isEmpty == !tunnels, "\(before) to \(after)")
      }
    }
  }

  @Test func `OPTIONS * is the entry's to answer`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try withProxy(try Configuration.https()) { proxy throws in
      let client = try open(proxy)
      try client.send("OPTIONS * HTTP/1.1\r\nHost: api.test\r\nX-Name: \(name)\r\n\r\n")
      let answer = try client.readAnswer()
      #expect(answer["Via"] != nil, "\(answer.head)")
      _ = origin
    }
  }
}
